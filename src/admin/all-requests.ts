import type { z } from 'zod'
import type { allRequestsExportQuery, allRequestsQuery } from '../contract/operator-reports.ts'
import {
  type AllRequestsFilter,
  findClosingTime,
  findNewestRows,
  findOpeningTime,
  findOperatedReceipt,
  listOpenReceiptsOf,
  listReceiptsByMovement,
  listReceiptsByRow,
  type OperatedReceipt,
} from '../db/receipts.ts'
import { findLastMovement, findSliceStart } from '../db/statement.ts'
import type { LedgerDb } from '../db/tables.ts'
import { csvRow } from '../lib/text.ts'
import type { Attempt } from '../model/ending.ts'
import { formatUsd, parseUsd } from '../model/money.ts'
import { resolveAccount } from './accounts.ts'
import { readOpenRange } from './date-ranges.ts'
import { findOwnedKey } from './keys.ts'
import { done, type Outcome, refuseOperation } from './outcome.ts'
import type { DbService } from './services.ts'
import {
  findFirstSince,
  isoTime,
  isoTimeOrNull,
  NEWEST,
  type Page,
  readCursor,
  readInSlices,
  writeCursor,
} from './values.ts'

type RequestRow = ReturnType<typeof rowView>
type Filters = z.output<typeof allRequestsExportQuery>

/** The requests that a filter is about: one, those of an account, or those of all accounts. */
interface Scope {
  readonly filter: AllRequestsFilter
  readonly account: number | undefined
  readonly id: string | undefined
}

async function scopeOf(
  { db }: DbService,
  { account, key, from, to, zone, min_charge, id, ...same }: Filters,
): Promise<Outcome<Scope>> {
  const range = readOpenRange({ from, to, zone })
  if (range.kind === 'refused') return range
  const chargeMin = min_charge === undefined || min_charge === '' ? undefined : parseUsd(min_charge)
  if (min_charge && (chargeMin === undefined || chargeMin < 0n))
    return refuseOperation('invalid_amount', `${JSON.stringify(min_charge)} is not an amount of USD, such as 0.25.`, {
      param: 'min_charge',
    })
  const owner = account === undefined ? undefined : await resolveAccount({ db }, account)
  if (owner?.kind === 'refused') return owner
  const found = key === undefined ? undefined : await findOwnedKey({ db }, key)
  if (found?.kind === 'refused') return found
  const ofKey = found?.key
  return done({
    filter: { ...same, ...range.value, chargeMin, key: ofKey?.row },
    // A key has one account, whose requests have an index.
    account: owner?.value.row ?? ofKey?.account,
    id,
  })
}

/** Requests of all accounts, newest first, without their contents. Of one account, the running ones first. */
export async function listAllRequests(
  services: DbService,
  { after, limit, ...filters }: z.output<typeof allRequestsQuery>,
): Promise<Outcome<Page<RequestRow>>> {
  const scoped = await scopeOf(services, filters)
  if (scoped.kind === 'refused') return scoped
  const cursor = readCursor(after)
  if (cursor !== undefined && typeof cursor !== 'number') return cursor
  return done(await readAll(services.db, scoped.value, { cursor, limit }))
}

interface Position {
  readonly cursor: number | undefined
  readonly limit: number
}

async function readAll(db: LedgerDb, { filter, account, id }: Scope, position: Position): Promise<Page<RequestRow>> {
  if (id !== undefined) {
    const receipt = await findOperatedReceipt(db, id)
    return { items: receipt === undefined ? [] : [rowView(receipt)], next: null }
  }
  return account === undefined ? readOfAll(db, filter, position) : readOfOne(db, account, filter, position)
}

/** A page searches so many times more rows than one of an account: they are read in the order of the table. */
const ROWS_FACTOR = 4

async function readOfAll(db: LedgerDb, filter: AllRequestsFilter, { cursor, limit }: Position) {
  const end = (await findNewestRows(db)).receipt + 1
  const since = (moment: number) => findFirstSince(moment, end, (row) => findOpeningTime(db, row))
  const from = filter.from === undefined ? 1 : await since(filter.from)
  const before = filter.before === undefined ? end : await since(filter.before)
  const page = await readInSlices<OperatedReceipt>({
    ...{ from, before: Math.min(before, cursor ?? NEWEST), limit },
    numberOf: ({ row }) => row,
    sliceStart: async (slice) => {
      const start = slice.before - slice.requests * ROWS_FACTOR
      return start > from ? start : undefined
    },
    list: (slice) => listReceiptsByRow(db, { ...slice, filter }),
  })
  return { items: page.rows.map(rowView), next: writeCursor(page.next) }
}

async function readOfOne(db: LedgerDb, account: number, filter: AllRequestsFilter, { cursor, limit }: Position) {
  const isClosedOnly = filter.status === 'ok' || filter.status === 'not_ok'
  const running = cursor === undefined && !isClosedOnly ? await listOpenReceiptsOf(db, account, filter, limit) : []
  if (filter.status === 'running') return { items: running.map(rowView), next: null }
  const end = (await findLastMovement(db, account)) + 1
  // A request ends after it began, so what ended before the range did not begin in it.
  const from =
    filter.from === undefined
      ? 1
      : await findFirstSince(filter.from, end, (number) => findClosingTime(db, account, number))
  const kinds = filter.kind === undefined ? (['wallet', 'builder'] as const) : [filter.kind]
  const page = await readInSlices<OperatedReceipt>({
    ...{ from, before: Math.min(end, cursor ?? NEWEST), limit },
    numberOf: ({ movement }) => movement!,
    sliceStart: (slice) => findSliceStart(db, account, { ...slice, kinds }),
    list: (slice) => listReceiptsByMovement(db, account, { ...slice, filter }),
  })
  return { items: [...running, ...page.rows].map(rowView), next: writeCursor(page.next) }
}

function rowView(receipt: OperatedReceipt) {
  const attempts = receipt.attempts === null ? [] : (JSON.parse(receipt.attempts) as Attempt[])
  const costs = attempts.flatMap(({ cost }) => (cost === undefined ? [] : [BigInt(cost)]))
  const input = (receipt.uncached_input ?? 0) + (receipt.cached_input ?? 0) + (receipt.cache_write ?? 0)
  return {
    ...{ id: receipt.request_id, state: receipt.state, outcome: receipt.outcome },
    ...{ opened_at: isoTime(receipt.opened_at), closed_at: isoTimeOrNull(receipt.closed_at) },
    account: { id: receipt.account_id, email: receipt.email },
    key: { id: receipt.key_id, name: receipt.key_name },
    ...{ kind: receipt.kind, model: receipt.model, lane: receipt.lane },
    lanes_called: new Set(attempts.map(({ lane }) => lane)).size,
    input: receipt.output === null ? null : input,
    output: receipt.output,
    ...{ first_byte_ms: receipt.first_byte_ms, total_ms: receipt.total_ms },
    charge: receipt.charge_nano === null ? null : formatUsd(receipt.charge_nano),
    cost: costs.length === 0 ? null : formatUsd(costs.reduce((sum, cost) => sum + cost, 0n)),
  }
}

const COLUMNS = [
  ...['id', 'opened_at', 'closed_at', 'outcome', 'account', 'email', 'key', 'key_name', 'kind', 'model', 'lane'],
  ...['lanes_called', 'input', 'output', 'first_byte_ms', 'total_ms', 'charge_usd', 'cost_usd'],
]
const REQUESTS_AT_ONCE = 200

/** The same as CSV, read page by page while it is sent. */
export async function exportAllRequests(
  services: DbService,
  filters: Filters,
): Promise<Outcome<AsyncGenerator<string>>> {
  const scoped = await scopeOf(services, filters)
  return scoped.kind === 'refused' ? scoped : done(csvPieces(services.db, scoped.value))
}

async function* csvPieces(db: LedgerDb, scope: Scope): AsyncGenerator<string> {
  yield csvRow(COLUMNS)
  for (let cursor: number | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const { items, next } = await readAll(db, scope, { cursor, limit: REQUESTS_AT_ONCE })
    if (items.length > 0) yield items.map(csvLine).join('')
    cursor = next === null ? undefined : Number.parseInt(next, 36)
  }
}

const csvLine = (row: RequestRow): string =>
  csvRow([
    ...[row.id, row.opened_at, row.closed_at ?? '', row.outcome ?? 'running', row.account.id, row.account.email],
    ...[row.key.id, row.key.name, row.kind, row.model, row.lane ?? '', row.lanes_called, row.input ?? ''],
    ...[row.output ?? '', row.first_byte_ms ?? '', row.total_ms ?? '', row.charge ?? '', row.cost ?? ''],
  ])
