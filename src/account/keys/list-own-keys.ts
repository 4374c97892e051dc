import type { z } from 'zod'
import type { keyItem, keysQuery, listedKey } from '../../contract/keys.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { wordsOfSearch } from '../../lib/anywhere/words-of-search.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow, KeyRow } from '../../model/ids.ts'
import type { LimitRates } from '../../model/limit.ts'
import { allowancesOfCaps } from '../../model/spend-caps.ts'
import { listToldKeys, type ToldKey } from '../../store/list-keys.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { isoTime, isoTimeOrNull } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import { cutPage, type Page } from '../pages.ts'
import { type CapView, capView } from '../plans/allowance-view.ts'
import { findOwnedKey } from './find-owned-key.ts'
import { formerOf, keyStateOf } from './key-view.ts'

export interface ListOwnKeysDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'allowanceStandings'>
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
  const read = await listToldKeys(deps.db, account, { before, limit: limit + 1, words: wordsOfSearch(search) })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const facts = await factsOf(deps, account, rows)
  return done({ items: rows.map((row, index) => ({ ...facts[index]!, models: firstModels(row) })), next })
}

function firstModels({ models_count: count, models_first: first }: ToldKey): ListedKey['models'] {
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
type FactsRow = Omit<ToldKey, 'models_count' | 'models_first'>

/** The ledger is asked once for all of them. */
async function factsOf(deps: ListOwnKeysDeps, account: AccountRow, keys: readonly FactsRow[]): Promise<KeyFacts[]> {
  const caps = keys.map((key) =>
    allowancesOfCaps(key.row as KeyRow, { day: key.cap_day_nano, month: key.cap_month_nano }),
  )
  const { standings } = await deps.ledger.allowanceStandings(account, caps.flat())
  const used = await deps.lastUsed(
    account,
    keys.map(({ row }) => row),
  )
  const views = standings.map(capView)
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
