import type { z } from 'zod'
import { type CallerOutcome, judgeKey, knownKeyOf } from '../auth/callers.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { admits } from '../catalog/resolve-model.ts'
import type { changeKeyBody, createKeyBody, KeyTerms, keyCaps, keysQuery, rotateKeyBody } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow, type StoredAccount } from '../db/accounts.ts'
import {
  digestRotation,
  findKeyById,
  findPlaygroundKey,
  insertPlaygroundKey,
  type KeyChange,
  keyInsert,
  keyUpdate,
  listLiveKeys,
  listShownKeys,
  listWholeKeys,
  type ShownKey,
  type StoredKey,
} from '../db/keys.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { searchTerms } from '../lib/anywhere/text.ts'
import { type ConfiguredLimits, rateLimitsOfKey } from '../limits/limits.ts'
import { allowancesOfCaps } from '../model/allowance.ts'
import type { Caller, KeyKind, RateLimits } from '../model/caller.ts'
import { type AccountRow, type KeyId, type KeyRow, mintKeyId } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type AnyAccount, type OneAccount, resolveAccount, resolveOpenAccount, walletOf } from './accounts.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { capView, windowView } from './plans.ts'
import type { AdminServices, DbService, OwnerServices } from './services.ts'
import { cutPage, isoTime, isoTimeOrNull, NEWEST, parseExpiry, quoted, readAmount, unreadableMoment } from './values.ts'

/** Revoked is final, so it comes first. Expired comes before disabled, because enabling would not help. */
function keyStateOf(key: Pick<StoredKey, 'revoked_at' | 'expires_at' | 'disabled_at'>, now: number) {
  if (key.revoked_at !== null) return 'revoked' as const
  if (key.expires_at !== null && key.expires_at <= now) return 'expired' as const
  return key.disabled_at === null ? ('active' as const) : ('disabled' as const)
}

/** A key as operators see it, without the secret, which is stored nowhere. */
export type KeyView = ReturnType<typeof keyView>

const keyView = (key: StoredKey, owner: { readonly id: string; readonly email: string }, now: number) => ({
  id: key.id,
  account: owner.id,
  email: owner.email,
  kind: key.kind,
  name: key.name,
  /** The beginning and the end of the secret. */
  shown: key.shown,
  state: keyStateOf(key, now),
  playground: key.playground === 1,
  /** Ids and globs; null admits every model of its kind. */
  models: modelsOf(key),
  limits: limitsView(limitsOf(key)),
  /** Spend caps per day or month of UTC, in USD. */
  caps: capsView(key),
  expires_at: isoTimeOrNull(key.expires_at),
  created_at: isoTime(key.created_at),
  former: formerOf(key, now),
})

const modelsOf = ({ models }: Pick<StoredKey, 'models'>): string[] | null =>
  models === null ? null : (JSON.parse(models) as string[])

const limitsOf = ({ limits }: Pick<StoredKey, 'limits'>): RateLimits =>
  limits === null ? {} : (JSON.parse(limits) as RateLimits)

/** The former secret, which works until the end of a rotation. Revoking ends both. */
function formerOf(
  { former_shown, former_until, revoked_at }: Pick<StoredKey, 'former_shown' | 'former_until' | 'revoked_at'>,
  now: number,
) {
  if (former_shown === null || former_until === null || former_until <= now || revoked_at !== null) return null
  return { shown: former_shown, until: isoTime(former_until) }
}

const limitsView = (limits: RateLimits) => ({
  ...(limits.requestsPerMinute !== undefined && { requests_per_minute: limits.requestsPerMinute }),
  ...(limits.tokensPerMinute !== undefined && { tokens_per_minute: limits.tokensPerMinute }),
  ...(limits.concurrent !== undefined && { concurrent: limits.concurrent }),
})

export type CapsView = ReturnType<typeof capsView>

const capsView = ({ cap_day_nano, cap_month_nano }: StoredKey) => ({
  ...(cap_day_nano !== null && { day: formatUsd(cap_day_nano) }),
  ...(cap_month_nano !== null && { month: formatUsd(cap_month_nano) }),
})

/** For the audit log. */
const describeKeyChange = (what: string, { name, kind }: Pick<StoredKey, 'name' | 'kind'>): string =>
  `${what} ${JSON.stringify(name)} (${kind})`

export interface OneKey {
  readonly key: string
}

interface OwnedKey {
  readonly kind: 'found'
  readonly key: StoredKey
  readonly owner: StoredAccount
}

/** `of` limits it to the keys of one account: keys of others do not exist for it. */
export async function findOwnedKey(
  { db }: DbService,
  id: string,
  of?: AccountRow,
): Promise<OwnedKey | OperationRefused> {
  // A secret pasted instead of the id must not appear in a message or a log.
  if (/^mr_(wallet|builder)_/.test(id)) {
    return refuseOperation('key_not_found', 'This is the secret of a key. Use its key_ id; see: millrace keys list')
  }
  const key = await findKeyById(db, id)
  const owner = key && (await findAccountByRow(db, key.account))
  if (key === undefined || owner === undefined || (of !== undefined && key.account !== of)) {
    return refuseOperation('key_not_found', `There is no key ${quoted(id)}. See: millrace keys list`)
  }
  return { kind: 'found', key, owner }
}

/** The keys of one account or of all, newest first, revoked ones included. A page starts after the key of the cursor. */
export async function listKeys({ db, clock }: AdminServices, { account, after, limit }: PageQuery & AnyAccount) {
  const resolved = account === undefined ? undefined : await resolveAccount({ db }, account)
  if (resolved?.kind === 'refused') return resolved
  const of = resolved?.value.row as AccountRow | undefined
  const last = after === undefined ? undefined : await findOwnedKey({ db }, after, of)
  if (last?.kind === 'refused') return last
  const read = await listWholeKeys(db, of, { before: last?.key.row ?? NEWEST, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const now = clock.now()
  const items = rows.map((key) => keyView(key, { id: key.owner_id, email: key.owner_email }, now))
  return done({ items, next })
}

/** The spend caps of a key as allowances of the ledger. */
const allowancesOf = (key: Pick<StoredKey, 'row' | 'cap_day_nano' | 'cap_month_nano'>) =>
  allowancesOfCaps(key.row as KeyRow, { day: key.cap_day_nano, month: key.cap_month_nano })

export async function showKey({ db, clock, ledger }: AdminServices, { key: named }: OneKey) {
  const found = await findOwnedKey({ db }, named)
  if (found.kind === 'refused') return found
  const { key, owner } = found
  const { statuses } = await ledger.allowanceStatuses(key.account as AccountRow, allowancesOf(key))
  return done({ ...keyView(key, owner, clock.now()), spent: statuses.map(capView) })
}

type OwnKeyServices = Pick<OwnerServices, 'db' | 'clock' | 'ledger' | 'lastUsed'>

/** Newest first, revoked ones included, so that their usage stays explainable. A page starts after the key of the cursor. */
export async function listOwnKeys(
  services: OwnKeyServices,
  account: AccountRow,
  { after, limit, search = '' }: z.output<typeof keysQuery>,
) {
  const last = after === undefined ? undefined : await findOwnedKey(services, after, account)
  if (last?.kind === 'refused') return last
  const before = last?.key.row ?? NEWEST
  const read = await listShownKeys(services.db, account, { before, limit: limit + 1, words: searchTerms(search) })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const facts = await factsOf(services, account, rows)
  const items = rows.map(({ models_count: count, models_first: first }, index) => ({
    ...facts[index]!,
    models: count === null || first === null ? null : { count, first: (JSON.parse(first) as string[]).slice(0, count) },
  }))
  return done({ items, next })
}

/** A key as its owner sees it. */
export async function showOwnKey(services: OwnKeyServices, account: AccountRow, id: string) {
  const found = await findOwnedKey(services, id, account)
  if (found.kind === 'refused') return found
  const [facts] = await factsOf(services, account, [found.key])
  return done({ ...facts!, models: modelsOf(found.key) })
}

/** Everything about keys but their models, with one query to the ledger. */
async function factsOf(
  { clock, ledger, lastUsed }: OwnKeyServices,
  account: AccountRow,
  keys: readonly Omit<ShownKey, 'models_count' | 'models_first'>[],
) {
  const caps = keys.map(allowancesOf)
  const { statuses } = await ledger.allowanceStatuses(account, caps.flat())
  const used = await lastUsed(
    account,
    keys.map(({ row }) => row),
  )
  // One status for each cap, in their order.
  const views = statuses.map(capView)
  const now = clock.now()
  return keys.map((key, index) => {
    const limits = limitsOf(key)
    return {
      id: key.id,
      name: key.name,
      kind: key.kind,
      shown: key.shown,
      state: keyStateOf(key, now),
      playground: key.playground === 1,
      limits: {
        requests_per_minute: limits.requestsPerMinute ?? null,
        tokens_per_minute: limits.tokensPerMinute ?? null,
        concurrent: limits.concurrent ?? null,
      },
      caps: views.splice(0, caps[index]!.length),
      created_at: isoTime(key.created_at),
      last_used_at: isoTimeOrNull(used.get(key.row) ?? null),
      expires_at: isoTimeOrNull(key.expires_at),
      former: formerOf(key, now),
    }
  })
}

interface DescribeKeyServices {
  readonly ledger: Pick<Ledger, 'accountStatus' | 'allowanceStatuses'>
  readonly catalog: () => Pick<Catalog, 'plans'>
  readonly limits: () => Pick<ConfiguredLimits, 'key' | 'account'>
}

/** What `GET /v1/key` returns to the key itself. */
export async function describeKey({ ledger, catalog, limits }: DescribeKeyServices, caller: Caller) {
  const configured = limits()
  const plan = caller.plan && catalog().plans.get(caller.plan.id)
  const wallet =
    caller.kind === 'wallet' ? { currency: 'USD' as const, ...(await walletOf(ledger, caller.account)) } : null
  const { statuses } = await ledger.allowanceStatuses(caller.account, [...(plan?.windows ?? []), ...caller.caps])
  return {
    object: 'key' as const,
    id: caller.keyId,
    account: caller.accountId,
    name: caller.keyName,
    kind: caller.kind,
    /** Ids and globs; null admits every model of its kind. */
    models: caller.models ?? null,
    /** Shared by all wallet keys of the account; null for a builder key, which never uses it. */
    wallet,
    caps: statuses.filter(({ allowance }) => allowance.unit === 'cap').map(capView),
    /** The subscription of a builder key; null without one, or if the configuration no longer has its plan. */
    plan: plan === undefined ? null : { id: plan.id, until: isoTimeOrNull(caller.plan?.endsAt ?? null) },
    windows: statuses.filter(({ allowance }) => allowance.unit === 'quota').map(windowView),
    limits: {
      key: limitsView(rateLimitsOfKey(configured.key, caller.limits)),
      account: limitsView(configured.account),
    },
  }
}

export interface CreatedKey extends KeyView {
  /** The secret: returned once, stored nowhere. */
  readonly key: string
}

export async function createKey(
  services: AdminServices,
  { account: named, kind, name, ...terms }: z.output<typeof createKeyBody> & OneAccount,
  /** Refuses if a live key of the account has this name. */
  { needsNewName = false }: { readonly needsNewName?: boolean } = {},
): Promise<Outcome<CreatedKey>> {
  const { db, clock, random, auditLog } = services
  const resolved = await resolveOpenAccount({ db }, named)
  if (resolved.kind === 'refused') return resolved
  const { value: account } = resolved
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
  if (!(await auditLog.act(entry, [keyInsert(db, row, { liveMax, needsNewName })]))) {
    if (needsNewName && (await listLiveKeys(db, account.row)).some((key) => key.name === name)) {
      return refuseOperation('key_changed', `The account has a key ${quoted(name)} by now. Apply again.`)
    }
    const message = `This account has ${liveMax} keys that are not revoked, which is the maximum. Revoke an unused one, or ask the operator to raise limits.keys_per_account.`
    return refuseOperation('too_many_keys', message)
  }
  const stored = await findKeyById(db, row.id)
  if (stored === undefined) throw new Error(`Key ${row.id} is missing after it was created`)
  return done({ ...keyView(stored, account, now), key })
}

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
  services: AdminServices,
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
  if (!mayWiden && widensKey(key, change, services.keyRateLimits())) return confirmToWiden
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
  services: AdminServices,
  { key }: OneKey,
  { of, mayWiden }: ChangeRights = BY_OPERATOR,
): Promise<Outcome<KeyView>> {
  const found = await findOwnedKey(services, key, of)
  if (found.kind === 'refused') return found
  // The playground creates a new key without the caps of this one.
  if (!mayWiden && found.key.playground === 1) return confirmToWiden
  return updateKey(services, found, { change: { revoked_at: services.clock.now() }, what: 'revoked' })
}

/**
 * The only way to change a key after its creation, except for its secret. The cache drops the key after the change is durable
 * and before the caller is answered. It also drops it after a failure, because the change may have reached the file. The audit
 * log says `what`: `disabled`, `renamed to`. The update fails if the key is not as it was `judged`.
 */
export async function updateKey(
  { db, clock, auditLog, forgetKey }: AdminServices,
  { key: { row, id, account, name, kind } }: OwnedKey,
  { change, what, judged }: { change: KeyChange; what: string; judged?: StoredKey | undefined },
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
  return refuseOperation(
    'key_changed',
    `${id} was changed by someone else at the same time. Nothing was done: check it again.`,
  )
}

const keyRevoked = (id: string): OperationRefused =>
  refuseOperation('key_revoked', `${id} is revoked, which is final. Create a new one: millrace keys create`)

/** A longer overlap needs two keys. */
const GRACE_MAX_MS = 30 * 86_400_000

/**
 * Gives a key a new secret. Its caps, limits and idempotency keys stay. Only the last secret has a grace period: one that was
 * replaced earlier ends now.
 */
export async function rotateKey(
  services: AdminServices,
  args: z.output<typeof rotateKeyBody> & OneKey,
  of?: AccountRow,
): Promise<Outcome<CreatedKey>> {
  const { db, clock, auditLog, forgetKey } = services
  const found = await findOwnedKey({ db }, args.key, of)
  if (found.kind === 'refused') return found
  const { key } = found
  if (key.playground === 1) {
    return refuseOperation('key_without_secret', `${key.id} belongs to the playground and has no secret to rotate.`)
  }
  const now = clock.now()
  const formerUntil = endOfGrace(args.grace, now)
  if (formerUntil === undefined) {
    const message = `${JSON.stringify(args.grace)} is not a grace period: write 0, or a span of at most 30 days such as 1h, 24h or 7d.`
    return refuseOperation('invalid_grace', message, { param: 'grace' })
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
  return refuseOperation(
    'key_changed',
    `${key.id} was given another secret at the same time. Nothing was done; try again.`,
  )
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
function widensKey(key: StoredKey, change: KeyChange, configured: RateLimits): boolean {
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

function widensLimits(stored: string | null, change: KeyChange['limits'], configured: RateLimits): boolean {
  if (change === undefined) return false
  const own = stored === null ? {} : (JSON.parse(stored) as RateLimits)
  const left = Object.entries({ ...own, ...change }).filter(([, rate]) => rate !== null)
  const before = boundsOf(rateLimitsOfKey(configured, own))
  const after = boundsOf(rateLimitsOfKey(configured, Object.fromEntries(left)))
  return before.some((bound, which) => isMore(bound, after[which]))
}

/** Without its own burst, the whole rate may come at once. */
const boundsOf = (rateLimits: RateLimits): (number | null)[] => [
  rateLimits.requestsPerMinute ?? null,
  rateLimits.requestsBurst ?? rateLimits.requestsPerMinute ?? null,
  rateLimits.tokensPerMinute ?? null,
  rateLimits.tokensBurst ?? rateLimits.tokensPerMinute ?? null,
  rateLimits.concurrent ?? null,
]

/** Any entry that is not in the old list widens it, even if an old pattern covers it. */
function widensModels(before: string | null, after: string | null | undefined): boolean {
  if (before === null || after === undefined) return false
  if (after === null) return true
  const listed = new Set(JSON.parse(before) as string[])
  return (JSON.parse(after) as string[]).some((entry) => !listed.has(entry))
}

const confirmToWiden = refuseOperation(
  'confirm_password',
  'This lets the key do more than before. Confirm your password again.',
)

/** The columns of the given terms. Absent terms have no column. */
export function readTerms(
  { clock, catalog }: AdminServices,
  kind: KeyKind,
  { name, models, limits, caps = {}, expires }: KeyTerms,
) {
  const unmatched = unmatchedModels(catalog(), kind, models ?? [])
  if (unmatched.length > 0) {
    const message = `No model for ${kind} keys matches ${unmatched.join(', ')}. See: millrace models`
    return refuseOperation('model_not_found', message, { param: 'models' })
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
  return { kind: 'read' as const, columns }
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
