import type { z } from 'zod'
import type { changeKeyBody } from '../../contract/keys.ts'
import type { AccountRow, KeyId } from '../../model/ids.ts'
import type { LimitRates } from '../../model/limit.ts'
import { type KeyChange, keyUpdate, type StoredKey } from '../../store/keys.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { done, type Outcome, type Refused, refused } from '../outcome.ts'
import type { Trail } from '../trail/trail.ts'
import { findOwnedKey, type OneKey, type OwnedKey } from './find-owned-key.ts'
import { type ReadTermsDeps, readTerms } from './key-terms.ts'
import { type KeyView, keyInWords, keyView } from './key-view.ts'
import { confirmToWiden, widensKey } from './widens-key.ts'

export interface ChangeKeyDeps extends ReadTermsDeps {
  readonly db: LedgerDb
  readonly trail: Trail
  /** What holds for keys without limits of their own. */
  readonly keyRates: () => LimitRates
  /** Drops a key from the running server's cache, so that the next request reads it anew. */
  readonly forgetKey: (id: KeyId) => void
}

/** Whose key may be changed, and how far. */
export interface ChangeRights {
  /** The account of an owner; undefined for an operator. */
  readonly of?: AccountRow
  /** Whether it may become a key that can do more than before: for an owner, only behind a fresh password. */
  readonly mayWiden: boolean
}

const BY_OPERATOR: ChangeRights = { mayWiden: true }

type Terms = z.output<typeof changeKeyBody>

/** All that a key is about, but for its secret, in one act: all of it counts from the next request on, or none. */
export async function changeKey(
  deps: ChangeKeyDeps,
  { key: named, ...terms }: Terms & OneKey,
  { of, mayWiden }: ChangeRights = BY_OPERATOR,
): Promise<Outcome<KeyView>> {
  const found = await findOwnedKey(deps, named, of)
  if (found.kind === 'refused') return found
  const read = readTerms(deps, found.key.kind, terms)
  if (read.kind === 'refused') return read
  const now = deps.clock.now()
  const change = { ...read.columns, ...disabledColumn(terms, found.key, now) }
  if (Object.keys(change).length === 0) return done(keyView(found.key, found.owner, now))
  if (!mayWiden && widensKey(found.key, change, deps.keyRates())) return confirmToWiden
  return updateKey(deps, found, { change, said: saidOf(terms), judged: mayWiden ? undefined : found.key })
}

/** Since when it is disabled stays what it was. */
const disabledColumn = ({ disabled }: Terms, { disabled_at }: StoredKey, now: number): KeyChange =>
  disabled === undefined ? {} : { disabled_at: disabled ? (disabled_at ?? now) : null }

function saidOf(terms: Terms): string {
  const changed = Object.keys(terms)
  if (changed.length > 1) return `${changed.join(', ')} of`
  if (terms.disabled !== undefined) return terms.disabled ? 'disabled' : 'enabled'
  return terms.name === undefined ? `${changed[0]} of` : 'renamed to'
}

/** For good. Requests that are running finish: they were allowed when they came. */
export async function revokeKey(
  deps: ChangeKeyDeps,
  { key }: OneKey,
  { of, mayWiden }: ChangeRights = BY_OPERATOR,
): Promise<Outcome<KeyView>> {
  const found = await findOwnedKey(deps, key, of)
  if (found.kind === 'refused') return found
  // The next one of the playground makes itself, without the caps of this one.
  if (!mayWiden && found.key.playground === 1) return confirmToWiden
  return updateKey(deps, found, { change: { revoked_at: deps.clock.now() }, said: 'revoked' })
}

/** What is done to a key, and how the trail shall say it: `disabled`, `renamed to`. */
interface KeyAct {
  readonly change: KeyChange
  readonly said: string
  /** As it was when it was judged whether this may be; undefined: whatever it is by now. */
  readonly judged?: StoredKey | undefined
}

/**
 * The one way in which a key changes after it was made, but for its secret. The cache is told after the change is durable
 * and before anybody hears of it: who reads "revoked" can rely on it. It is told of a failure too, behind which the change may
 * be in the file.
 */
export async function updateKey(
  deps: ChangeKeyDeps,
  { key }: Exclude<OwnedKey, Refused>,
  { change, said, judged }: KeyAct,
): Promise<Outcome<KeyView>> {
  const { row, id, account, name, kind } = key
  const action = change.revoked_at === undefined ? 'key_changed' : 'key_revoked'
  const detail = keyInWords(said, { name: change.name ?? name, kind })
  const changed = await deps.trail
    .act({ action, target: id, account, detail }, [keyUpdate(deps.db, row, change, judged)])
    .finally(() => deps.forgetKey(id as KeyId))
  const after = await findOwnedKey(deps, id)
  if (after.kind === 'refused') return after
  // Revoking twice is what a script does after a lost answer: it is revoked, and that was the wish.
  if (changed || change.revoked_at !== undefined) return done(keyView(after.key, after.owner, deps.clock.now()))
  return after.key.revoked_at === null ? keyChanged(id) : keyRevoked(id)
}

const keyChanged = (id: string): Refused =>
  refused('key_changed', `${id} was changed in this very moment. Nothing was done: look at it again.`)

export const keyRevoked = (id: string): Refused =>
  refused('key_revoked', `${id} is revoked, and that is final. Make a new one: millrace keys create`)
