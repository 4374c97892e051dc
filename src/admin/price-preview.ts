import type { z } from 'zod'
import { managedKey, type previewBody, type pricePreview } from '../contract/managed.ts'
import { listAccountEmails } from '../db/accounts.ts'
import { findReceiptRowEnd, findReceiptTime, listChargedOf, listManaged, type StoredCharge } from '../db/managed.ts'
import { pause } from '../lib/async.ts'
import { formatUsd } from '../model/money.ts'
import type { PriceList, Usage } from '../model/price.ts'
import { priceUsage } from '../pricing/price.ts'
import { entriesAt, managedState, parseVersion } from './managed-state.ts'
import { done, type Outcome, refuseOperation } from './outcome.ts'
import { valuesOf } from './requests.ts'
import type { AdminServices } from './services.ts'
import { findFirstSince, isoTime, quoted, SLICE_REQUESTS } from './values.ts'

const DAYS = 30
const DAY_MS = 86_400_000
const ACCOUNTS_MAX = 20
/** What a look takes at most; older requests are left out then. */
const LOOK_MS = 20_000

interface Sums {
  requests: number
  charged: bigint
  wouldBe: bigint
}

type Preview = z.output<typeof pricePreview>

/**
 * What the requests of the last 30 days cost, by account, and what each would have cost at another price, from the tokens that were
 * counted. Reads slices from the newest request back, at low priority, with a pause after each.
 */
export async function previewPrice(
  { db, clock, catalog, managed }: Pick<AdminServices, 'db' | 'clock' | 'catalog' | 'managed'>,
  { model: id, price: written }: z.output<typeof previewBody>,
): Promise<Outcome<Preview>> {
  const model = catalog().models.find((each) => each.id === id)
  if (model === undefined)
    return refuseOperation('model_not_found', `The configuration has no model ${quoted(id)}. See: millrace models`)
  const price = await readPrice({ db, clock, managed }, written)
  if (price.kind === 'refused') return price
  const to = clock.now()
  const since = to - DAYS * DAY_MS
  const end = await findReceiptRowEnd(db)
  const first = await findFirstSince(since, end, (row) => findReceiptTime(db, row))
  const costs = new Map(model.lanes.map(({ id: lane, cost }) => [lane, cost]))
  const all: Sums & { cost: bigint | null } = { requests: 0, charged: 0n, wouldBe: 0n, cost: 0n }
  const byAccount = new Map<number, Sums>()
  const until = clock.nowMicros() + LOOK_MS * 1000
  let before = end
  let oldest = to
  while (before > first && clock.nowMicros() < until) {
    const from = Math.max(first, before - SLICE_REQUESTS)
    for (const charge of await listChargedOf(db, id, { from, before })) {
      const { account, opened_at, lane, charge_nano } = charge
      const usage = usageOf(charge)
      const values = valuesOf(charge)
      const cost = costs.get(lane ?? '')
      const sums = byAccount.get(account) ?? { requests: 0, charged: 0n, wouldBe: 0n }
      byAccount.set(account, sums)
      for (const each of [all, sums]) {
        each.requests += 1
        each.charged += charge_nano ?? 0n
        each.wouldBe += priceUsage(price.price, usage, values).cost
      }
      all.cost = all.cost === null || cost === undefined ? null : all.cost + priceUsage(cost, usage, values).cost
      oldest = Math.min(oldest, opened_at)
    }
    before = from
    await pause(0)
  }
  const complete = before <= first
  const accounts = await viewAccounts(db, byAccount)
  return done({
    ...{ model: model.id, from: isoTime(complete ? since : oldest), to: isoTime(to), complete },
    ...{ ...sumsView(all), ...marginView(all), accounts, accounts_total: byAccount.size },
  })
}

const usageOf = ({ uncached_input, cached_input, cache_write, output, reasoning }: StoredCharge): Usage => ({
  ...{ uncachedInput: uncached_input ?? 0, cachedInput: cached_input ?? 0, cacheWrite: cache_write ?? 0 },
  ...{ output: output ?? 0, reasoning: reasoning ?? 0 },
})

const sumsView = ({ requests, charged, wouldBe }: Sums) => ({
  ...{ requests, charged: formatUsd(charged), would_be: formatUsd(wouldBe), change: formatUsd(wouldBe - charged) },
})

const marginView = ({ charged, wouldBe, cost }: Sums & { readonly cost: bigint | null }) => ({
  cost: cost === null ? null : formatUsd(cost),
  margin: cost === null ? null : formatUsd(charged - cost),
  margin_would_be: cost === null ? null : formatUsd(wouldBe - cost),
})

async function viewAccounts(db: AdminServices['db'], byAccount: ReadonlyMap<number, Sums>) {
  const most = [...byAccount].sort(([, a], [, b]) => Number(b.charged - a.charged)).slice(0, ACCOUNTS_MAX)
  const names = await listAccountEmails(
    db,
    most.map(([row]) => row),
  )
  const named = new Map(names.map((each) => [each.row, each]))
  return most.map(([row, sums]) => ({
    ...{ account: named.get(row)?.id ?? '', email: named.get(row)?.email ?? '' },
    ...sumsView(sums),
  }))
}

/** By the schema of the file: the price of a model that is checked and not saved. */
async function readPrice(
  { db, clock, managed }: Pick<AdminServices, 'db' | 'clock' | 'managed'>,
  price: object,
): Promise<{ readonly kind: 'read'; readonly price: PriceList } | Extract<Outcome<never>, { kind: 'refused' }>> {
  const state = managedState((await listManaged(db)).map(parseVersion))
  const entries = entriesAt(state, clock.now(), managed.open)
  const upstream = { kind: 'upstream', name: 'price-preview', entry: { id: 'price-preview', wire: 'demo' } } as const
  const entry = {
    ...{ id: 'price-preview', context_tokens: 1000, max_output_tokens: 1000, price },
    lanes: [{ upstream: upstream.name, model: 'demo' }],
  }
  const own = { kind: 'model', name: 'price-preview', entry } as const
  const others = entries.filter(
    (each) => managedKey(each) !== managedKey(own) && managedKey(each) !== managedKey(upstream),
  )
  const checked = managed.check([...others, upstream, own])
  if (checked.kind === 'invalid') return refuseOperation('managed_invalid', checked.message)
  return { kind: 'read', price: checked.prices.get('price-preview')! }
}
