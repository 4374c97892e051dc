import { findClaim, type StoredClaim } from '../db/claims.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { RequestId } from '../model/ids.ts'
import type { Durability } from './batcher.ts'
import { existingClaim } from './state/admit-turn.ts'
import type { Claim, LedgerState } from './state/state.ts'

/** What the books know of an idempotency key, from the moment it was asked until everybody who asked has left. */
export interface LookedUpClaim {
  /** Who has the key at this moment; undefined when it is free. */
  readonly claim: Claim | undefined
  /** Ledger time of the question. */
  readonly at: number
  /** Whether that has been recorded: before, nobody may be told of it that a request has ended. */
  readonly durable: Promise<Durability>
  /** Called once, when the request that asked is over and what it recorded is durable. */
  leave(): void
}

/**
 * Brings idempotency keys into the books before somebody decides on them. While anybody is between asking and leaving,
 * the books know the key and every change of it: nobody can take it on the word of an old answer from the file.
 */
export interface ClaimCache {
  lookUp(scope: string): Promise<LookedUpClaim>
  /** Scopes that somebody has asked for and not left. */
  readonly asked: readonly string[]
  /** Forgets the keys of requests that recovery has ended: nobody has asked for them. */
  tidy(): Promise<void>
}

interface ClaimCacheDeps {
  readonly db: LedgerDb
  readonly ledgerState: LedgerState
  now(): number
  /** Whether what the books say at this moment is in the file, when that is known. */
  recorded(): Promise<Durability>
}

export function createClaimCache(deps: ClaimCacheDeps): ClaimCache {
  const { db, ledgerState } = deps
  const askers = new Map<string, number>()
  const reading = new Map<string, Promise<void>>()

  const read = async (scope: string): Promise<void> => {
    try {
      const stored = await findClaim(db, scope)
      // Whoever could have changed it has asked as well, and so has found it here.
      if (!ledgerState.claims.has(scope)) ledgerState.claims.set(scope, stored && claimOf(stored))
    } finally {
      reading.delete(scope)
    }
  }
  const leave = (scope: string): void => {
    const others = (askers.get(scope) ?? 1) - 1
    if (others > 0) {
      askers.set(scope, others)
      return
    }
    askers.delete(scope)
    // The file may not know yet how the request has ended: it would say that the key is in use, and nobody would end that.
    void deps.recorded().then(() => forget(scope))
  }
  const forget = (scope: string): void => {
    if (!askers.has(scope) && ledgerState.claims.get(scope)?.state !== 'running') ledgerState.claims.delete(scope)
  }

  return {
    async lookUp(scope) {
      askers.set(scope, (askers.get(scope) ?? 0) + 1)
      try {
        // Books that are read back meanwhile may have come without it.
        while (!ledgerState.claims.has(scope)) {
          const running = reading.get(scope) ?? read(scope)
          reading.set(scope, running)
          await running
        }
      } catch (error) {
        leave(scope)
        throw error
      }
      let here = true
      const at = deps.now()
      return {
        claim: existingClaim(ledgerState, { scope }, at),
        at,
        durable: deps.recorded(),
        leave() {
          if (here) leave(scope)
          here = false
        },
      }
    },
    get asked() {
      return [...askers.keys()]
    },
    async tidy() {
      const ended = [...ledgerState.claims].flatMap(([scope, claim]) => (claim?.state === 'running' ? [] : scope))
      if (ended.length === 0) return
      await deps.recorded()
      for (const scope of ended) forget(scope)
    },
  }
}

export const claimOf = (stored: StoredClaim): Claim => ({
  scope: stored.scope,
  fingerprint: stored.fingerprint,
  requestId: stored.request_id as RequestId,
  receipt: stored.receipt,
  expiresAt: stored.expires_at,
  state: stored.state,
})
