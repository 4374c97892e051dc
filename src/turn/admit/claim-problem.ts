import type { Claim } from '../../books/books.ts'
import type { RequestId } from '../../model/ids.ts'
import { type Problem, passingProblem, problem } from '../../model/problem.ts'

/** What a request is told whose idempotency key another one has taken, long ago or in the moment of admission. */
export function claimProblem({ claim, sameBody }: { readonly claim: Claim; readonly sameBody: boolean }): Problem {
  if (!sameBody) return keyReusedProblem(claim)
  switch (claim.state) {
    case 'running':
      return inProgressProblem(claim.requestId)
    case 'kept':
      return endedMeanwhileProblem(claim.requestId)
    case 'not-kept':
      return notReplayableProblem(claim.requestId)
  }
}

const inProgressProblem = (requestId: RequestId): Problem =>
  passingProblem('idempotency_in_progress', `The request ${requestId} with this Idempotency-Key is still running.`, {
    first: 'Its answer is given to whoever asks again with the same key',
    retryAfterSeconds: 2,
  })

/** Between the look at its key and its admission the other one has come and gone. */
const endedMeanwhileProblem = (requestId: RequestId): Problem =>
  passingProblem('idempotency_in_progress', `The request ${requestId} with this Idempotency-Key has ended just now.`, {
    first: 'Its answer is given to whoever asks again with the same key',
    retryAfterSeconds: 1,
  })

export const notReplayableProblem = (requestId: RequestId): Problem =>
  problem(
    'idempotency_not_replayable',
    `The request ${requestId} with this Idempotency-Key was charged, and its answer is not kept. GET /v1/requests/${requestId} tells what became of it; send a new request only with a new key.`,
  )

const keyReusedProblem = (claim: Claim): Problem =>
  problem(
    'idempotency_key_reused',
    `This Idempotency-Key came with another body in the request ${claim.requestId}. A key belongs to one request: send a new one with this body.`,
  )
