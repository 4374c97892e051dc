import type { z } from 'zod'
import type { invoiceAnswer, invoiceQuery } from '../contract/operator-reports.ts'
import type { UsageSums } from '../db/content/usage-totals.ts'
import { QUARTER_MS } from '../db/receipts.ts'
import { sumUsageOfReceipts } from '../db/served-receipts.ts'
import type { SqlStore } from '../db/sql-store.ts'
import { findLastMovement, findWalletBalance, listMoneyTransfers } from '../db/statement.ts'
import type { LedgerDb } from '../db/tables.ts'
import { csvRow } from '../lib/text.ts'
import { dayAt, type TimeZone } from '../lib/time-zone.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import { resolveAccount } from './accounts.ts'
import { type DayRange, readDayRange } from './date-ranges.ts'
import { done, type Outcome, refuseOperation } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { movementsIn } from './statement.ts'
import { usageByDayAndModel } from './usage-report.ts'
import { isoTime } from './values.ts'

export type Invoice = z.output<typeof invoiceAnswer>
type InvoiceArgs = z.output<typeof invoiceQuery> & { readonly account: string }
type InvoiceServices = Pick<AdminServices, 'db' | 'usage' | 'clock'> & { readonly content: SqlStore }

/** The calendar days of an invoice: a month, days, or else the month that the zone has now. */
function daysOf({ clock }: InvoiceServices, { month, from, to, zone = 'UTC' }: InvoiceArgs): Outcome<DayRange> {
  if (month !== undefined && (from !== undefined || to !== undefined))
    return refuseOperation('invalid_range', 'Give a month, or `from` and `to`, not both.', { param: 'month' })
  if ((from === undefined) !== (to === undefined))
    return refuseOperation('invalid_range', 'Give both `from` and `to`, or a month.', {
      param: from === undefined ? 'from' : 'to',
    })
  if (from !== undefined && to !== undefined) return readDayRange({ from, to, zone })
  if (month !== undefined && !/^\d{4}-(0[1-9]|1[0-2])$/.test(month))
    return refuseOperation('invalid_range', `${JSON.stringify(month)} is not a month. Write it as in "2026-11".`, {
      param: 'month',
    })
  const today = readDayRange({ from: '1970-01-01', to: '1970-01-02', zone })
  if (today.kind === 'refused') return today
  const named = month ?? dayText(dayAt(today.value.zone, clock.now())).slice(0, 7)
  const [year = 0, number = 0] = named.split('-').map(Number)
  return readDayRange({ from: `${named}-01`, to: dayText(Date.UTC(year, number, 1)), zone })
}

const dayText = (day: number): string => new Date(day).toISOString().slice(0, 10)

/** The charges of one day and model. */
interface Line {
  readonly day: string
  readonly model: string
  readonly used: UsageSums
}

/** The wallet's money in a range of movements. */
interface Money {
  readonly opening: bigint
  readonly closing: bigint
  readonly transfers: Awaited<ReturnType<typeof listMoneyTransfers>>
  readonly asOf: number
}

/** More are on the statement. */
const TRANSFERS_MAX = 5000
const DAY_MS = 86_400_000

/**
 * What an account was charged in a range of days, by day and model, with what came in and the balances at both ends. It always
 * adds up to the ledger: the totals of usage are checked against the balances, and where they differ (the account is busy, or
 * the clock was set back in the range) the receipts themselves are summed.
 */
export async function invoice(services: InvoiceServices, args: InvoiceArgs): Promise<Outcome<Invoice>> {
  const { db } = services
  const found = await resolveAccount({ db }, args.account)
  if (found.kind === 'refused') return found
  const { row, id, email } = found.value
  const read = daysOf(services, args)
  if (read.kind === 'refused') return read
  const range = read.value
  const account = row as AccountRow
  const days = { from: dayText(range.firstDay), to: dayText(range.endDay), zone: range.zone.name }
  const fromTotals = await usageByDayAndModel(services, { account: id, ...days }, async (rows, asOf) => {
    const lines = rows.map(({ at, id: model, used }): Line => ({ day: dayText(dayAt(range.zone, at)), model, used }))
    const money = await moneyOf(db, account, { ...(await movementsIn(db, account, boundsOf(range))), asOf })
    return money.kind === 'refused' ? money : done({ lines, money: money.value })
  })
  if (fromTotals.kind === 'refused') return fromTotals
  const account_ = { id, email }
  if (addsUp(fromTotals.value)) return done(invoiceView(account_, range, fromTotals.value))
  const movements = await movementsIn(db, account, boundsOf(range))
  const money = await moneyOf(db, account, { ...movements, asOf: services.clock.now() })
  if (money.kind === 'refused') return money
  const lines = await linesOfReceipts(db, account, range, movements)
  return done(invoiceView(account_, range, { lines, money: money.value }))
}

const boundsOf = ({ from, to }: DayRange) => ({ from, before: to })

interface InvoiceParts {
  readonly lines: readonly Line[]
  readonly money: Money
}

const sumOf = <Item>(items: readonly Item[], amountOf: (item: Item) => bigint): bigint =>
  items.reduce((sum, item) => sum + amountOf(item), 0n)

const addsUp = ({ lines, money: { opening, closing, transfers } }: InvoiceParts): boolean =>
  opening + sumOf(transfers, ({ amount_nano }) => amount_nano) - sumOf(lines, ({ used }) => used.wallet_nano) ===
  closing

async function moneyOf(
  db: LedgerDb,
  account: AccountRow,
  { from, before, asOf }: { readonly from: number; readonly before: number; readonly asOf: number },
): Promise<Outcome<Money>> {
  const transfers = await listMoneyTransfers(db, account, { from, before, limit: TRANSFERS_MAX + 1 })
  if (transfers.length > TRANSFERS_MAX)
    return refuseOperation(
      'invalid_range',
      `The range has more than ${TRANSFERS_MAX} credits, refunds and adjustments. Use a shorter range.`,
    )
  const opening = await findWalletBalance(db, account, from)
  const closing = await findWalletBalance(db, account, before)
  return done({ opening, closing, transfers, asOf })
}

/** Movements whose receipts are summed at once. */
const MOVEMENTS_AT_ONCE = 1000

/** The receipts of a range of movements. Times outside of its days, which a clock had that was set back, count on its ends. */
async function linesOfReceipts(
  db: LedgerDb,
  account: AccountRow,
  { zone, firstDay, endDay }: DayRange,
  { from, before }: { readonly from: number; readonly before: number },
): Promise<Line[]> {
  const lines = new Map<string, Line>()
  const end = Math.min(before, (await findLastMovement(db, account)) + 1)
  for (let after = from - 1; after < end - 1; after += MOVEMENTS_AT_ONCE) {
    const upTo = Math.min(after + MOVEMENTS_AT_ONCE, end - 1)
    for (const row of await sumUsageOfReceipts(db, { account, after, upTo })) {
      const day = dayText(Math.min(Math.max(dayAt(zone, row.quarter * QUARTER_MS), firstDay), endDay - DAY_MS))
      const name = `${day} ${row.model}`
      const known = lines.get(name)
      lines.set(name, { day, model: row.model, used: known === undefined ? row : addUsed(known.used, row) })
    }
  }
  return [...lines.values()]
}

const addUsed = (first: UsageSums, second: UsageSums): UsageSums => ({
  requests: first.requests + second.requests,
  failed: first.failed + second.failed,
  uncached_input: first.uncached_input + second.uncached_input,
  cached_input: first.cached_input + second.cached_input,
  cache_write: first.cache_write + second.cache_write,
  output: first.output + second.output,
  reasoning: first.reasoning + second.reasoning,
  wallet_nano: first.wallet_nano + second.wallet_nano,
  plan_nano: first.plan_nano + second.plan_nano,
})

const CENT = 10_000_000n
/** To the nearest cent, half a cent up. */
const inCents = (amount: bigint): bigint => ((amount + CENT / 2n) / CENT) * CENT

function invoiceView(
  account: Invoice['account'],
  { zone, from, to, firstDay, endDay }: DayRange & { readonly zone: TimeZone },
  { lines, money: { opening, closing, transfers, asOf } }: InvoiceParts,
): Invoice {
  const charged = sumOf(lines, ({ used }) => used.wallet_nano)
  const ordered = [...lines].sort((one, other) =>
    one.day === other.day ? (one.model < other.model ? -1 : 1) : one.day < other.day ? -1 : 1,
  )
  return {
    account,
    currency: 'USD',
    ...{ from: isoTime(from), to: isoTime(to), zone: zone.name },
    ...{ first_day: dayText(firstDay), last_day: dayText(endDay - DAY_MS), as_of: isoTime(asOf) },
    opening: formatUsd(opening),
    transfers: transfers.map(({ movement, at, kind, amount_nano, ref, reason }) => ({
      ...{ movement, at: isoTime(at), kind, amount: formatUsd(amount_nano), ref, reason },
    })),
    lines: ordered.map(({ day, model, used }) => ({
      ...{ day, model, requests: used.requests },
      uncached_input: used.uncached_input,
      cached_input: used.cached_input,
      cache_write: used.cache_write,
      output: used.output,
      amount: formatUsd(used.wallet_nano),
      plan: formatUsd(used.plan_nano),
    })),
    totals: {
      requests: lines.reduce((sum, { used }) => sum + used.requests, 0),
      transferred: formatUsd(sumOf(transfers, ({ amount_nano }) => amount_nano)),
      charged: formatUsd(charged),
      plan: formatUsd(sumOf(lines, ({ used }) => used.plan_nano)),
      charged_in_cents: formatUsd(inCents(charged)),
      rounding: formatUsd(inCents(charged) - charged),
    },
    closing: formatUsd(closing),
  }
}

const COLUMNS = [
  ...['line', 'day', 'time', 'model_or_kind', 'ref', 'reason', 'requests'],
  ...['uncached_input', 'cached_input', 'cache_write', 'output', 'amount_usd', 'plan_usd'],
]

/** The same as CSV. The amounts of `opening`, `transfer` and `charge` add up to that of `closing`; charges are negative. */
export function invoiceCsv({ opening, transfers, lines, totals, closing, from, to }: Invoice): string {
  const minus = (amount: string): string => (/^[0.]+$/.test(amount) ? amount : `-${amount}`)
  const blank = (count: number): string[] => Array.from({ length: count }, () => '')
  return [
    csvRow(COLUMNS),
    csvRow(['opening', '', from, ...blank(8), opening, '']),
    ...transfers.map(({ at, kind, amount, ref, reason }) =>
      csvRow(['transfer', at.slice(0, 10), at, kind, ref, reason, ...blank(5), amount, '']),
    ),
    ...lines.map((line) =>
      csvRow([
        ...['charge', line.day, '', line.model, '', '', line.requests, line.uncached_input, line.cached_input],
        ...[line.cache_write, line.output, minus(line.amount), line.plan],
      ]),
    ),
    csvRow(['closing', '', to, ...blank(8), closing, totals.plan]),
    csvRow(['charged', ...blank(5), totals.requests, ...blank(4), totals.charged, '']),
    csvRow(['rounding', ...blank(10), totals.rounding, '']),
    csvRow(['charged_in_cents', ...blank(10), totals.charged_in_cents, '']),
  ].join('')
}
