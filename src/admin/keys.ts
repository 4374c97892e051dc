import type { z } from 'zod'
import type { Catalog } from '../catalog/catalog.ts'
import { admits } from '../catalog/resolve-model.ts'
import type { raiseBody } from '../contract/caps.ts'
import type { changeKeyBody, createKeyBody, KeyTerms, keysQuery, rotateKeyBody } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow, type StoredAccount } from '../db/accounts.ts'
import { type CapAmounts, capsOfKeys, capsOfNew, findTeam, findTeamByName, listCapsOf, NEW_KEYS } from '../db/caps.ts'
import {
  digestRotation,
  findKeyById,
  type KeyChange,
  keyInsert,
  keyUpdate,
  listLiveKeys,
  listOwnersOfKeys,
  listShownKeys,
  listWholeKeys,
  type ShownKey,
  type StoredKey,
} from '../db/keys.ts'
import { findPersonById } from '../db/people.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { searchTerms } from '../lib/anywhere/text.ts'
import { type ConfiguredLimits, rateLimitsOfKey } from '../limits/limits.ts'
import type { Caller, KeyKind, RateLimits } from '../model/caller.ts'
import { type AccountRow, type KeyId, mintKeyId } from '../model/ids.ts'
import { parseRunRule, writeRunRule } from '../model/run.ts'
import { parseStepDown, writeStepDown } from '../model/step-down.ts'
import { type AnyAccount, type OneAccount, resolveAccount, resolveOpenAccount, walletOf } from './accounts.ts'
import { amountsOf, capsView, capView, raiseCap, readCaps, resolveMember } from './caps.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { windowView } from './plans.ts'
import type { AdminServices, DbService, OwnerServices } from './services.ts'
import { cutPage, isoTime, isoTimeOrNull, NEWEST, parseExpiry, quoted, unreadableMoment } from './values.ts'
import { widensKey } from './widened-keys.ts'

/** Revoked is final, so it comes first. Expired comes before disabled, because enabling would not help. */
function keyStateOf(key: Pick<StoredKey, 'revoked_at' | 'expires_at' | 'disabled_at'>, now: number) {
  if (key.revoked_at !== null) return 'revoked' as const
  if (key.expires_at !== null && key.expires_at <= now) return 'expired' as const
  return key.disabled_at === null ? ('active' as const) : ('disabled' as const)
}

/** A key as operators see it, without the secret, which is stored nowhere. */
export type KeyView = ReturnType<typeof keyView>

const keyView = (
  key: StoredKey,
  owner: { readonly id: string; readonly email: string },
  caps: CapAmounts,
  now: number,
) => ({
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
  models: listOf(key.models),
  limits: limitsView(limitsOf(key)),
  /** Its own caps, in periods of UTC. */
  caps: capsView(caps),
  addresses: listOf(key.addresses),
  run: parseRunRule(key.run),
  step_down: parseStepDown(key.step_down),
  expires_at: isoTimeOrNull(key.expires_at),
  created_at: isoTime(key.created_at),
  former: formerOf(key, now),
})

export const listOf = (stored: string | null): string[] | null =>
  stored === null ? null : (JSON.parse(stored) as string[])

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

const readKeyView = async (db: LedgerDb, { key, owner }: OwnedKey, now: number) =>
  keyView(key, owner, amountsOf((await capsOfKeys(db, [key]))[0]!.own), now)

/** For the audit log. */
const describeKeyChange = (what: string, { name, kind }: Pick<StoredKey, 'name' | 'kind'>): string =>
  `${what} ${JSON.stringify(name)} (${kind})`

export interface OneKey {
  readonly key: string
}

/** The keys of an account; with a person, only those of theirs. */
export interface KeyScope {
  readonly account: AccountRow
  readonly person?: number | undefined
}

interface OwnedKey {
  readonly kind: 'found'
  readonly key: StoredKey
  readonly owner: StoredAccount
}

/** `of` limits it to some keys: others do not exist for it. */
export async function findOwnedKey({ db }: DbService, id: string, of?: KeyScope): Promise<OwnedKey | OperationRefused> {
  // A secret pasted instead of the id must not appear in a message or a log.
  if (/^mr_(wallet|builder)_/.test(id)) {
    return refuseOperation('key_not_found', 'This is the secret of a key. Use its key_ id; see: millrace keys list')
  }
  const key = await findKeyById(db, id)
  const owner = key && (await findAccountByRow(db, key.account))
  if (key === undefined || owner === undefined || (of !== undefined && !isWithin(of, key))) {
    return refuseOperation('key_not_found', `There is no key ${quoted(id)}. See: millrace keys list`)
  }
  return { kind: 'found', key, owner }
}

const isWithin = ({ account, person }: KeyScope, key: Pick<StoredKey, 'account' | 'person'>): boolean =>
  key.account === account && (person === undefined || key.person === person)

/** The keys of one account or of all, newest first, revoked ones included. A page starts after the key of the cursor. */
export async function listKeys({ db, clock }: AdminServices, { account, after, limit }: PageQuery & AnyAccount) {
  const resolved = account === undefined ? undefined : await resolveAccount({ db }, account)
  if (resolved?.kind === 'refused') return resolved
  const of = resolved?.value.row as AccountRow | undefined
  const last =
    after === undefined ? undefined : await findOwnedKey({ db }, after, of === undefined ? undefined : { account: of })
  if (last?.kind === 'refused') return last
  const read = await listWholeKeys(db, of, { before: last?.key.row ?? NEWEST, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const now = clock.now()
  const caps = await capsOfKeys(db, rows)
  const items = rows.map((key, index) =>
    keyView(key, { id: key.owner_id, email: key.owner_email }, amountsOf(caps[index]!.own), now),
  )
  return done({ items, next })
}

export async function showKey({ db, clock, ledger }: AdminServices, { key: named }: OneKey) {
  const found = await findOwnedKey({ db }, named)
  if (found.kind === 'refused') return found
  const { key, owner } = found
  const [caps] = await capsOfKeys(db, [key])
  const { statuses } = await ledger.allowanceStatuses(key.account as AccountRow, caps!.own)
  return done({ ...keyView(key, owner, amountsOf(caps!.own), clock.now()), spent: statuses.map(capView) })
}

type OwnKeyServices = Pick<OwnerServices, 'db' | 'clock' | 'ledger' | 'lastUsed'>

/** Newest first, revoked ones included, so that their usage stays explainable. A page starts after the key of the cursor. */
export async function listOwnKeys(
  services: OwnKeyServices,
  scope: KeyScope,
  { after, limit, search = '', person, team }: z.output<typeof keysQuery>,
) {
  const owners = await readKeyFilter(services, scope, { person, team })
  if (owners.kind === 'refused') return owners
  const of = { ...scope, ...owners.value }
  const last = after === undefined ? undefined : await findOwnedKey(services, after, scope)
  if (last?.kind === 'refused') return last
  const before = last?.key.row ?? NEWEST
  const read = await listShownKeys(services.db, of, { before, limit: limit + 1, words: searchTerms(search) })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const facts = await factsOf(services, scope.account, rows)
  const items = rows.map(({ models_count: count, models_first: first }, index) => ({
    ...facts[index]!,
    models: count === null || first === null ? null : { count, first: (JSON.parse(first) as string[]).slice(0, count) },
  }))
  return done({ items, next })
}

/** The rows of a person and a team of the account, by which keys are filtered. A member sees only their own keys. */
export async function readKeyFilter(
  { db }: DbService,
  scope: KeyScope,
  named: { readonly person?: string | undefined; readonly team?: string | undefined },
): Promise<Outcome<{ readonly person: number | undefined; readonly team: number | undefined }>> {
  const team = named.team === undefined ? undefined : await findTeam(db, named.team)
  if (named.team !== undefined && team?.account !== scope.account)
    return refuseOperation('team_not_found', `The account has no team ${quoted(named.team)}.`, { param: 'team' })
  const person = named.person === undefined ? undefined : await findPersonById(db, named.person)
  const isOther = scope.person !== undefined && person?.row !== scope.person
  if (named.person !== undefined && (person?.account !== scope.account || isOther))
    return refuseOperation('person_not_found', `The account has no person ${quoted(named.person)}.`, {
      param: 'person',
    })
  return done({ person: person?.row ?? scope.person, team: team?.row })
}

/** A key as its owner sees it. */
export async function showOwnKey(services: OwnKeyServices, scope: KeyScope, id: string) {
  const found = await findOwnedKey(services, id, scope)
  if (found.kind === 'refused') return found
  const [facts] = await factsOf(services, scope.account, [found.key])
  const [caps] = await capsOfKeys(services.db, [found.key])
  const { statuses } = await services.ledger.allowanceStatuses(scope.account, caps!.shared)
  return done({ ...facts!, models: listOf(found.key.models), shared: statuses.map(capView) })
}

/** Everything about keys but their models, with one query to the ledger. */
async function factsOf(
  { db, clock, ledger, lastUsed }: OwnKeyServices,
  account: AccountRow,
  keys: readonly Omit<ShownKey, 'models_count' | 'models_first'>[],
) {
  const caps = (await capsOfKeys(db, keys)).map(({ own }) => own)
  const rows = keys.map(({ row }) => row)
  const [people, teams] = await Promise.all((['person', 'team'] as const).map((of) => ownersByKey(db, rows, of)))
  const { statuses } = await ledger.allowanceStatuses(account, caps.flat())
  const used = await lastUsed(account, rows)
  // One status for each cap, in their order.
  const views = statuses.map(capView)
  const now = clock.now()
  return keys.map((key, index) => {
    const limits = limitsOf(key)
    const [person, team] = [people!.get(key.row), teams!.get(key.row)]
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
      addresses: listOf(key.addresses),
      run: parseRunRule(key.run),
      step_down: parseStepDown(key.step_down),
      person: person === undefined ? null : { id: person.id, email: person.name },
      team: team === undefined ? null : { id: team.id, name: team.name },
      created_at: isoTime(key.created_at),
      last_used_at: isoTimeOrNull(used.get(key.row) ?? null),
      expires_at: isoTimeOrNull(key.expires_at),
      former: formerOf(key, now),
    }
  })
}

const ownersByKey = async (db: LedgerDb, rows: readonly number[], of: 'person' | 'team') =>
  new Map((await listOwnersOfKeys(db, rows, of)).map((owner) => [owner.row, owner]))

export interface DescribeKeyServices {
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
    /** Of the key of a CI job. */
    ...(caller.job && { run: caller.job.run }),
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

interface CreateKeyOptions {
  /** Refuses if a live key of the account has this name. */
  readonly needsNewName?: boolean
  /** The row of the person whose key it is, if the order names none. */
  readonly maker?: number | null
}

export async function createKey(
  services: AdminServices,
  { account: named, kind, name, person, team, ...terms }: z.output<typeof createKeyBody> & OneAccount,
  { needsNewName = false, maker = null }: CreateKeyOptions = {},
): Promise<Outcome<CreatedKey>> {
  const { db, clock, random, auditLog } = services
  const resolved = await resolveOpenAccount({ db }, named)
  if (resolved.kind === 'refused') return resolved
  const { value: account } = resolved
  const read = readTerms(services, kind, terms)
  if (read.kind === 'refused') return read
  const owners = await readOwners(services, account.row, { person, team })
  if (owners.kind === 'refused') return owners
  const { limits = {}, caps: given, ...columns } = read.columns
  const now = clock.now()
  const { digest, shown, key } = services.mintKey(kind)
  // In a new key, null and absent limits are the same. A cap that is null is none, though new keys have one.
  const own = Object.entries(limits).filter(([, rate]) => rate !== null)
  const caps = { ...(await listCapsOf(db, [account.row], [NEW_KEYS])).get(NEW_KEYS), ...given }
  const row = {
    ...{ id: mintKeyId(random), account: account.row, kind, name, digest, shown, models: null, expires_at: null },
    ...{ ...columns, ...owners.value, person: owners.value.person ?? maker, ...columnsOfCaps(caps), created_at: now },
    limits: own.length === 0 ? null : JSON.stringify(Object.fromEntries(own)),
  }
  const liveMax = services.liveKeysMax()
  const detail = describeKeyChange('made', row)
  const entry = { action: 'key_created', target: row.id, account: account.row, detail } as const
  const statements = [keyInsert(db, row, { liveMax, needsNewName }), ...capsOfNew('key', row.id, otherCaps(caps))]
  if (!(await auditLog.act(entry, statements))) {
    if (needsNewName && (await listLiveKeys(db, account.row)).some((key) => key.name === name)) {
      return refuseOperation('key_changed', `The account has a key ${quoted(name)} by now. Apply again.`)
    }
    const message = `This account has ${liveMax} keys that are not revoked, which is the maximum. Revoke an unused one, or ask the operator to raise limits.keys_per_account.`
    return refuseOperation('too_many_keys', message)
  }
  const stored = await findKeyById(db, row.id)
  if (stored === undefined) throw new Error(`Key ${row.id} is missing after it was created`)
  return done({ ...keyView(stored, account, caps, now), key })
}

/** The person and the team of a new key, which are its own for life. */
async function readOwners(
  { db }: DbService,
  account: number,
  { person: named, team: teamId }: { readonly person?: string | undefined; readonly team?: string | undefined },
): Promise<Outcome<{ readonly person: number | null; readonly team: number | null }>> {
  const person = named === undefined ? undefined : await resolveMember({ db }, named)
  if (person?.kind === 'refused') return person
  if (person && (person.value.account !== account || person.value.disabled_at !== null))
    return refuseOperation('person_not_found', `The account has no active person ${quoted(named!)}.`, {
      param: 'person',
    })
  const team =
    teamId === undefined ? undefined : ((await findTeam(db, teamId)) ?? (await findTeamByName(db, account, teamId)))
  if (teamId !== undefined && (team?.account !== account || team.archived_at !== null))
    return refuseOperation('team_not_found', `The account has no open team ${quoted(teamId)}.`, { param: 'team' })
  return done({ person: person?.value.row ?? null, team: team?.row ?? null })
}

/** Two caps have columns of the key; the others have rows of their own. */
const columnsOfCaps = ({ day, month }: CapAmounts) => ({
  ...(day !== undefined && { cap_day_nano: day }),
  ...(month !== undefined && { cap_month_nano: month }),
})

const otherCaps = ({ day: _, month: __, ...others }: CapAmounts): CapAmounts => others

/** Which keys the caller may change, and how far. */
interface ChangeRights {
  /** Undefined for an operator. */
  readonly of?: KeyScope
  /** Whether the key may gain rights. In the console that needs a recently confirmed password for that. */
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
  const caps = amountsOf((await capsOfKeys(services.db, [key]))[0]!.own)
  if (Object.keys(change).length === 0) return done(keyView(key, found.owner, caps, now))
  if (!mayWiden && widensKey(key, caps, change, services.keyRateLimits())) return confirmToWiden
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
    .act({ action, target: id, account, detail }, keyUpdate(db, { row, account }, change, judged))
    .finally(() => forgetKey(id as KeyId))
  const after = await findOwnedKey({ db }, id)
  if (after.kind === 'refused') return after
  // A script may revoke twice after a lost answer, which succeeds.
  if (changed || change.revoked_at !== undefined) return done(await readKeyView(db, after, clock.now()))
  if (after.key.revoked_at !== null) return keyRevoked(id)
  return refuseOperation(
    'key_changed',
    `${id} was changed by someone else at the same time. Nothing was done: check it again.`,
  )
}

/** A higher cap until an end. */
export async function raiseKeyCap(
  services: AdminServices,
  { key: named, ...raise }: OneKey & z.output<typeof raiseBody>,
  of?: KeyScope,
) {
  const found = await findOwnedKey(services, named, of)
  if (found.kind === 'refused') return found
  const { id, account, name } = found.key
  const [caps] = await capsOfKeys(services.db, [found.key])
  return raiseCap(services, { account, target: id, name, caps: caps!.own }, raise)
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
  of?: KeyScope,
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
  if (rotated) return done({ ...(await readKeyView(db, after, now)), key: secret })
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

const confirmToWiden = refuseOperation(
  'confirm_password',
  'This lets the key do more than before. Confirm your password again.',
)

/** The columns of the given terms. Absent terms have no column. */
export function readTerms(
  { clock, catalog }: AdminServices,
  kind: KeyKind,
  { name, models, limits, caps = {}, addresses, run, step_down, expires }: KeyTerms,
) {
  const unmatched = unmatchedModels(catalog(), kind, models ?? [])
  if (unmatched.length > 0) {
    const message = `No model for ${kind} keys matches ${unmatched.join(', ')}. See: millrace models`
    return refuseOperation('model_not_found', message, { param: 'models' })
  }
  // One model, no pattern: the request becomes one for it.
  const isUnknown =
    step_down != null &&
    (!catalog().entries.has(step_down.to) || unmatchedModels(catalog(), kind, [step_down.to]).length > 0)
  if (isUnknown) {
    const message = `There is no model ${quoted(step_down.to)} for ${kind} keys to step down to. See: millrace models`
    return refuseOperation('model_not_found', message, { param: 'step_down' })
  }
  const expiresAt = expires == null ? expires : (parseExpiry(expires, clock.now()) ?? 'unreadable')
  if (expiresAt === 'unreadable') return unreadableMoment(expires ?? '', 'expires')
  const amounts = readCaps(caps)
  if (amounts.kind === 'refused') return amounts
  const columns = {
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models: models && JSON.stringify(models) }),
    ...(limits !== undefined && { limits: limitsColumn(limits) }),
    ...(addresses !== undefined && { addresses: addresses && JSON.stringify([...new Set(addresses)]) }),
    ...(run !== undefined && { run: writeRunRule(run) }),
    ...(step_down !== undefined && { step_down: writeStepDown(step_down) }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(Object.keys(amounts.amounts).length > 0 && { caps: amounts.amounts }),
  }
  return { kind: 'read' as const, columns }
}

/** Entries that admit no model of the kind, which are most likely misspelt. */
function unmatchedModels(catalog: Catalog, kind: KeyKind, listed: readonly string[]): string[] {
  const entries = [...catalog.entries.values()].filter(({ model }) => model.kinds.includes(kind))
  return listed.filter((name) => !entries.some((entry) => admits(name, entry)))
}

const limitsColumn = (limits: NonNullable<KeyTerms['limits']>): Record<string, number | null> => ({
  ...(limits.requests_per_minute !== undefined && { requestsPerMinute: limits.requests_per_minute }),
  ...(limits.tokens_per_minute !== undefined && { tokensPerMinute: limits.tokens_per_minute }),
  ...(limits.concurrent !== undefined && { concurrent: limits.concurrent }),
})
