import type { RequestId } from '../model/ids.ts'
import type { Books, Claim } from './books.ts'
import type { Change } from './changes.ts'

/** An idempotency key that a request came with. */
export interface ClaimRequest {
  /** Names the key within its API key and path; the key itself is stored nowhere. */
  readonly scope: string
  readonly fingerprint: string
  readonly expiresAt: number
}

/** Whoever has the key already. Its scope has been looked up before, or the answer would be a guess. */
export function standingClaim(books: Books, { scope }: Pick<ClaimRequest, 'scope'>, at: number): Claim | undefined {
  if (!books.claims.has(scope)) throw new Error('An idempotency key was not looked up before an operation on it')
  const claim = books.claims.get(scope)
  return claim && (claim.state === 'running' || claim.expiresAt > at) ? claim : undefined
}

export function openClaim(
  books: Books,
  claim: ClaimRequest,
  turn: { readonly requestId: RequestId; readonly receipt: number; readonly at: number },
): Change {
  const { requestId, receipt, at } = turn
  books.claims.set(claim.scope, { ...claim, requestId, receipt, state: 'running' })
  return { kind: 'claim-opened', receipt, at, ...claim }
}

export function endClaim(books: Books, scope: string, state: 'kept' | 'not-kept' | 'dropped'): Change {
  const claim = books.claims.get(scope)
  if (claim === undefined) throw new Error('A turn ended whose idempotency key is not in the books')
  books.claims.set(scope, state === 'dropped' ? undefined : { ...claim, state })
  return { kind: 'claim-ended', receipt: claim.receipt, scope, state }
}
