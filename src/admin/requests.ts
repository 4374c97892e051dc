import type { z } from 'zod'
import type { foundRequest } from '../contract/operate.ts'
import type {
  chargeLine,
  windowRows as contractRows,
  requestDetail,
  requestsPage,
  requestsQuery,
} from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow } from '../db/accounts.ts'
import { findPlanClosingTime, findWindow, type StoredWindow } from '../db/allowances.ts'
import { findKeyByRow } from '../db/keys.ts'
import {
  type ClosedRequest,
  findClaimOfReceipt,
  findReceipt,
  kindsOf,
  type ListedRequest,
  listClosedRequests,
  listRunningRequests,
  type RequestFilter,
} from '../db/receipts.ts'
import { findLastMovement, findSliceStart, type MovementRange } from '../db/statement.ts'
import type { LedgerDb, ReceiptsTable } from '../db/tables.ts'
import { loadPrice } from '../ledger/prices.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatPico, formatPricePerMillion, picoFromNano } from '../model/money.ts'
import type { Price, Rates } from '../model/price.ts'
import { findOwnedKey } from './key-views.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { countOnWindows, parseWindowId, storedWindow } from './plans.ts'
import { attemptsView, describeReceipt, requestItemOf } from './receipts.ts'
import {
  cutPage,
  findFirstSince,
  invalidCursor,
  isoTime,
  quoted,
  readCursor,
  readInSlices,
  writeCursor,
} from './values.ts'

interface DbService {
  readonly db: LedgerDb
}

type RequestsPage = z.output<typeof requestsPage>

/** The requests of an account: the running ones first, then the closed ones. */
export async function listRequests(
  { db }: DbService,
  account: AccountRow,
  { after, limit, key: keyId, ...filter }: z.output<typeof requestsQuery>,
): Promise<Outcome<RequestsPage>> {
  const found = keyId === undefined ? undefined : await findOwnedKey({ db }, keyId, account)
  if (found?.kind === 'refused') return found
  const key = found?.key.row
  const everything = { from: 0, before: Number.MAX_SAFE_INTEGER }
  return readRequestPage(db, { account, filter: { ...filter, key }, after, limit, ...everything })
}

/** The range applies to closed requests only. */
interface PageOfRequests extends MovementRange {
  readonly account: AccountRow
  readonly filter: RequestFilter
  /** The `next` of the page before. */
  readonly after: string | undefined
  readonly limit: number
}

/**
 * Running requests, the newest first, then closed ones, the last one first. A request that closes between two pages may appear
 * twice, and is never left out.
 */
async function readRequestPage(db: LedgerDb, page: PageOfRequests): Promise<Outcome<RequestsPage>> {
  const { account, filter, limit } = page
  const after = await readPosition(db, account, page.after)
  if ('kind' in after) return after
  const { rows: running, next } = await readRunning(db, page, after)
  if (next !== null || filter.outcome === 'running') return done({ items: running.map(itemOf), next })
  const closed = await readInSlices<ClosedRequest>({
    from: page.from,
    before: Math.min(after.closed ?? page.before, page.before),
    limit: limit - running.length,
    numberOf: ({ movement }) => movement,
    sliceStart: (slice) => findSliceStart(db, account, { ...slice, kinds: kindsOf(filter) }),
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
async function readPosition(db: LedgerDb, account: AccountRow, after: string | undefined): Promise<Position | Refused> {
  if (after?.startsWith('req_')) {
    const receipt = await findReceipt(db, after)
    return receipt?.account === account ? { running: receipt.row } : invalidCursor()
  }
  const movement = readCursor(after)
  if (movement === undefined) return {}
  return typeof movement === 'number' ? { closed: movement } : movement
}

async function readRunning(db: LedgerDb, { account, filter, limit }: PageOfRequests, after: Position) {
  const isClosedOnly = filter.outcome === 'ok' || filter.outcome === 'not_ok'
  if (isClosedOnly || after.closed !== undefined) return { rows: [], next: null }
  const before = after.running ?? Number.MAX_SAFE_INTEGER
  const rows = await listRunningRequests(db, account, { before, limit: limit + 1, filter })
  return cutPage(rows, limit, ({ request_id }) => request_id)
}

type RequestDetail = z.output<typeof requestDetail>

/** A request of the account. A request of another account does not exist for it. */
export async function showRequest({ db }: DbService, account: AccountRow, id: string): Promise<Outcome<RequestDetail>> {
  const receipt = await findReceipt(db, id)
  if (receipt?.account === account) return done(await detailOf(db, receipt))
  const message = `This account has no request ${quoted(id)}. Requests refused before admission are not recorded.`
  return refused('request_not_found', message)
}

/** Any request, for an operator who answers a question about it. */
export async function findAnyRequest({ db }: DbService, id: string): Promise<Outcome<z.output<typeof foundRequest>>> {
  const receipt = await findReceipt(db, id)
  const account = receipt && (await findAccountByRow(db, receipt.account))
  if (receipt === undefined || account === undefined) {
    return refused('request_not_found', `No request has the id ${quoted(id)}.`)
  }
  return done({ account: { id: account.id, email: account.email }, request: await detailOf(db, receipt) })
}

async function detailOf(db: LedgerDb, receipt: ReceiptsTable): Promise<RequestDetail> {
  const key = await findKeyByRow(db, receipt.key)
  if (key === undefined) throw new Error(`The key of receipt ${receipt.request_id} is missing`)
  const { cost, shortfall, price_version, tier, output_cap, input_estimate, compaction, cache_lost, paid_by } =
    await describeReceipt({ db }, receipt)
  const claim = await findClaimOfReceipt(db, receipt.row)
  // Charges of zero and charges to a plan are not on the wallet's statement.
  const isOnStatement = receipt.kind === 'wallet' && (receipt.charge_nano ?? 0n) > 0n
  return {
    ...requestItemOf(receipt, key),
    ...{ cost, shortfall, price_version, tier, output_cap, input_estimate, compaction, cache_lost, paid_by },
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
  const rates: Rates = price.tiers.find(({ aboveInputTokens }) => aboveInputTokens === receipt.tier) ?? price
  const classes = [
    ['uncached_input', receipt.uncached_input, rates.input],
    ['cached_input', receipt.cached_input, rates.cachedInput],
    ['cache_write', receipt.cache_write, rates.cacheWrite],
    ['output', receipt.output, rates.output],
  ] as const
  const lines: ChargeLine[] = classes.flatMap(([what, tokens, rate]) =>
    tokens === null || tokens === 0
      ? []
      : [{ what, tokens, per_million: formatPricePerMillion(rate), amount: formatPico(BigInt(tokens) * rate) }],
  )
  if (price.perRequest === 0n) return lines
  const amount = formatPico(picoFromNano(price.perRequest))
  return [...lines, { what: 'per_request', tokens: null, per_million: null, amount }]
}

/** Everything about one request, for operators. */
export type RequestTrace = Awaited<ReturnType<typeof traceReceipt>>

export async function traceRequest(
  { db }: DbService,
  args: { readonly request: string },
): Promise<Outcome<RequestTrace>> {
  const receipt = await findReceipt(db, args.request)
  if (receipt !== undefined) return done(await traceReceipt(db, receipt))
  const message = `There is no receipt of a request ${quoted(args.request)}. A request refused before its hold has only a log line.`
  return refused('request_not_found', message)
}

async function traceReceipt(db: LedgerDb, receipt: ReceiptsTable) {
  const account = await findAccountByRow(db, receipt.account)
  const key = await findKeyByRow(db, receipt.key)
  if (account === undefined || key === undefined) throw new Error(`The owner of ${receipt.request_id} is missing`)
  return {
    ...(await describeReceipt({ db }, receipt)),
    account: { id: account.id, email: account.email },
    key: { id: key.id, name: key.name },
    lane: receipt.lane,
    attempts: attemptsView(receipt),
  }
}

/** The requests on a window, the running ones first: charges add up to its `used`, open holds to its `held`. */
export async function windowRows(
  { db }: DbService,
  account: AccountRow,
  id: string,
  { after, limit }: PageQuery,
): Promise<Outcome<z.output<typeof contractRows>>> {
  const named = parseWindowId(id)
  const window = named && (await findWindow(db, account, named))
  if (window === undefined) return refused('window_not_found', 'This account has no such window of a plan.')
  const counts = await countOnWindows(db, account, [{ bucket: window.row, start: window.period_start }])
  const page = await readRequestPage(db, {
    ...{ account, after, limit, ...(await movementsOn(db, account, window)) },
    filter: { kind: 'builder', bucket: window.row },
  })
  if (page.kind === 'refused') return page
  return done({ window: storedWindow(window, counts.get(window.row) ?? null), ...page.value })
}

/** The range of numbers of a window's requests. A request may end long after its window. */
async function movementsOn(
  db: LedgerDb,
  account: AccountRow,
  { period_start, closed_at }: StoredWindow,
): Promise<MovementRange> {
  const end = (await findLastMovement(db, account)) + 1
  const timeOf = (movement: number) => findPlanClosingTime(db, account, movement)
  const from = await findFirstSince(period_start, end, timeOf)
  if (closed_at === null) return { from, before: Number.MAX_SAFE_INTEGER }
  return { from, before: await findFirstSince(closed_at + 1, end, timeOf) }
}
