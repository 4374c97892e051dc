import type { z } from 'zod'
import type { keyItem, keysQuery, listedKey } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow, type StoredAccount } from '../db/accounts.ts'
import { findKeyById, listShownKeys, listWholeKeys, type ShownKey, type StoredKey } from '../db/keys.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { searchTerms } from '../lib/anywhere/text.ts'
import { type ConfiguredLimits, ratesOfKey } from '../limits/limits.ts'
import { allowancesOfCaps } from '../model/allowance.ts'
import type { Caller, KeyKind, LimitRates } from '../model/caller.ts'
import type { AccountRow, KeyRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { type AnyAccount, resolveAccount, walletOf } from './accounts.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { capView, windowView } from './plans.ts'
import type { AdminServices, OwnerServices } from './services.ts'
import { cutPage, isoTime, isoTimeOrNull, type Page, quoted } from './values.ts'

/** Revoked is final, so it comes first. Expired comes before disabled, because enabling would not help. */
function keyStateOf(key: Pick<StoredKey, 'revoked_at' | 'expires_at' | 'disabled_at'>, now: number) {
  if (key.revoked_at !== null) return 'revoked' as const
  if (key.expires_at !== null && key.expires_at <= now) return 'expired' as const
  return key.disabled_at === null ? ('active' as const) : ('disabled' as const)
}

/** A key as operators see it, without the secret, which is stored nowhere. */
export type KeyView = ReturnType<typeof keyView>

export const keyView = (key: StoredKey, owner: { readonly id: string; readonly email: string }, now: number) => ({
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

const limitsOf = ({ limits }: Pick<StoredKey, 'limits'>): LimitRates =>
  limits === null ? {} : (JSON.parse(limits) as LimitRates)

export interface FormerSecret {
  readonly shown: string
  readonly until: string
}

/** The former secret, which works until the end of a rotation. Revoking ends both. */
function formerOf(
  { former_shown, former_until, revoked_at }: Pick<StoredKey, 'former_shown' | 'former_until' | 'revoked_at'>,
  now: number,
): FormerSecret | null {
  if (former_shown === null || former_until === null || former_until <= now || revoked_at !== null) return null
  return { shown: former_shown, until: isoTime(former_until) }
}

const limitsView = (limits: LimitRates) => ({
  ...(limits.requestsPerMinute !== undefined && { requests_per_minute: limits.requestsPerMinute }),
  ...(limits.tokensPerMinute !== undefined && { tokens_per_minute: limits.tokensPerMinute }),
  ...(limits.concurrent !== undefined && { concurrent: limits.concurrent }),
})

export interface CapsView {
  readonly day?: string
  readonly month?: string
}

const capsView = ({ cap_day_nano, cap_month_nano }: StoredKey): CapsView => ({
  ...(cap_day_nano !== null && { day: formatUsd(cap_day_nano) }),
  ...(cap_month_nano !== null && { month: formatUsd(cap_month_nano) }),
})

/** For the audit log. */
export const describeKeyChange = (
  what: string,
  { name, kind }: { readonly name: string; readonly kind: KeyKind },
): string => `${what} ${JSON.stringify(name)} (${kind})`

export interface OneKey {
  readonly key: string
}

export type OwnedKey = { readonly kind: 'found'; readonly key: StoredKey; readonly owner: StoredAccount } | Refused

/** `of` limits it to the keys of one account: keys of others do not exist for it. */
export async function findOwnedKey({ db }: { readonly db: LedgerDb }, id: string, of?: AccountRow): Promise<OwnedKey> {
  // A secret pasted instead of the id must not appear in a message or a log.
  if (/^mr_(wallet|builder)_/.test(id)) {
    return refused('key_not_found', 'This is the secret of a key. Use its key_ id; see: millrace keys list')
  }
  const key = await findKeyById(db, id)
  const owner = key && (await findAccountByRow(db, key.account))
  if (key === undefined || owner === undefined || (of !== undefined && key.account !== of)) {
    return refused('key_not_found', `There is no key ${quoted(id)}. See: millrace keys list`)
  }
  return { kind: 'found', key, owner }
}

/** The keys of one account or of all, newest first, revoked ones included. A page starts after the key of the cursor. */
export async function listKeys(
  { db, clock }: Pick<AdminServices, 'db' | 'clock'>,
  { account, after, limit }: PageQuery & AnyAccount,
): Promise<Outcome<Page<KeyView>>> {
  const resolved = account === undefined ? undefined : await resolveAccount({ db }, account)
  if (resolved?.kind === 'refused') return resolved
  const of = resolved?.account.row as AccountRow | undefined
  const last = after === undefined ? undefined : await findOwnedKey({ db }, after, of)
  if (last?.kind === 'refused') return last
  const read = await listWholeKeys(db, of, { before: last?.key.row ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const now = clock.now()
  const items = rows.map((key) => keyView(key, { id: key.owner_id, email: key.owner_email }, now))
  return done({ items, next })
}

/** The spend caps of a key as allowances of the ledger. */
const allowancesOf = (key: Pick<StoredKey, 'row' | 'cap_day_nano' | 'cap_month_nano'>) =>
  allowancesOfCaps(key.row as KeyRow, { day: key.cap_day_nano, month: key.cap_month_nano })

export async function showKey(
  { db, clock, ledger }: Pick<AdminServices, 'db' | 'clock' | 'ledger'>,
  { key: named }: OneKey,
) {
  const found = await findOwnedKey({ db }, named)
  if (found.kind === 'refused') return found
  const { key, owner } = found
  const { statuses } = await ledger.allowanceStatuses(key.account as AccountRow, allowancesOf(key))
  return done({ ...keyView(key, owner, clock.now()), spent: statuses.map(capView) })
}

type OwnKeyServices = Pick<OwnerServices, 'db' | 'clock' | 'ledger' | 'lastUsed'>

/** A key as its owner sees it. */
export type OwnKey = z.output<typeof keyItem>
type ListedKey = z.output<typeof listedKey>

/** Newest first, revoked ones included, so that their usage stays explainable. A page starts after the key of the cursor. */
export async function listOwnKeys(
  services: OwnKeyServices,
  account: AccountRow,
  { after, limit, search = '' }: z.output<typeof keysQuery>,
): Promise<Outcome<Page<ListedKey>>> {
  const last = after === undefined ? undefined : await findOwnedKey(services, after, account)
  if (last?.kind === 'refused') return last
  const before = last?.key.row ?? Number.MAX_SAFE_INTEGER
  const read = await listShownKeys(services.db, account, { before, limit: limit + 1, words: searchTerms(search) })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const facts = await factsOf(services, account, rows)
  const items = rows.map(({ models_count: count, models_first: first }, index) => ({
    ...facts[index]!,
    models: count === null || first === null ? null : { count, first: (JSON.parse(first) as string[]).slice(0, count) },
  }))
  return done({ items, next })
}

export async function showOwnKey(services: OwnKeyServices, account: AccountRow, id: string): Promise<Outcome<OwnKey>> {
  const found = await findOwnedKey(services, id, account)
  if (found.kind === 'refused') return found
  const [facts] = await factsOf(services, account, [found.key])
  return done({ ...facts!, models: modelsOf(found.key) })
}

type FactsRow = Omit<ShownKey, 'models_count' | 'models_first'>

/** Everything about keys but their models, with one query to the ledger. */
async function factsOf(
  { clock, ledger, lastUsed }: OwnKeyServices,
  account: AccountRow,
  keys: readonly FactsRow[],
): Promise<Omit<OwnKey, 'models'>[]> {
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
  readonly catalog: () => Pick<ReturnType<AdminServices['catalog']>, 'plans'>
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
      key: limitsView(ratesOfKey(configured.key, caller.limits)),
      account: limitsView(configured.account),
    },
  }
}
