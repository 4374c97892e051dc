import type { z } from 'zod'
import type { Catalog } from '../catalog/catalog.ts'
import type { keyItem, keysQuery, listedKey } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow, type StoredAccount } from '../db/accounts.ts'
import { findKeyById, listShownKeys, listWholeKeys, type ShownKey, type StoredKey } from '../db/keys.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { searchTerms } from '../lib/anywhere/words-of-search.ts'
import type { Clock } from '../lib/clock.ts'
import { type ConfiguredLimits, ratesOfKey } from '../limits/limits.ts'
import { allowancesOfCaps } from '../model/allowance.ts'
import type { Caller, KeyKind } from '../model/caller.ts'
import type { AccountRow, KeyRow } from '../model/ids.ts'
import type { LimitRates } from '../model/limit.ts'
import { formatUsd } from '../model/money.ts'
import { type AnyAccount, resolveAccount, type WalletView, walletOf } from './accounts.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { cutPage, isoTime, isoTimeOrNull, type Page, quoted } from './values.ts'
import { type CapView, capView, type WindowView, windowView } from './windows.ts'

type KeyState = 'active' | 'disabled' | 'expired' | 'revoked'

interface LimitsView {
  readonly requests_per_minute?: number
  readonly tokens_per_minute?: number
  readonly concurrent?: number
}

export interface CapsView {
  readonly day?: string
  readonly month?: string
}

/** A key as it is listed: never the secret, which is stored nowhere. */
export interface KeyView {
  readonly id: string
  readonly account: string
  readonly email: string
  readonly kind: KeyKind
  readonly name: string
  /** What a person recognises it by: its beginning and its end. */
  readonly shown: string
  readonly state: KeyState
  /** Of the console's playground: no program can use it. */
  readonly playground: boolean
  /** Ids and globs; null admits every model of its kind. */
  readonly models: readonly string[] | null
  readonly limits: LimitsView
  /** What it may spend in a day or a month of UTC, in USD. */
  readonly caps: CapsView
  readonly expires_at: string | null
  readonly created_at: string
  /** While a rotation lasts: the secret that it had before still works until then. */
  readonly former: FormerSecret | null
}

export interface FormerSecret {
  readonly shown: string
  readonly until: string
}

/** Revoked is final, so it is said first; expired beats disabled because enabling would not help. */
function keyStateOf(key: Pick<StoredKey, 'revoked_at' | 'expires_at' | 'disabled_at'>, now: number): KeyState {
  if (key.revoked_at !== null) return 'revoked'
  if (key.expires_at !== null && key.expires_at <= now) return 'expired'
  return key.disabled_at === null ? 'active' : 'disabled'
}

export const keyView = (
  key: StoredKey,
  owner: { readonly id: string; readonly email: string },
  now: number,
): KeyView => ({
  id: key.id,
  account: owner.id,
  email: owner.email,
  kind: key.kind,
  name: key.name,
  shown: key.shown,
  state: keyStateOf(key, now),
  playground: key.playground === 1,
  models: key.models === null ? null : (JSON.parse(key.models) as string[]),
  limits: limitsView(key.limits === null ? {} : (JSON.parse(key.limits) as LimitRates)),
  caps: capsView(key),
  expires_at: isoTimeOrNull(key.expires_at),
  created_at: isoTime(key.created_at),
  former: formerOf(key, now),
})

/** None of a key that is revoked: that has ended both. */
function formerOf(
  { former_shown, former_until, revoked_at }: Pick<StoredKey, 'former_shown' | 'former_until' | 'revoked_at'>,
  now: number,
): FormerSecret | null {
  if (former_shown === null || former_until === null || former_until <= now || revoked_at !== null) return null
  return { shown: former_shown, until: isoTime(former_until) }
}

const limitsView = (limits: LimitRates): LimitsView => ({
  ...(limits.requestsPerMinute !== undefined && { requests_per_minute: limits.requestsPerMinute }),
  ...(limits.tokensPerMinute !== undefined && { tokens_per_minute: limits.tokensPerMinute }),
  ...(limits.concurrent !== undefined && { concurrent: limits.concurrent }),
})

const capsView = ({ cap_day_nano, cap_month_nano }: StoredKey): CapsView => ({
  ...(cap_day_nano !== null && { day: formatUsd(cap_day_nano) }),
  ...(cap_month_nano !== null && { month: formatUsd(cap_month_nano) }),
})

/** For the trail: what was done to which key. */
export const describeKeyTerms = (
  what: string,
  { name, kind }: { readonly name: string; readonly kind: KeyKind },
): string => `${what} ${JSON.stringify(name)} (${kind})`

/** What every operation on one key is asked with: its id. */
export interface OneKey {
  readonly key: string
}

export type OwnedKey = { readonly kind: 'found'; readonly key: StoredKey; readonly owner: StoredAccount } | Refused

/** `of` narrows it to the keys of one account: everybody else's look like none. */
export async function findOwnedKey(deps: { readonly db: LedgerDb }, id: string, of?: AccountRow): Promise<OwnedKey> {
  // Somebody who pastes the secret instead of the id must not see it again in a message or a log.
  if (/^mr_(wallet|builder)_/.test(id)) {
    return refused('key_not_found', 'That is a key itself. Name it by its key_ id; see: millrace keys list')
  }
  const key = await findKeyById(deps.db, id)
  const owner = key && (await findAccountByRow(deps.db, key.account))
  if (key === undefined || owner === undefined || (of !== undefined && key.account !== of)) {
    return refused('key_not_found', `There is no key ${quoted(id)}. See: millrace keys list`)
  }
  return { kind: 'found', key, owner }
}

interface ListKeysDeps {
  readonly db: LedgerDb
  readonly clock: Clock
}

/** As an operator sees them: of one account or of all, newest first, revoked ones included. A page begins after the key it names. */
export async function listKeys(
  deps: ListKeysDeps,
  { account, after, limit }: PageQuery & AnyAccount,
): Promise<Outcome<Page<KeyView>>> {
  const resolved = account === undefined ? undefined : await resolveAccount(deps, account)
  if (resolved?.kind === 'refused') return resolved
  const of = resolved?.account.row as AccountRow | undefined
  const last = after === undefined ? undefined : await findOwnedKey(deps, after, of)
  if (last?.kind === 'refused') return last
  const read = await listWholeKeys(deps.db, of, { before: last?.key.row ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const now = deps.clock.now()
  const items = rows.map((key) => keyView(key, { id: key.owner_id, email: key.owner_email }, now))
  return done({ items, next })
}

export interface ShowKeyDeps extends ListKeysDeps {
  readonly ledger: Pick<Ledger, 'allowanceStatuses'>
}

interface KeyDetails extends KeyView {
  /** How its caps stand now. */
  readonly spent: readonly CapView[]
}

export async function showKey(deps: ShowKeyDeps, { key: named }: OneKey): Promise<Outcome<KeyDetails>> {
  const found = await findOwnedKey(deps, named)
  if (found.kind === 'refused') return found
  const { key, owner } = found
  const caps = allowancesOfCaps(key.row as KeyRow, { day: key.cap_day_nano, month: key.cap_month_nano })
  const { statuses } = await deps.ledger.allowanceStatuses(key.account as AccountRow, caps)
  return done({ ...keyView(key, owner, deps.clock.now()), spent: statuses.map(capView) })
}

export interface ListOwnKeysDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'allowanceStatuses'>
  /** When each of these keys, by row, was used last; one that never was is not in the answer. */
  readonly lastUsed: (account: AccountRow, keys: readonly number[]) => Promise<ReadonlyMap<number, number>>
}

/** A key as its owner sees it, and as a list tells of it. */
export type OwnKey = z.output<typeof keyItem>
type ListedKey = z.output<typeof listedKey>

/** Newest first, revoked ones included: what a key has used stays explainable. A page begins after the key it names. */
export async function listOwnKeys(
  deps: ListOwnKeysDeps,
  account: AccountRow,
  { after, limit, search = '' }: z.output<typeof keysQuery>,
): Promise<Outcome<Page<ListedKey>>> {
  const last = after === undefined ? undefined : await findOwnedKey(deps, after, account)
  if (last?.kind === 'refused') return last
  const before = last?.key.row ?? Number.MAX_SAFE_INTEGER
  const read = await listShownKeys(deps.db, account, { before, limit: limit + 1, words: searchTerms(search) })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const facts = await factsOf(deps, account, rows)
  return done({ items: rows.map((row, index) => ({ ...facts[index]!, models: firstModels(row) })), next })
}

function firstModels({ models_count: count, models_first: first }: ShownKey): ListedKey['models'] {
  if (count === null || first === null) return null
  return { count, first: (JSON.parse(first) as string[]).slice(0, count) }
}

export async function showOwnKey(deps: ListOwnKeysDeps, account: AccountRow, id: string): Promise<Outcome<OwnKey>> {
  const found = await findOwnedKey(deps, id, account)
  if (found.kind === 'refused') return found
  const { models } = found.key
  const [facts] = await factsOf(deps, account, [found.key])
  return done({ ...facts!, models: models === null ? null : (JSON.parse(models) as string[]) })
}

/** All of a key but its models. */
type KeyFacts = Omit<OwnKey, 'models'>
/** What they are made of. */
type FactsRow = Omit<ShownKey, 'models_count' | 'models_first'>

/** The ledger is asked once for all of them. */
async function factsOf(deps: ListOwnKeysDeps, account: AccountRow, keys: readonly FactsRow[]): Promise<KeyFacts[]> {
  const caps = keys.map((key) =>
    allowancesOfCaps(key.row as KeyRow, { day: key.cap_day_nano, month: key.cap_month_nano }),
  )
  const { statuses } = await deps.ledger.allowanceStatuses(account, caps.flat())
  const used = await deps.lastUsed(
    account,
    keys.map(({ row }) => row),
  )
  const views = statuses.map(capView)
  const now = deps.clock.now()
  // As many standings as caps, in their order.
  return keys.map((key, index) => keyFacts(key, views.splice(0, caps[index]!.length), used.get(key.row), now))
}

function keyFacts(key: FactsRow, caps: CapView[], usedAt: number | undefined, now: number): KeyFacts {
  const limits = key.limits === null ? {} : (JSON.parse(key.limits) as LimitRates)
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
    caps,
    created_at: isoTime(key.created_at),
    last_used_at: isoTimeOrNull(usedAt ?? null),
    expires_at: isoTimeOrNull(key.expires_at),
    former: formerOf(key, now),
  }
}

interface DescribeKeyDeps {
  readonly ledger: Pick<Ledger, 'standing' | 'allowanceStatuses'>
  readonly catalog: () => Pick<Catalog, 'plans'>
  readonly limits: () => Pick<ConfiguredLimits, 'key' | 'account'>
}

/** What a key may ask about itself. */
interface KeyDescription {
  readonly object: 'key'
  readonly id: string
  readonly account: string
  readonly name: string
  readonly kind: KeyKind
  /** Ids and globs; null admits every model of its kind. */
  readonly models: readonly string[] | null
  /** A wallet key's balance, shared by all wallet keys of the account; null for a builder key, which never draws on it. */
  readonly wallet: (WalletView & { readonly currency: 'USD' }) | null
  /** Spend caps of the key itself. */
  readonly caps: readonly CapView[]
  /** A builder key's subscription; null while the account has none, or one that this server does not offer any more. */
  readonly plan: { readonly id: string; readonly until: string | null } | null
  /** What the subscription grants, and what is left of it; empty without one. */
  readonly windows: readonly WindowView[]
  readonly limits: { readonly key: LimitsView; readonly account: LimitsView }
}

export async function describeKey(deps: DescribeKeyDeps, caller: Caller): Promise<KeyDescription> {
  const configured = deps.limits()
  const wallet = caller.kind === 'wallet' ? await walletOf(deps.ledger, caller.account) : undefined
  const plan = caller.plan && deps.catalog().plans.get(caller.plan.id)
  const { statuses } = await deps.ledger.allowanceStatuses(caller.account, [...(plan?.windows ?? []), ...caller.caps])
  return {
    object: 'key',
    id: caller.keyId,
    account: caller.accountId,
    name: caller.keyName,
    kind: caller.kind,
    models: caller.models ?? null,
    wallet: wallet === undefined ? null : { currency: 'USD', ...wallet },
    caps: statuses.filter(({ allowance }) => allowance.unit === 'cap').map(capView),
    plan: plan === undefined ? null : { id: plan.id, until: isoTimeOrNull(caller.plan?.endsAt ?? null) },
    windows: statuses.filter(({ allowance }) => allowance.unit === 'quota').map(windowView),
    limits: {
      key: limitsView(ratesOfKey(configured.key, caller.limits)),
      account: limitsView(configured.account),
    },
  }
}
