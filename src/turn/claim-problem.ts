import type { Claim } from '../books/books.ts'
import { type Problem, problem } from '../model/problem.ts'

/** What a request is told whose idempotency key another one has: of the three, only waiting helps with the first. */
export function claimProblem(claim: Claim): Problem {
  if (claim.state === 'running') {
    return problem(
      'idempotency_in_progress',
      `The request ${claim.requestId} with this Idempotency-Key is still running. Its answer is given to whoever asks again with the same key; try again in 2s.`,
      { retryAfterSeconds: 2 },
    )
  }
  return problem(
    'idempotency_not_replayable',
    `The request ${claim.requestId} with this Idempotency-Key was charged, and its answer is not kept. GET /v1/requests/${claim.requestId} tells what became of it; send a new request only with a new key.`,
  )
}

export const keyReusedProblem = (claim: Claim): Problem =>
  problem(
    'idempotency_key_reused',
    `This Idempotency-Key came with another body in the request ${claim.requestId}. A key belongs to one request: send a new one with this body.`,
  )
