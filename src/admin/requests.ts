import type { z } from 'zod'
import type { foundRequest } from '../contract/operate.ts'
import type {
  chargeLine,
  windowRows as contractRows,
  requestDetail,
  requestsPage,
  requestsQuery,
} from '../contract/owner.ts'
import type { pageQuery } from '../contract/values.ts'
import { findAccountByRow } from '../db/accounts.ts'
import { findPlanClosingTime, findWindow, type StoredWindow } from '../db/allowances.ts'
import { findClaimOfReceipt } from '../db/claims.ts'
import { findKeyByRow } from '../db/keys.ts'
import {
  type ClosedRequest,
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
import { findFirstSince, readInSlices } from './find-movements.ts'
import { findOwnedKey } from './key-views.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { type AttemptView, attemptsView, type DescribedReceipt, describeReceipt, requestItemOf } from './receipts.ts'
import { cutPage, isoTime, noSuchPage, quoted, readCursor, writeCursor } from './values.ts'
import { countOnWindows, parseWindowId, storedWindow } from './windows.ts'

type RequestsPage = z.output<typeof requestsPage>

/** An account's requests, the running ones first, and those that have ended behind them. */
export async function listRequests(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  { after, limit, key: keyId, ...filter }: z.output<typeof requestsQuery>,
): Promise<Outcome<RequestsPage>> {
  const found = keyId === undefined ? undefined : await findOwnedKey({ db }, keyId, account)
  if (found?.kind === 'refused') return found
  const key = found?.key.row
  return readRequestPage(db, { account, filter: { ...filter, key }, after, limit, ...EVER })
}

const EVER = { from: 0, before: Number.MAX_SAFE_INTEGER }

/** Requests that have ended are looked for among those numbers only. */
interface PageOfRequests extends MovementRange {
  readonly account: AccountRow
  readonly filter: RequestFilter
  /** The `next` of the page before. */
  readonly after: string | undefined
  readonly limit: number
}

/**
 * Requests of an account: those that run, the newest first, and behind them those that have ended, the last one first. One
 * that ends between two pages, or while one is read, may be told again, and is never left out.
 */
async function readRequestPage(db: LedgerDb, page: PageOfRequests): Promise<Outcome<RequestsPage>> {
  const { account, filter, limit } = page
  const after = await readPlace(db, account, page.after)
  if ('kind' in after) return after
  const { rows: running, next } = await readRunning(db, page, after)
  if (next !== null || filter.outcome === 'running') return done({ items: running.map(itemOf), next })
  const before = Math.min(after.ended ?? page.before, page.before)
  const ended = await readEnded(db, { ...page, before, limit: limit - running.length })
  const told = new Set(running.map(({ row }) => row))
  const rows = [...running, ...ended.rows.filter(({ row }) => !told.has(row))]
  return done({ items: rows.map(itemOf), next: writeCursor(ended.next) })
}

const itemOf = (row: ListedRequest) => requestItemOf(row, { id: row.key_id, name: row.key_name })

/** Where the page before ended: behind a row of those that run, or behind a number of those that have ended; both absent: nowhere. */
interface Place {
  readonly running?: number
  readonly ended?: number
}

/** One that runs has no number yet, and its row would tell how many requests there are in all the house: its id names it. */
async function readPlace(db: LedgerDb, account: AccountRow, after: string | undefined): Promise<Place | Refused> {
  if (after?.startsWith('req_')) {
    const receipt = await findReceipt(db, after)
    return receipt?.account === account ? { running: receipt.row } : noSuchPage()
  }
  const movement = readCursor(after)
  if (movement === undefined) return {}
  return typeof movement === 'number' ? { ended: movement } : movement
}

async function readRunning(db: LedgerDb, { account, filter, limit }: PageOfRequests, after: Place) {
  const hasEnded = filter.outcome === 'ok' || filter.outcome === 'not_ok'
  if (hasEnded || after.ended !== undefined) return { rows: [], next: null }
  const before = after.running ?? Number.MAX_SAFE_INTEGER
  const rows = await listRunningRequests(db, account, { before, limit: limit + 1, filter })
  return cutPage(rows, limit, ({ request_id }) => request_id)
}

const readEnded = (db: LedgerDb, { account, filter, ...page }: PageOfRequests) =>
  readInSlices<ClosedRequest>({
    ...page,
    numberOf: ({ movement }) => movement,
    sliceStart: (slice) => findSliceStart(db, account, { ...slice, kinds: kindsOf(filter) }),
    list: (slice) => listClosedRequests(db, account, { ...slice, filter }),
  })

type RequestDetail = z.output<typeof requestDetail>

/** All that an account may know of one of its requests. Somebody else's is answered like one that never was. */
export async function showRequest(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  id: string,
): Promise<Outcome<RequestDetail>> {
  const receipt = await findReceipt(db, id)
  if (receipt?.account === account) return done(await detailOf(db, receipt))
  return refused(
    'request_not_found',
    `This account has no request ${quoted(id)}. One that was refused is not in the books.`,
  )
}

/** Any request of anybody, for an operator who answers a question by its id. */
export async function findAnyRequest(
  { db }: { readonly db: LedgerDb },
  id: string,
): Promise<Outcome<z.output<typeof foundRequest>>> {
  const receipt = await findReceipt(db, id)
  const account = receipt && (await findAccountByRow(db, receipt.account))
  if (receipt === undefined || account === undefined) {
    return refused('request_not_found', `No request has the id ${quoted(id)}.`)
  }
  return done({ account: { id: account.id, email: account.email }, request: await detailOf(db, receipt) })
}

async function detailOf(db: LedgerDb, receipt: ReceiptsTable): Promise<RequestDetail> {
  const key = await findKeyByRow(db, receipt.key)
  if (key === undefined) throw new Error(`Receipt ${receipt.request_id} names a key that is not there`)
  const { cost, shortfall, price_version, tier, output_cap, input_estimate, compaction, cache_lost, paid_by } =
    await describeReceipt({ db }, receipt)
  const { windows, caps, ...payer } = paid_by
  const claim = await findClaimOfReceipt(db, receipt.row)
  return {
    ...requestItemOf(receipt, key),
    ...{ cost, shortfall, price_version, tier, output_cap, input_estimate, compaction, cache_lost },
    lines: chargeLinesOf(receipt, await loadPrice(db, receipt.model, receipt.price_version)),
    attempts: attemptsView(receipt),
    paid_by: { ...payer, windows: [...windows], caps: [...caps] },
    idempotency: claim === undefined ? null : { state: claim.state, until: isoTime(claim.expires_at) },
    movement: isOnStatement(receipt) ? receipt.movement : null,
  }
}

/** What cost nothing, and what a plan has paid, is no line of the wallet's statement. */
const isOnStatement = ({ kind, charge_nano }: ReceiptsTable): boolean => kind === 'wallet' && (charge_nano ?? 0n) > 0n

type ChargeLine = z.output<typeof chargeLine>

/**
 * What the cost of a request is made of. Each amount is exact; their sum, rounded up once to a nano-dollar, is the cost.
 * Nothing where nothing was used: what was given back, and what still runs.
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
  const lines = classes.flatMap(([what, tokens, rate]) =>
    tokens === null || tokens === 0 ? [] : [lineOf(what, tokens, rate)],
  )
  if (price.perRequest === 0n) return lines
  const amount = formatPico(picoFromNano(price.perRequest))
  return [...lines, { what: 'per_request', tokens: null, per_million: null, amount }]
}

const lineOf = (what: ChargeLine['what'], tokens: number, rate: bigint): ChargeLine => ({
  what,
  tokens,
  per_million: formatPricePerMillion(rate),
  amount: formatPico(BigInt(tokens) * rate),
})

/** All that is known about one request: for the operator, who may see whose it is and where it ran. */
export interface RequestTrace extends DescribedReceipt {
  readonly account: { readonly id: string; readonly email: string }
  readonly key: { readonly id: string; readonly name: string }
  readonly lane: string | null
  readonly attempts: readonly AttemptView[]
}

export async function traceRequest(
  deps: { readonly db: LedgerDb },
  args: { readonly request: string },
): Promise<Outcome<RequestTrace>> {
  const receipt = await findReceipt(deps.db, args.request)
  if (receipt === undefined) {
    const message = `No request ${quoted(args.request)} is in the books. One that was refused before its hold has only a log line.`
    return refused('request_not_found', message)
  }
  const account = await findAccountByRow(deps.db, receipt.account)
  const key = await findKeyByRow(deps.db, receipt.key)
  if (account === undefined || key === undefined) throw new Error(`Receipt ${receipt.request_id} belongs to nobody`)
  return done({
    ...(await describeReceipt(deps, receipt)),
    account: { id: account.id, email: account.email },
    key: { id: key.id, name: key.name },
    lane: receipt.lane,
    attempts: attemptsView(receipt),
  })
}

/** The requests that make the bar of a window, the running ones first: charges add up to what is used, open holds to what is held. */
export async function windowRows(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  id: string,
  { after, limit }: z.output<typeof pageQuery>,
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

/** The numbers among which are those of all requests that stood on a window. One may end long after the window has. */
async function movementsOn(
  db: LedgerDb,
  account: AccountRow,
  { period_start, closed_at }: StoredWindow,
): Promise<MovementRange> {
  const end = (await findLastMovement(db, account)) + 1
  const timeOf = (movement: number) => findPlanClosingTime(db, account, movement)
  const from = await findFirstSince({ moment: period_start, end, timeOf })
  if (closed_at === null) return { from, before: Number.MAX_SAFE_INTEGER }
  return { from, before: await findFirstSince({ moment: closed_at + 1, end, timeOf }) }
}
