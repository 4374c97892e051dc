import type { Clock } from '../lib/clock.ts'
import type { AccountRow, KeyId } from '../model/ids.ts'
import { type KeyChange, updateKey } from '../store/keys.ts'
import type { LedgerDb } from '../store/tables.ts'
import { findOwnedKey } from './find-owned-key.ts'
import { type KeyView, keyView } from './key-view.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'

export interface ChangeKeyDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  /** Drops a key from the running server's cache, so that the next request reads it anew. */
  readonly forgetKey: (id: KeyId) => void
}

/**
 * The one way in which a key changes after it was made, but for its secret. The cache is told after the change is durable
 * and before anybody hears of it: who reads "revoked" can rely on it. `of` is the account of an owner who asks.
 */
export async function changeKey(
  deps: ChangeKeyDeps,
  named: string,
  change: KeyChange,
  of?: AccountRow,
): Promise<Outcome<KeyView>> {
  const found = await findOwnedKey(deps, named, of)
  if (found.kind === 'refused') return found
  const changed = await updateKey(deps.db, found.key.row, change)
  deps.forgetKey(found.key.id as KeyId)
  const after = await findOwnedKey(deps, named, of)
  if (after.kind === 'refused') return after
  // Revoking twice is what a script does after a lost answer: it is revoked, and that was the wish.
  if (changed || change.revoked_at !== undefined) return done(keyView(after.key, after.owner, deps.clock.now()))
  return keyRevoked(named)
}

export const keyRevoked = (id: string): Refused =>
  refused('key_revoked', `${id} is revoked, and that is final. Make a new one: millrace keys create`)
