import type { z } from 'zod'
import { type CallerOutcome, judgeKey, knownKeyOf } from '../auth/callers.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { admits } from '../catalog/resolve-model.ts'
import type { changeKeyBody, createKeyBody, KeyTerms, keyCaps, rotateKeyBody } from '../contract/owner.ts'
import {
  digestRotation,
  findKeyById,
  findPlaygroundKey,
  insertPlaygroundKey,
  type KeyChange,
  keyInsert,
  keyUpdate,
  type StoredKey,
} from '../db/keys.ts'
import { ratesOfKey } from '../limits/limits.ts'
import type { KeyKind, LimitRates } from '../model/caller.ts'
import { type AccountRow, type KeyId, mintKeyId } from '../model/ids.ts'
import { type OneAccount, resolveOpenAccount } from './accounts.ts'
import { describeKeyChange, findOwnedKey, type KeyView, keyView, type OneKey, type OwnedKey } from './key-views.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { parseExpiry, readAmount, unreadableMoment } from './values.ts'

export interface CreatedKey extends KeyView {
  /** The secret: returned once, stored nowhere. */
  readonly key: string
}

export async function createKey(
  services: Pick<AdminServices, 'db' | 'clock' | 'random' | 'catalog' | 'mintKey' | 'auditLog' | 'liveKeysMax'>,
  { account: named, kind, name, ...terms }: z.output<typeof createKeyBody> & OneAccount,
): Promise<Outcome<CreatedKey>> {
  const { db, clock, random, auditLog } = services
  const resolved = await resolveOpenAccount({ db }, named)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const read = readTerms(services, kind, terms)
  if (read.kind === 'refused') return read
  const { limits = {}, ...columns } = read.columns
  const now = clock.now()
  const { digest, shown, key } = services.mintKey(kind)
  // In a new key, null and absent limits are the same.
  const own = Object.entries(limits).filter(([, rate]) => rate !== null)
  const row = {
    ...{ id: mintKeyId(random), account: account.row, kind, name, digest, shown, models: null, expires_at: null },
    ...{ ...columns, limits: own.length === 0 ? null : JSON.stringify(Object.fromEntries(own)), created_at: now },
  }
  const liveMax = services.liveKeysMax()
  const detail = describeKeyChange('made', row)
  const entry = { action: 'key_created', target: row.id, account: account.row, detail } as const
  if (!(await auditLog.act(entry, [keyInsert(db, row, liveMax)]))) {
    const message = `This account has ${liveMax} keys that are not revoked, which is the maximum. Revoke an unused one, or ask the operator to raise limits.keys_per_account.`
    return refused('too_many_keys', message)
  }
  const stored = await findKeyById(db, row.id)
  if (stored === undefined) throw new Error(`Key ${row.id} is missing after it was created`)
  return done({ ...keyView(stored, account, now), key })
}

type ChangeServices = Pick<AdminServices, 'db' | 'clock' | 'catalog' | 'auditLog' | 'keyRates' | 'forgetKey'>

/** Which keys the caller may change, and how far. */
interface ChangeRights {
  /** The account of an owner; undefined for an operator. */
  readonly of?: AccountRow
  /** Whether the key may gain rights. An owner needs a recently confirmed password for that. */
  readonly mayWiden: boolean
}

const BY_OPERATOR: ChangeRights = { mayWiden: true }

type Terms = z.output<typeof changeKeyBody>

/** Changes any terms of a key at once. All changes apply from the next request on, or none. */
export async function changeKey(
  services: ChangeServices,
  { key: named, ...terms }: Terms & OneKey,
  { of, mayWiden }: ChangeRights = BY_OPERATOR,
): Promise<Outcome<KeyView>> {
  const found = await findOwnedKey(services, named, of)
  if (found.kind === 'refused') return found
  const { key } = found
  const read = readTerms(services, key.kind, terms)
  if (read.kind === 'refused') return read
  const now = services.clock.now()
  const change: KeyChange = {
    ...read.columns,
    // Disabling a disabled key keeps its time.
    ...(terms.disabled !== undefined && { disabled_at: terms.disabled ? (key.disabled_at ?? now) : null }),
  }
  if (Object.keys(change).length === 0) return done(keyView(key, found.owner, now))
  if (!mayWiden && widensKey(key, change, services.keyRates())) return confirmToWiden
  return updateKey(services, found, { change, what: describeTerms(terms), judged: mayWiden ? undefined : key })
}

function describeTerms(terms: Terms): string {
  const changed = Object.keys(terms)
  if (changed.length > 1) return `${changed.join(', ')} of`
  if (terms.disabled !== undefined) return terms.disabled ? 'disabled' : 'enabled'
  return terms.name === undefined ? `${changed[0]} of` : 'renamed to'
}

/** Final. Running requests finish. */
export async function revokeKey(
  services: ChangeServices,
  { key }: OneKey,
  { of, mayWiden }: ChangeRights = BY_OPERATOR,
): Promise<Outcome<KeyView>> {
  const found = await findOwnedKey(services, key, of)
  if (found.kind === 'refused') return found
  // The playground creates a new key without the caps of this one.
  if (!mayWiden && found.key.playground === 1) return confirmToWiden
  return updateKey(services, found, { change: { revoked_at: services.clock.now() }, what: 'revoked' })
}

interface KeyUpdate {
  readonly change: KeyChange
  /** For the audit log: `disabled`, `renamed to`. */
  readonly what: string
  /** The key when the change was judged; the update fails if it has changed since. */
  readonly judged?: StoredKey | undefined
}

/**
 * The only way to change a key after its creation, except for its secret. The cache drops the key after the change is durable
 * and before the caller is answered. It also drops it after a failure, because the change may have reached the file.
 */
export async function updateKey(
  { db, clock, auditLog, forgetKey }: ChangeServices,
  { key: { row, id, account, name, kind } }: Exclude<OwnedKey, Refused>,
  { change, what, judged }: KeyUpdate,
): Promise<Outcome<KeyView>> {
  const action = change.revoked_at === undefined ? 'key_changed' : 'key_revoked'
  const detail = describeKeyChange(what, { name: change.name ?? name, kind })
  const changed = await auditLog
    .act({ action, target: id, account, detail }, [keyUpdate(db, row, change, judged)])
    .finally(() => forgetKey(id as KeyId))
  const after = await findOwnedKey({ db }, id)
  if (after.kind === 'refused') return after
  // A script may revoke twice after a lost answer, which succeeds.
  if (changed || change.revoked_at !== undefined) return done(keyView(after.key, after.owner, clock.now()))
  if (after.key.revoked_at !== null) return keyRevoked(id)
  return refused('key_changed', `${id} was changed by someone else at the same time. Nothing was done: check it again.`)
}

const keyRevoked = (id: string): Refused =>
  refused('key_revoked', `${id} is revoked, which is final. Create a new one: millrace keys create`)

/** A longer overlap needs two keys. */
const GRACE_MAX_MS = 30 * 86_400_000

/**
 * Gives a key a new secret. Its caps, limits and idempotency keys stay. Only the last secret has a grace period: one that was
 * replaced earlier ends now.
 */
export async function rotateKey(
  services: ChangeServices & Pick<AdminServices, 'mintKey'>,
  args: z.output<typeof rotateKeyBody> & OneKey,
  of?: AccountRow,
): Promise<Outcome<CreatedKey>> {
  const { db, clock, auditLog, forgetKey } = services
  const found = await findOwnedKey({ db }, args.key, of)
  if (found.kind === 'refused') return found
  const { key } = found
  if (key.playground === 1) {
    return refused('key_without_secret', `${key.id} belongs to the playground and has no secret to rotate.`)
  }
  const now = clock.now()
  const formerUntil = endOfGrace(args.grace, now)
  if (formerUntil === undefined) {
    const message = `${JSON.stringify(args.grace)} is not a grace period: write 0, or a span of at most 30 days such as 1h, 24h or 7d.`
    return refused('invalid_grace', message, { param: 'grace' })
  }
  const { digest, shown, key: secret } = services.mintKey(key.kind)
  const detail = `${describeKeyChange('new secret of', key)}, the former one works for ${args.grace}`
  const entry = { action: 'key_rotated', target: key.id, account: key.account, detail } as const
  const rotated = await auditLog
    .act(entry, [digestRotation(key, { digest, shown, formerUntil })])
    .finally(() => forgetKey(key.id as KeyId))
  const after = await findOwnedKey({ db }, args.key, of)
  if (after.kind === 'refused') return after
  if (after.key.revoked_at !== null) return keyRevoked(key.id)
  if (rotated) return done({ ...keyView(after.key, after.owner, now), key: secret })
  return refused('key_changed', `${key.id} was given another secret at the same time. Nothing was done; try again.`)
}

/** Null ends the former secret at once; undefined is not a grace period. */
function endOfGrace(grace: string, now: number): number | null | undefined {
  if (/^0[mhdw]?$/.test(grace)) return null
  const end = /^\d{1,6}[mhdw]$/.test(grace) ? parseExpiry(grace, now) : undefined
  return end !== undefined && end <= now + GRACE_MAX_MS ? end : undefined
}

/**
 * Whether the change lets the key do more: spend more, last longer, call another model, or call at all. `configured` are the
 * limits of a key without its own.
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

/** Null means no limit, undefined no change. */
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

/** Without its own burst, the whole rate may come at once. */
const boundsOf = (rates: LimitRates): (number | null)[] => [
  rates.requestsPerMinute ?? null,
  rates.requestsBurst ?? rates.requestsPerMinute ?? null,
  rates.tokensPerMinute ?? null,
  rates.tokensBurst ?? rates.tokensPerMinute ?? null,
  rates.concurrent ?? null,
]

/** Any entry that is not in the old list widens it, even if an old pattern covers it. */
function widensModels(before: string | null, after: string | null | undefined): boolean {
  if (before === null || after === undefined) return false
  if (after === null) return true
  const listed = new Set(JSON.parse(before) as string[])
  return (JSON.parse(after) as string[]).some((entry) => !listed.has(entry))
}

const confirmToWiden = refused(
  'confirm_password',
  'This lets the key do more than before. Confirm your password again.',
)

type TermColumns = Pick<KeyChange, 'name' | 'models' | 'limits' | 'expires_at' | 'cap_day_nano' | 'cap_month_nano'>

/** The columns of the given terms. Absent terms have no column. */
function readTerms(
  { clock, catalog }: Pick<AdminServices, 'clock' | 'catalog'>,
  kind: KeyKind,
  { name, models, limits, caps = {}, expires }: KeyTerms,
): { readonly kind: 'read'; readonly columns: TermColumns } | Refused {
  const unmatched = unmatchedModels(catalog(), kind, models ?? [])
  if (unmatched.length > 0) {
    const message = `No model for ${kind} keys matches ${unmatched.join(', ')}. See: millrace models`
    return refused('model_not_found', message, { param: 'models' })
  }
  const expiresAt = expires == null ? expires : (parseExpiry(expires, clock.now()) ?? 'unreadable')
  if (expiresAt === 'unreadable') return unreadableMoment(expires ?? '', 'expires')
  const [day, month] = [readCap(caps, 'day'), readCap(caps, 'month')]
  if (day.kind === 'refused') return day
  if (month.kind === 'refused') return month
  const columns = {
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models: models && JSON.stringify(models) }),
    ...(limits !== undefined && { limits: limitsColumn(limits) }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(day.amount !== undefined && { cap_day_nano: day.amount }),
    ...(month.amount !== undefined && { cap_month_nano: month.amount }),
  }
  return { kind: 'read', columns }
}

/** Entries that admit no model of the kind, which are most likely misspelt. */
function unmatchedModels(catalog: Catalog, kind: KeyKind, listed: readonly string[]): string[] {
  const entries = [...catalog.entries.values()].filter(({ model }) => model.kinds.includes(kind))
  return listed.filter((name) => !entries.some((entry) => admits(name, entry)))
}

function readCap(caps: z.output<typeof keyCaps>, period: 'day' | 'month') {
  const text = caps[period]
  return text == null ? ({ kind: 'read', amount: text } as const) : readAmount(text, `caps.${period}`)
}

const limitsColumn = (limits: NonNullable<KeyTerms['limits']>): Record<string, number | null> => ({
  ...(limits.requests_per_minute !== undefined && { requestsPerMinute: limits.requests_per_minute }),
  ...(limits.tokens_per_minute !== undefined && { tokensPerMinute: limits.tokens_per_minute }),
  ...(limits.concurrent !== undefined && { concurrent: limits.concurrent }),
})

/** As long as the digest of a secret. No secret has this digest. */
const DIGEST_BYTES = 32
/** The key may be revoked between its creation and its use. */
const TRIES_MAX = 3

/**
 * The caller of the console's playground: a key with caps, limits and receipts, but without a secret, so that no program can
 * use it. It is created at its first use, and again after it was revoked; disabling it closes the playground. A suspended
 * account is refused, as in the API.
 */
export async function playgroundKey(
  { db, clock, random }: Pick<AdminServices, 'db' | 'clock' | 'random'>,
  account: AccountRow,
  kind: KeyKind,
): Promise<CallerOutcome> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const key = await findPlaygroundKey(db, account, kind)
    if (key !== undefined) return judgeKey(knownKeyOf(key, 'present'), clock.now())
    await insertPlaygroundKey(db, {
      ...{ id: mintKeyId(random), account, kind, name: 'Playground', digest: random(DIGEST_BYTES) },
      ...{ shown: 'no secret', models: null, limits: null, expires_at: null, created_at: clock.now() },
    })
  }
  throw new Error(`The playground key of account ${account} is revoked as often as it is created`)
}
