import type { z } from 'zod'
import { type keyItem, type keysQuery, type listedKey, wordsOfSearch } from '../../contract/keys.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow, KeyRow } from '../../model/ids.ts'
import type { LimitRates } from '../../model/limit.ts'
import { allowancesOfCaps } from '../../model/spend-caps.ts'
import { listKeyPage, type StoredKey } from '../../store/keys.ts'
import { searchKeys } from '../../store/search-keys.ts'
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

/** A list of models may be five hundred long, and a page has two hundred keys. */
const MODELS_LISTED = 10

/** Newest first, revoked ones included: what a key has used stays explainable. A page begins after the key it names. */
export async function listOwnKeys(
  deps: ListOwnKeysDeps,
  account: AccountRow,
  { after, limit, search = '' }: z.output<typeof keysQuery>,
): Promise<Outcome<Page<ListedKey>>> {
  const last = after === undefined ? undefined : await findOwnedKey(deps, after, account)
  if (last?.kind === 'refused') return last
  const page = { before: last?.key.row ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 }
  const words = wordsOfSearch(search)
  const read = await (words.length === 0
    ? listKeyPage(deps.db, account, page)
    : searchKeys(deps.db, account, { ...page, words }))
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  return done({ items: (await viewOwnKeys(deps, account, rows)).map(listed), next })
}

const listed = ({ models, ...key }: OwnKey): ListedKey => ({
  ...key,
  models: models && { count: models.length, first: models.slice(0, MODELS_LISTED) },
})

export async function showOwnKey(deps: ListOwnKeysDeps, account: AccountRow, id: string): Promise<Outcome<OwnKey>> {
  const found = await findOwnedKey(deps, id, account)
  if (found.kind === 'refused') return found
  const [item] = await viewOwnKeys(deps, account, [found.key])
  return done(item!)
}

/** The ledger is asked once for all of them. */
async function viewOwnKeys(deps: ListOwnKeysDeps, account: AccountRow, keys: readonly StoredKey[]): Promise<OwnKey[]> {
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
  return keys.map((key, index) => ownKey(key, views.splice(0, caps[index]!.length), used.get(key.row), now))
}

function ownKey(key: StoredKey, caps: CapView[], usedAt: number | undefined, now: number): OwnKey {
  const limits = key.limits === null ? {} : (JSON.parse(key.limits) as LimitRates)
  return {
    id: key.id,
    name: key.name,
    kind: key.kind,
    shown: key.shown,
    state: keyStateOf(key, now),
    playground: key.playground === 1,
    models: key.models === null ? null : (JSON.parse(key.models) as string[]),
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
