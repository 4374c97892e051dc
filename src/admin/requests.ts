import type { z } from 'zod'
import type { chargeLine, requestsQuery } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow } from '../db/accounts.ts'
import {
  findPlanClosingTime,
  findSubscriptionAt,
  findWindow,
  listBuckets,
  type StoredBucket,
  type StoredWindow,
} from '../db/allowances.ts'
import { findKeyByRow } from '../db/keys.ts'
import {
  type ClosedRequest,
  findClaimOfReceipt,
  findReceipt,
  findTaggedSliceStart,
  kindsOf,
  type ListedRequest,
  listClosedRequests,
  listRunningRequests,
  type RequestFilter,
} from '../db/receipts.ts'
import { findLastMovement, findSliceStart, type MovementRange } from '../db/statement.ts'
import type { LedgerDb, ReceiptsTable } from '../db/tables.ts'
import { loadPrice } from '../ledger/prices.ts'
import { CAP_KINDS, EVER_MS, isCapName, periodAt, readMark } from '../model/allowance.ts'
import { type Caller, readScopeOf } from '../model/caller.ts'
import type { Attempt } from '../model/ending.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import { formatPico, formatPricePerMillion, formatUsd, nanoFromPico, picoFromNano } from '../model/money.ts'
import { factorOf, PRICED_FIELDS, type Price, type PricedValues, parseAsked, type TokenPrices } from '../model/price.ts'
import { tagsOf } from '../model/tags.ts'
import { multiplyPico } from '../pricing/price.ts'
import { readOpenRange } from './date-ranges.ts'
import { findOwnedKey, type KeyScope } from './keys.ts'
import { tokenPricesView } from './models.ts'
import { done, type OperationRefused, refuseOperation } from './outcome.ts'
import { countOnWindows, parseWindowId, storedWindow } from './plans.ts'
import type { DbService } from './services.ts'
import { movementsIn } from './statement.ts'
import {
  cutPage,
  findFirstSince,
  invalidCursor,
  isoTime,
  isoTimeOrNull,
  NEWEST,
  quoted,
  readCursor,
  readInSlices,
  writeCursor,
} from './values.ts'

/** The requests of an account, or of one person's keys: the running ones first, then the closed ones. */
export async function listRequests(
  { db }: DbService,
  scope: KeyScope,
  { after, limit, key: keyId, from, to, zone, ...others }: z.output<typeof requestsQuery>,
) {
  const days = readOpenRange({ from, to, zone })
  if (days.kind === 'refused') return days
  const found = keyId === undefined ? undefined : await findOwnedKey({ db }, keyId, scope)
  if (found?.kind === 'refused') return found
  const { account, person } = scope
  const filter = { ...others, key: found?.key.row, person }
  if (from === undefined && to === undefined)
    return readRequestPage(db, { account, filter, after, limit, from: 0, before: NEWEST })
  // What is running has not ended in these days.
  const page = { account, filter, after, limit, closedOnly: true }
  return readRequestPage(db, { ...page, ...(await movementsIn(db, account, days.value)) })
}

/** The range applies to closed requests only. */
interface PageOfRequests extends MovementRange {
  readonly account: AccountRow
  readonly filter: RequestFilter
  /** The `next` of the page before. */
  readonly after: string | undefined
  readonly limit: number
  readonly closedOnly?: boolean
}

/**
 * Running requests, the newest first, then closed ones, the last one first. A request that closes between two pages may appear
 * twice, and is never left out.
 */
async function readRequestPage(db: LedgerDb, page: PageOfRequests) {
  const { account, filter, limit } = page
  const after = await readPosition(db, { account, person: filter.person }, page.after)
  if ('kind' in after) return after
  const { rows: running, next } = await readRunning(db, page, after)
  if (next !== null || filter.outcome === 'running') return done({ items: running.map(itemOf), next })
  const closed = await readInSlices<ClosedRequest>({
    from: page.from,
    before: Math.min(after.closed ?? page.before, page.before),
    limit: limit - running.length,
    numberOf: ({ movement }) => movement,
    sliceStart: (slice) =>
      filter.tag === undefined
        ? findSliceStart(db, account, { ...slice, kinds: kindsOf(filter) })
        : findTaggedSliceStart(db, account, { ...slice, tag: filter.tag }),
    list: (slice) => listClosedRequests(db, account, { ...slice, filter }),
  })
  const listed = new Set(running.map(({ row }) => row))
  const rows = [...running, ...closed.rows.filter(({ row }) => !listed.has(row))]
  return done({ items: rows.map(itemOf), next: writeCursor(closed.next) })
}

const itemOf = (row: ListedRequest) => requestItemOf(row, { id: row.key_id, name: row.key_name })

/** The end of the page before: the row of a running request, or the number of a closed one. */
interface Position {
  readonly running?: number
  readonly closed?: number
}

/** A running request has no number yet, and its row would reveal how many requests the server has, so the cursor is its id. */
async function readPosition(
  db: LedgerDb,
  scope: KeyScope,
  after: string | undefined,
): Promise<Position | OperationRefused> {
  if (after?.startsWith('req_')) {
    const receipt = await findReceiptWithin(db, scope, after)
    return receipt === undefined ? invalidCursor() : { running: receipt.row }
  }
  const movement = readCursor(after)
  if (movement === undefined) return {}
  return typeof movement === 'number' ? { closed: movement } : movement
}

async function readRunning(db: LedgerDb, { account, filter, limit, closedOnly }: PageOfRequests, after: Position) {
  const isClosedOnly = closedOnly || filter.outcome === 'ok' || filter.outcome === 'not_ok'
  if (isClosedOnly || after.closed !== undefined) return { rows: [], next: null }
  const before = after.running ?? NEWEST
  const rows = await listRunningRequests(db, account, { before, limit: limit + 1, filter })
  return cutPage(rows, limit, ({ request_id }) => request_id)
}

/** A request of the account, or of one person's keys. Others do not exist for them. */
async function findReceiptWithin(db: LedgerDb, { account, person }: KeyScope, id: string) {
  const receipt = await findReceipt(db, id)
  if (receipt === undefined || receipt.account !== account) return undefined
  if (person === undefined) return receipt
  return (await findKeyByRow(db, receipt.key))?.person === person ? receipt : undefined
}

export async function showRequest({ db }: DbService, scope: KeyScope, id: string) {
  const receipt = await findReceiptWithin(db, scope, id)
  if (receipt !== undefined) {
    const detail = await detailOf(db, receipt)
    // The number counts the movements of the whole account.
    return done(scope.person === undefined ? detail : { ...detail, movement: null })
  }
  const message = `${scope.person === undefined ? 'This account has' : 'Your keys have'} no request ${quoted(id)}. Requests refused before admission are not recorded.`
  return refuseOperation('request_not_found', message)
}

/** Any request, for an operator who answers a question about it. */
export async function findAnyRequest({ db }: DbService, id: string) {
  const receipt = await findReceipt(db, id)
  const account = receipt && (await findAccountByRow(db, receipt.account))
  if (receipt === undefined || account === undefined) {
    return refuseOperation('request_not_found', `No request has the id ${quoted(id)}.`)
  }
  return done({ account: { id: account.id, email: account.email }, request: await detailOf(db, receipt) })
}

async function detailOf(db: LedgerDb, receipt: ReceiptsTable) {
  const key = await findKeyByRow(db, receipt.key)
  if (key === undefined) throw new Error(`The key of receipt ${receipt.request_id} is missing`)
  const { cost, shortfall, price_version, tier, output_cap, input_estimate, tags, compaction, cache_lost, paid_by } =
    await describeReceipt(db, receipt)
  const claim = await findClaimOfReceipt(db, receipt.row)
  // Charges of zero and charges to a plan are not on the wallet's statement.
  const isOnStatement = receipt.kind === 'wallet' && (receipt.charge_nano ?? 0n) > 0n
  return {
    ...requestItemOf(receipt, key),
    ...{ cost, shortfall, price_version, tier, output_cap, input_estimate, tags, compaction, cache_lost, paid_by },
    ...prefixView(receipt),
    lines: chargeLinesOf(receipt, await loadPrice(db, receipt.model, receipt.price_version)),
    attempts: attemptsView(receipt),
    idempotency: claim === undefined ? null : { state: claim.state, until: isoTime(claim.expires_at) },
    movement: isOnStatement ? receipt.movement : null,
  }
}

type ChargeLine = z.output<typeof chargeLine>

/**
 * The parts of a request's cost. Each amount is exact; their sum, rounded up once to a nano-dollar, is the cost. Empty while
 * the request runs, and if it was released.
 */
function chargeLinesOf(receipt: ReceiptsTable, price: Price): ChargeLine[] {
  if (receipt.state !== 'settled') return []
  const prices: TokenPrices = price.tiers.find(({ aboveInputTokens }) => aboveInputTokens === receipt.tier) ?? price
  const classes = [
    ['uncached_input', receipt.uncached_input, prices.input],
    ['cached_input', receipt.cached_input, prices.cachedInput],
    ['cache_write', receipt.cache_write, prices.cacheWrite],
    ['output', receipt.output, prices.output],
  ] as const
  const lines: ChargeLine[] = classes.flatMap(([what, tokens, price]) =>
    tokens === null || tokens === 0
      ? []
      : [
          {
            ...{ what, tokens, per_million: formatPricePerMillion(price), multiplied_by: null },
            amount: formatPico(BigInt(tokens) * price),
          },
        ],
  )
  lines.push(
    ...multiplierLines(
      receipt,
      price,
      classes.reduce((sum, [, tokens, each]) => sum + BigInt(tokens ?? 0) * each, 0n),
    ),
  )
  if (price.perRequest === 0n) return lines
  const amount = formatPico(picoFromNano(price.perRequest))
  return [...lines, { what: 'per_request', tokens: null, per_million: null, multiplied_by: null, amount }]
}

/** What each value adds to the cost of the tokens, or takes from it. */
function multiplierLines(receipt: ReceiptsTable, price: Price, pico: bigint): ChargeLine[] {
  const values = valuesOf(receipt) ?? {}
  let before = pico
  let applied: PricedValues = {}
  return PRICED_FIELDS.flatMap((what): ChargeLine[] => {
    const value = values[what]
    if (value === undefined) return []
    applied = { ...applied, [what]: value }
    const cost = multiplyPico(price, pico, applied)
    const amount = formatPico(cost - before)
    before = cost
    const factor = formatPricePerMillion(factorOf(price.multipliers, what, value))
    return [{ what, tokens: null, per_million: null, multiplied_by: { value, factor }, amount }]
  })
}

/** The values by which a receipt was charged; while its request runs, those that were asked for. */
export const valuesOf = ({ asked, attempts }: Pick<ReceiptsTable, 'asked' | 'attempts'>): PricedValues | undefined =>
  attemptsOf({ attempts }).at(-1)?.charged ?? parseAsked(asked)

/** Everything about one request, for operators. */
export async function traceRequest({ db }: DbService, args: { readonly request: string }) {
  const receipt = await findReceipt(db, args.request)
  if (receipt === undefined) {
    const message = `There is no receipt of a request ${quoted(args.request)}. A request refused before its hold has only a log line.`
    return refuseOperation('request_not_found', message)
  }
  const account = await findAccountByRow(db, receipt.account)
  const key = await findKeyByRow(db, receipt.key)
  if (account === undefined || key === undefined) throw new Error(`The owner of ${receipt.request_id} is missing`)
  return done({
    ...(await describeReceipt(db, receipt)),
    account: { id: account.id, email: account.email },
    key: { id: key.id, name: key.name },
    lane: receipt.lane,
    attempts: attemptsView(receipt),
  })
}

/** The requests on a window, the running ones first: charges add up to its `used`, open holds to its `held`. */
export async function windowRows({ db }: DbService, account: AccountRow, id: string, { after, limit }: PageQuery) {
  const named = parseWindowId(id)
  const window = named && (await findWindow(db, account, named))
  if (window === undefined) return refuseOperation('window_not_found', 'This account has no such window of a plan.')
  const counts = await countOnWindows(db, account, [{ bucket: window.row, start: window.period_start }])
  const page = await readRequestPage(db, {
    ...{ account, after, limit, ...(await movementsOn(db, account, window)) },
    filter: { kind: 'builder', bucket: window.row },
  })
  if (page.kind === 'refused') return page
  return done({ window: storedWindow(window, counts.get(window.row) ?? null), ...page.value })
}

/** The range of numbers of a window's requests. A request may end long after its window. */
async function movementsOn(db: LedgerDb, account: AccountRow, { period_start, closed_at }: StoredWindow) {
  const end = (await findLastMovement(db, account)) + 1
  const timeOf = (movement: number) => findPlanClosingTime(db, account, movement)
  const from = await findFirstSince(period_start, end, timeOf)
  if (closed_at === null) return { from, before: NEWEST }
  return { from, before: await findFirstSince(closed_at + 1, end, timeOf) }
}

/** A receipt in the spelling of the API. Null: not known (yet), or not applicable. */
const receiptView = (receipt: ReceiptsTable) => ({
  id: receipt.request_id,
  state: receipt.state,
  outcome: receipt.outcome,
  model: receipt.model,
  kind: receipt.kind,
  currency: 'USD' as const,
  opened_at: isoTime(receipt.opened_at),
  closed_at: isoTimeOrNull(receipt.closed_at),
  first_byte_ms: receipt.first_byte_ms,
  total_ms: receipt.total_ms,
  tokens: tokensView(receipt),
  compaction: compactionView(receipt),
  price_version: receipt.price_version,
  /** `above_input_tokens` of the price tier that applied; 0 is the base price. */
  tier: receipt.tier,
  /** The values that multiplied the price of its tokens: `{ service_tier: "priority" }`. */
  multiplied_by: valuesOf(receipt) ?? null,
  output_cap: receipt.output_cap,
  input_estimate: receipt.input_estimate,
  /** By name, as its client sent them. */
  tags: tagsOf(receipt.tags),
  hold: formatUsd(receipt.hold_nano),
  cost: moneyView(receipt.cost_nano),
  charge: moneyView(receipt.charge_nano),
  /** The cost beyond the hold, which is not charged. */
  shortfall: moneyView(receipt.shortfall_nano),
})

type StoredAttempts = Pick<ReceiptsTable, 'attempts'>

const attemptsOf = ({ attempts }: StoredAttempts): Attempt[] =>
  attempts === null ? [] : (JSON.parse(attempts) as Attempt[])

const attemptsView = (receipt: StoredAttempts) =>
  attemptsOf(receipt).map(({ lane, outcome, status, ms }) => ({ lane, outcome, status: status ?? null, ms }))

const moneyView = (amount: bigint | null): string | null => (amount === null ? null : formatUsd(amount))

/** The classes do not overlap; reasoning is part of output. */
const tokensView = (receipt: ReceiptsTable) =>
  receipt.output === null
    ? null
    : {
        uncached_input: receipt.uncached_input ?? 0,
        cached_input: receipt.cached_input ?? 0,
        cache_write: receipt.cache_write ?? 0,
        output: receipt.output,
        reasoning: receipt.reasoning ?? 0,
        estimated: receipt.estimated === 1,
      }

/** The size of the conversation before and after its compaction. */
const compactionView = ({ tokens_before, tokens_after }: ReceiptsTable) =>
  tokens_before === null || tokens_after === null ? null : { tokens_before, tokens_after }

/** A request in the lists of the console. */
function requestItemOf(receipt: ReceiptsTable, key: { readonly id: string; readonly name: string }) {
  const { id, state, outcome, opened_at, closed_at, model, kind, tokens, hold, charge } = receiptView(receipt)
  return {
    ...{ id, state, outcome, opened_at, closed_at, model, kind, tokens, hold, charge },
    ...{ lane: receipt.lane, first_byte_ms: receipt.first_byte_ms, total_ms: receipt.total_ms },
    key: { id: key.id, name: key.name },
  }
}

/** A receipt with its price and its payer. */
async function describeReceipt(db: LedgerDb, receipt: ReceiptsTable) {
  const price = await loadPrice(db, receipt.model, receipt.price_version)
  // While the request runs, the base price.
  const applied = price.tiers.find(({ aboveInputTokens }) => aboveInputTokens === (receipt.tier ?? 0)) ?? price
  return {
    ...receiptView(receipt),
    /** USD per million tokens. */
    price: { ...tokenPricesView(applied), per_request: formatUsd(price.perRequest) },
    cache_lost: cacheLostView(receipt, applied),
    ...prefixView(receipt),
    paid_by: await payerOf(db, receipt),
  }
}

/**
 * Input that was paid as new because the lane that had cached it was not available, and how much less it would have cost. What
 * the new lane wrote to its own cache was paid as a cache write, if its provider bills it.
 */
function cacheLostView(receipt: ReceiptsTable, { input, cachedInput, cacheWrite }: TokenPrices) {
  const tokens = attemptsOf(receipt).reduce((sum, { cacheLost = 0 }) => sum + cacheLost, 0)
  if (tokens === 0) return null
  const written = Math.min(tokens, receipt.cache_write ?? 0)
  const paid = BigInt(written) * cacheWrite + BigInt(tokens - written) * input
  return { tokens, cost: formatUsd(nanoFromPico(paid - BigInt(tokens) * cachedInput)) }
}

/** Where the prompt no longer began as in the turn before it, who changed it, and what that has lost. */
function prefixView(receipt: StoredAttempts) {
  const broken = attemptsOf(receipt).at(-1)?.prefix
  if (broken === undefined) return { prefix_broken_at: null, prefix_broken: null }
  const { at, by, cached = null, reasoning = null } = broken
  return { prefix_broken_at: at, prefix_broken: { by, cached_tokens_lost: cached, reasoning_items_lost: reasoning } }
}

/** The wallet, or the windows of a plan; `caps` are the spend caps of the key that it counted against as well. */
async function payerOf(db: LedgerDb, receipt: ReceiptsTable) {
  const buckets = await listBuckets(db, JSON.parse(receipt.buckets) as number[])
  const periods = (kind: StoredBucket['kind']) => buckets.filter((bucket) => bucket.kind === kind).map(periodView)
  // Old receipts have their caps as buckets.
  const [windows, caps] = [
    periods('window'),
    [...periods('cap').map((period) => ({ ...period, holder: 'key' as const })), ...capsOf(receipt)],
  ]
  if (receipt.kind === 'wallet') return { kind: 'wallet' as const, plan: null, windows, caps }
  const subscription = await findSubscriptionAt(db, receipt.account, receipt.opened_at)
  return { kind: 'plan' as const, plan: subscription?.plan ?? null, windows, caps }
}

/** The caps that it counted against, in the periods of its admission. */
const capsOf = ({ caps, opened_at }: ReceiptsTable) =>
  (caps?.split(' ') ?? []).flatMap((mark) => {
    const { name, holder } = readMark(mark)
    if (!isCapName(name) || holder === 'run') return []
    const { start, end } = periodAt(CAP_KINDS[name].cycle, opened_at, 1)
    const isEver = end === EVER_MS
    return { name, holder, start: isEver ? null : isoTime(start), end: isEver ? null : isoTime(end) }
  })

/** The name is the end of `window:5h` or `cap:17:day`. */
const periodView = ({ subject, period_start, period_end }: StoredBucket) => ({
  name: subject.slice(subject.lastIndexOf(':') + 1),
  start: isoTime(period_start ?? 0),
  end: isoTime(period_end ?? 0),
})

/** What one request cost and why, for its account; undefined for requests of others. Lanes are visible to operators only. */
export async function readReceipt({ db }: DbService, caller: Caller, requestId: RequestId) {
  const { person } = readScopeOf(caller)
  const receipt = await findReceiptWithin(db, { account: caller.account, person }, requestId)
  if (receipt === undefined) return undefined
  // One for each call of a provider. Only the delivered one is paid.
  const attempts = attemptsView(receipt).map(({ outcome, status, ms }) => ({ outcome, status, ms }))
  return { object: 'request' as const, ...(await describeReceipt(db, receipt)), attempts }
}
