import { findClaim } from '../db/receipts.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { RequestId } from '../model/ids.ts'
import type { Batcher, Durability } from './batcher.ts'
import type { Claim, LedgerState } from './state/state.ts'
import { existingClaim } from './state/turns.ts'

export interface LookedUpClaim {
  /** Undefined when the key is free. */
  readonly claim: Claim | undefined
  /** Ledger time of the lookup. */
  readonly at: number
  /** Whether the claim is recorded. Until then no client may learn from it that a request has ended. */
  readonly durable: Promise<Durability>
  /** Called once, when the request that looked the key up is over and what it recorded is durable. */
  release(): void
}

/**
 * Brings idempotency keys into memory before a request decides on them. From the first lookup to the last release memory
 * has the key and every change of it, so no request takes it because of an outdated row of the file.
 */
export interface ClaimCache {
  lookUp(scope: string): Promise<LookedUpClaim>
  /** Scopes that are looked up and not released. */
  readonly inUse: readonly string[]
  /** Forgets the keys of requests that recovery has ended. */
  evict(): Promise<void>
}

export function createClaimCache(
  db: LedgerDb,
  ledgerState: LedgerState,
  clock: Pick<Clock, 'now'>,
  batcher: Pick<Batcher, 'recorded'>,
): ClaimCache {
  const users = new Map<string, number>()
  const reading = new Map<string, Promise<void>>()

  const read = async (scope: string): Promise<void> => {
    try {
      const claim = await readClaim(db, scope)
      // A request that has changed it meanwhile has looked it up too, and has put it here.
      if (!ledgerState.claims.has(scope)) ledgerState.claims.set(scope, claim)
    } finally {
      reading.delete(scope)
    }
  }
  const release = (scope: string): void => {
    const others = (users.get(scope) ?? 1) - 1
    if (others > 0) {
      users.set(scope, others)
      return
    }
    users.delete(scope)
    // The file may not have the end of the request yet. Read from it now, the key would stay in use for ever.
    void batcher.recorded().then(() => forget(scope))
  }
  const forget = (scope: string): void => {
    if (!users.has(scope) && ledgerState.claims.get(scope)?.state !== 'running') ledgerState.claims.delete(scope)
  }

  return {
    async lookUp(scope) {
      users.set(scope, (users.get(scope) ?? 0) + 1)
      try {
        // A state that is read back meanwhile may come without it.
        while (!ledgerState.claims.has(scope)) {
          const running = reading.get(scope) ?? read(scope)
          reading.set(scope, running)
          await running
        }
      } catch (error) {
        release(scope)
        throw error
      }
      let held = true
      const at = clock.now()
      return {
        claim: existingClaim(ledgerState, { scope }, at),
        at,
        durable: batcher.recorded(),
        release() {
          if (held) release(scope)
          held = false
        },
      }
    },
    get inUse() {
      return [...users.keys()]
    },
    async evict() {
      const ended = [...ledgerState.claims].flatMap(([scope, claim]) => (claim?.state === 'running' ? [] : scope))
      if (ended.length === 0) return
      await batcher.recorded()
      for (const scope of ended) forget(scope)
    },
  }
}

export async function readClaim(db: LedgerDb, scope: string): Promise<Claim | undefined> {
  const stored = await findClaim(db, scope)
  return (
    stored && {
      scope: stored.scope,
      fingerprint: stored.fingerprint,
      requestId: stored.request_id as RequestId,
      receipt: stored.receipt,
      expiresAt: stored.expires_at,
      state: stored.state,
    }
  )
}
