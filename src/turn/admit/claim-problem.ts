import type { Claim } from '../../books/books.ts'
import type { RequestId } from '../../model/ids.ts'
import { type Problem, problem } from '../../model/problem.ts'

/**
 * What a request is told whose idempotency key another one took in the moment of admission: one that has ended since then
 * has an answer, which is given to whoever asks again.
 */
export function claimProblem({ claim, sameBody }: { readonly claim: Claim; readonly sameBody: boolean }): Problem {
  if (!sameBody) return keyReusedProblem(claim)
  return claim.state === 'not-kept' ? notReplayableProblem(claim.requestId) : inProgressProblem(claim.requestId)
}

export const inProgressProblem = (requestId: RequestId): Problem =>
  problem(
    'idempotency_in_progress',
    `The request ${requestId} with this Idempotency-Key is still running. Its answer is given to whoever asks again with the same key; try again in 2s.`,
    { retryAfterSeconds: 2 },
  )

export const notReplayableProblem = (requestId: RequestId): Problem =>
  problem(
    'idempotency_not_replayable',
    `The request ${requestId} with this Idempotency-Key was charged, and its answer is not kept. GET /v1/requests/${requestId} tells what became of it; send a new request only with a new key.`,
  )

export const keyReusedProblem = (claim: Claim): Problem =>
  problem(
    'idempotency_key_reused',
    `This Idempotency-Key came with another body in the request ${claim.requestId}. A key belongs to one request: send a new one with this body.`,
  )
