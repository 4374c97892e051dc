import type { z } from 'zod'
import { type CallerOutcome, judgeKey, knownKeyOf } from '../auth/callers.ts'
import type { MintedKey } from '../auth/secrets.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { admits } from '../catalog/resolve-model.ts'
import type { changeKeyBody, createKeyBody, KeyTerms, keyCaps, rotateKeyBody } from '../contract/owner.ts'
import {
  digestRotation,
  findKeyById,
  findPlaygroundKey,
  insertPlaygroundKey,
  type KeyChange,
  type KeyWithAccount,
  keyInsert,
  keyUpdate,
  type StoredKey,
} from '../db/keys.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { ratesOfKey } from '../limits/limits.ts'
import type { KeyKind } from '../model/caller.ts'
import { type AccountRow, type KeyId, mintKeyId } from '../model/ids.ts'
import type { LimitRates } from '../model/limit.ts'
import { type OneAccount, resolveOpenAccount } from './accounts.ts'
import type { ActorLog } from './audit.ts'
import { describeKeyTerms, findOwnedKey, type KeyView, keyView, type OneKey, type OwnedKey } from './key-views.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { parseExpiry, readAmount, unreadableMoment } from './values.ts'

export interface CreateKeyDeps extends ReadTermsDeps {
  readonly db: LedgerDb
  readonly random: RandomBytes
  readonly mintKey: (kind: KeyKind) => MintedKey
  readonly auditLog: ActorLog
  /** How many keys one account may have that are not revoked. */
  readonly liveKeysMax: () => number
}

export interface CreatedKey extends KeyView {
  /** The secret: said this once, stored nowhere. */
  readonly key: string
}

export async function createKey(
  deps: CreateKeyDeps,
  { account: named, kind, name, ...terms }: z.output<typeof createKeyBody> & OneAccount,
): Promise<Outcome<CreatedKey>> {
  const resolved = await resolveOpenAccount(deps, named)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const read = readTerms(deps, kind, terms)
  if (read.kind === 'refused') return read
  const { limits, ...columns } = read.columns
  const now = deps.clock.now()
  const { digest, shown, key } = deps.mintKey(kind)
  const row = {
    ...{ id: mintKeyId(deps.random), account: account.row, kind, name, digest, shown },
    ...{ models: null, expires_at: null, ...columns, limits: storedLimits(limits), created_at: now },
  }
  const liveMax = deps.liveKeysMax()
  const act = {
    action: 'key_created',
    target: row.id,
    account: account.row,
    detail: describeKeyTerms('made', row),
  } as const
  if (!(await deps.auditLog.act(act, [keyInsert(deps.db, row, liveMax)]))) return tooManyKeys(liveMax)
  const stored = await findKeyById(deps.db, row.id)
  if (stored === undefined) throw new Error(`Key ${row.id} is not there after it was made`)
  return done({ ...keyView(stored, account, now), key })
}

/** A new key has none that could be taken away. */
function storedLimits(limits: Readonly<Record<string, number | null>> = {}): string | null {
  const own = Object.entries(limits).filter(([, rate]) => rate !== null)
  return own.length === 0 ? null : JSON.stringify(Object.fromEntries(own))
}

const tooManyKeys = (most: number): Refused =>
  refused(
    'too_many_keys',
    `This account has ${most} keys that are not revoked, and may not have more. Revoke one that nobody uses, or have the operator raise limits.keys_per_account.`,
  )

export interface ChangeKeyDeps extends ReadTermsDeps {
  readonly db: LedgerDb
  readonly auditLog: ActorLog
  /** What holds for keys without limits of their own. */
  readonly keyRates: () => LimitRates
  /** Drops a key from the running server's cache, so that the next request reads it anew. */
  readonly forgetKey: (id: KeyId) => void
}

/** Whose key may be changed, and how far. */
interface ChangeRights {
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
  const detail = describeKeyTerms(said, { name: change.name ?? name, kind })
  const changed = await deps.auditLog
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

const keyRevoked = (id: string): Refused =>
  refused('key_revoked', `${id} is revoked, and that is final. Make a new one: millrace keys create`)

export interface RotateKeyDeps extends ChangeKeyDeps {
  readonly mintKey: (kind: KeyKind) => MintedKey
}

/** Whoever needs longer than that to put a new secret in place needs two keys. */
const GRACE_MAX_MS = 30 * 86_400_000

/**
 * A new secret for the same key: its caps, limits and what it has done under an idempotency key follow. Only the secret
 * before this one has a grace: one that was replaced earlier ends here.
 */
export async function rotateKey(
  deps: RotateKeyDeps,
  args: z.output<typeof rotateKeyBody> & OneKey,
  of?: AccountRow,
): Promise<Outcome<CreatedKey>> {
  const found = await findOwnedKey(deps, args.key, of)
  if (found.kind === 'refused') return found
  const { key } = found
  if (key.playground === 1) {
    return refused('key_without_secret', `${key.id} belongs to the playground and has no secret that could be rotated.`)
  }
  const now = deps.clock.now()
  const formerUntil = endOfGrace(args.grace, now)
  if (formerUntil === undefined) return unreadableGrace(args.grace)
  const minted = deps.mintKey(key.kind)
  const { digest, shown } = minted
  const detail = `${describeKeyTerms('new secret of', key)}, the former one works for ${args.grace}`
  const act = { action: 'key_rotated', target: key.id, account: key.account, detail } as const
  const rotated = await deps.auditLog
    .act(act, [digestRotation(deps.db, key, { digest, shown, formerUntil })])
    .finally(() => deps.forgetKey(key.id as KeyId))
  const after = await findOwnedKey(deps, args.key, of)
  if (after.kind === 'refused') return after
  if (after.key.revoked_at !== null) return keyRevoked(key.id)
  if (rotated) return done({ ...keyView(after.key, after.owner, now), key: minted.key })
  return refused('key_changed', `${key.id} was given another secret in this moment. Nothing was done; try again.`)
}

/** Null ends the former secret at once; undefined is no grace. */
function endOfGrace(grace: string, now: number): number | null | undefined {
  if (/^0[mhdw]?$/.test(grace)) return null
  const end = /^\d{1,6}[mhdw]$/.test(grace) ? parseExpiry(grace, now) : undefined
  return end !== undefined && end <= now + GRACE_MAX_MS ? end : undefined
}

const unreadableGrace = (grace: string) =>
  refused(
    'invalid_grace',
    `${JSON.stringify(grace)} is not a grace: write 0, or a span of at most 30 days such as 1h, 24h or 7d.`,
    { param: 'grace' },
  )

/**
 * Whether a key could do anything after a change that it could not before: spend more, last longer, call another model, or
 * call at all. A new name widens nothing, and less of anything does not either. `configured` is what holds where a key has no
 * limit of its own.
 */
function widensKey(key: StoredKey, change: KeyChange, configured: LimitRates): boolean {
  return (
    (change.disabled_at === null && key.disabled_at !== null) ||
    isMore(key.expires_at, change.expires_at) ||
    isMore(key.cap_day_nano, change.cap_day_nano) ||
    isMore(key.cap_month_nano, change.cap_month_nano) ||
    widensLimits(key.limits, change.limits, configured) ||
    widensModels(key.models, change.models)
  )
}

/** Null is no bound at all, and undefined no change. */
const isMore = <Bound extends number | bigint>(before: Bound | null, after: Bound | null | undefined): boolean =>
  after !== undefined && before !== null && (after === null || after > before)

function widensLimits(stored: string | null, change: KeyChange['limits'], configured: LimitRates): boolean {
  if (change === undefined) return false
  const own = stored === null ? {} : (JSON.parse(stored) as LimitRates)
  const left = Object.entries({ ...own, ...change }).filter(([, rate]) => rate !== null)
  const before = boundsOf(ratesOfKey(configured, own))
  const after = boundsOf(ratesOfKey(configured, Object.fromEntries(left)))
  return before.some((bound, which) => isMore(bound, after[which]))
}

/** Without a burst of its own, all of a rate may come at once. */
const boundsOf = (rates: LimitRates): (number | null)[] => [
  rates.requestsPerMinute ?? null,
  rates.requestsBurst ?? rates.requestsPerMinute ?? null,
  rates.tokensPerMinute ?? null,
  rates.tokensBurst ?? rates.tokensPerMinute ?? null,
  rates.concurrent ?? null,
]

/** An entry that was not in the list is new, whatever the patterns in it would have admitted. */
function widensModels(before: string | null, after: string | null | undefined): boolean {
  if (before === null || after === undefined) return false
  if (after === null) return true
  const listed = new Set(JSON.parse(before) as string[])
  return (JSON.parse(after) as string[]).some((entry) => !listed.has(entry))
}

const confirmToWiden = refused(
  'confirm_password',
  'This lets a key do more than before, which needs your password again, as it was given a while ago.',
)

interface ReadTermsDeps {
  readonly clock: Clock
  readonly catalog: () => Catalog
}

/** Columns of a key; what was not named is not in here. */
type TermColumns = Pick<KeyChange, 'name' | 'models' | 'limits' | 'expires_at' | 'cap_day_nano' | 'cap_month_nano'>

type ReadTerms = { readonly kind: 'read'; readonly columns: TermColumns } | Refused

/** The terms of a key, new or changed, as they are stored. */
function readTerms(deps: ReadTermsDeps, kind: KeyKind, terms: KeyTerms): ReadTerms {
  const { name, models, limits, caps, expires } = terms
  const unmatched = unmatchedModels(deps.catalog(), kind, models ?? [])
  if (unmatched.length > 0) return noSuchModel(kind, unmatched)
  const expiresAt = expires == null ? expires : (parseExpiry(expires, deps.clock.now()) ?? 'unreadable')
  if (expiresAt === 'unreadable') return unreadableMoment(expires ?? '', 'expires')
  const read = readCaps(caps ?? {})
  if (read.kind === 'refused') return read
  const columns = {
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models: models && JSON.stringify(models) }),
    ...(limits !== undefined && { limits: limitsColumn(limits) }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...read.columns,
  }
  return { kind: 'read', columns }
}

/** The entries of a key's list that admit no model of its kind: most likely misspelt, and found out too late otherwise. */
function unmatchedModels(catalog: Catalog, kind: KeyKind, listed: readonly string[]): string[] {
  const entries = [...catalog.entries.values()].filter(({ model }) => model.kinds.includes(kind))
  return listed.filter((name) => !entries.some((entry) => admits(name, entry)))
}

const noSuchModel = (kind: KeyKind, names: readonly string[]): Refused =>
  refused('model_not_found', `No model for ${kind} keys matches ${names.join(', ')}. See: millrace models`, {
    param: 'models',
  })

type Caps = Pick<TermColumns, 'cap_day_nano' | 'cap_month_nano'>

function readCaps({
  day,
  month,
}: z.output<typeof keyCaps>): { readonly kind: 'read'; readonly columns: Caps } | Refused {
  const [ofDay, ofMonth] = [readCap(day, 'caps.day'), readCap(month, 'caps.month')]
  if (ofDay.kind === 'refused') return ofDay
  if (ofMonth.kind === 'refused') return ofMonth
  const columns = {
    ...(ofDay.amount !== undefined && { cap_day_nano: ofDay.amount }),
    ...(ofMonth.amount !== undefined && { cap_month_nano: ofMonth.amount }),
  }
  return { kind: 'read', columns }
}

const readCap = (text: string | null | undefined, param: 'caps.day' | 'caps.month') =>
  text == null ? ({ kind: 'read', amount: text } as const) : readAmount(text, param)

const limitsColumn = (limits: NonNullable<KeyTerms['limits']>): Record<string, number | null> => ({
  ...(limits.requests_per_minute !== undefined && { requestsPerMinute: limits.requests_per_minute }),
  ...(limits.tokens_per_minute !== undefined && { tokensPerMinute: limits.tokens_per_minute }),
  ...(limits.concurrent !== undefined && { concurrent: limits.concurrent }),
})

interface PlaygroundKeyDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly random: RandomBytes
}

/** As long as the digest of a secret. That a secret has just this one as its digest will not come to pass. */
const DIGEST_BYTES = 32
/** Somebody may revoke it between its making and its reading; nobody does that three times. */
const TRIES_MAX = 3

/**
 * Who asks when a person tries a model in the console: a key of the account like any other, with caps, limits and receipts,
 * only that no program can be it, because nobody has a secret for it. It is made at the first use, and again after it was
 * revoked; disabling it is what closes the playground. A suspended account is refused here as at the door.
 */
export async function playgroundKey(
  deps: PlaygroundKeyDeps,
  account: AccountRow,
  kind: KeyKind,
): Promise<CallerOutcome> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const key = await findPlaygroundKey(deps.db, account, kind)
    if (key !== undefined) return callerOf(key, deps.clock.now())
    await insertPlaygroundKey(deps.db, newKey(deps, account, kind))
  }
  throw new Error(`The playground key of account ${account} is revoked as often as it is made`)
}

const callerOf = (key: KeyWithAccount, now: number): CallerOutcome => judgeKey(knownKeyOf(key, 'present'), now)

const newKey = ({ clock, random }: PlaygroundKeyDeps, account: AccountRow, kind: KeyKind) => ({
  ...{ id: mintKeyId(random), account, kind, name: 'Playground', digest: random(DIGEST_BYTES), shown: 'no secret' },
  ...{ models: null, limits: null, expires_at: null, created_at: clock.now() },
})
