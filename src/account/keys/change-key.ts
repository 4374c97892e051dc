import type { Clock } from '../../lib/clock.ts'
import type { AccountRow, KeyId } from '../../model/ids.ts'
import { type KeyChange, keyUpdate, type StoredKey } from '../../store/keys.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { done, type Outcome, type Refused, refused } from '../outcome.ts'
import type { Trail } from '../trail/trail.ts'
import { findOwnedKey, type OneKeyArgs } from './find-owned-key.ts'
import { type KeyView, keyInWords, keyView } from './key-view.ts'
import { confirmToWiden } from './widens-key.ts'

export interface ChangeKeyDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly trail: Trail
  /** Drops a key from the running server's cache, so that the next request reads it anew. */
  readonly forgetKey: (id: KeyId) => void
}

/** What is done to a key, and how the trail shall say it: `disabled`, `renamed to`. */
export interface KeyAct {
  readonly change: KeyChange
  readonly said: string
  /** As it was when it was judged whether this may be; undefined: whatever it is by now. */
  readonly judged?: StoredKey | undefined
}

/**
 * The one way in which a key changes after it was made, but for its secret. The cache is told after the change is durable
 * and before anybody hears of it: who reads "revoked" can rely on it. `of` is the account of an owner who asks.
 */
export async function changeKey(
  deps: ChangeKeyDeps,
  named: string,
  { change, said, judged }: KeyAct,
  of?: AccountRow,
): Promise<Outcome<KeyView>> {
  const found = await findOwnedKey(deps, named, of)
  if (found.kind === 'refused') return found
  const { row, id, account, name, kind } = found.key
  const action = change.revoked_at === undefined ? 'key_changed' : 'key_revoked'
  const detail = keyInWords(said, { name: change.name ?? name, kind })
  const update = keyUpdate(deps.db, row, change, judged)
  const changed = await deps.trail.act({ action, target: id, account, detail }, [update])
  deps.forgetKey(id as KeyId)
  const after = await findOwnedKey(deps, named, of)
  if (after.kind === 'refused') return after
  // Revoking twice is what a script does after a lost answer: it is revoked, and that was the wish.
  if (changed || change.revoked_at !== undefined) return done(keyView(after.key, after.owner, deps.clock.now()))
  return after.key.revoked_at === null ? keyChanged(named) : keyRevoked(named)
}

const keyChanged = (id: string): Refused =>
  refused('key_changed', `${id} was changed in this very moment. Nothing was done: look at it again.`)

export const disableKey = (deps: ChangeKeyDeps, { key }: OneKeyArgs): Promise<Outcome<KeyView>> =>
  changeKey(deps, key, { change: { disabled_at: deps.clock.now() }, said: 'disabled' })

export const enableKey = (deps: ChangeKeyDeps, { key }: OneKeyArgs): Promise<Outcome<KeyView>> =>
  changeKey(deps, key, { change: { disabled_at: null }, said: 'enabled' })

interface Revoking {
  /** The account of an owner who asks. */
  readonly of?: AccountRow
  readonly mayWiden?: boolean
}

/** For good. Requests that are running finish: they were allowed when they came. */
export async function revokeKey(
  deps: ChangeKeyDeps,
  { key }: OneKeyArgs,
  { of, mayWiden = true }: Revoking = {},
): Promise<Outcome<KeyView>> {
  if (!mayWiden) {
    const found = await findOwnedKey(deps, key, of)
    if (found.kind === 'refused') return found
    // The next one of the playground makes itself, without the caps of this one.
    if (found.key.playground === 1) return confirmToWiden
  }
  return changeKey(deps, key, { change: { revoked_at: deps.clock.now() }, said: 'revoked' }, of)
}

export const keyRevoked = (id: string): Refused =>
  refused('key_revoked', `${id} is revoked, and that is final. Make a new one: millrace keys create`)
