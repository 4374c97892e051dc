import { findMovementAt, sumChargesOfPeriods } from '../store/charges-of-periods.ts'
import { type CheckedPeriod, checkCaps, checkWindows } from '../store/check-balances.ts'
import { exactSum } from '../store/exact-sum.ts'
import type { ProvedSumsTable } from '../store/proof-tables.ts'
import type { LedgerDb } from '../store/tables.ts'
import { createSliceSize } from './slice-size.ts'

export interface PeriodProof {
  readonly db: LedgerDb
  /** In microseconds. */
  ticks(): number
  /** Only what is in force, from the sums that were proved before. */
  readonly sinceProof: boolean
  /** Called for every period, with whether its charges come to what it says was used. */
  found(period: CheckedPeriod, isExact: boolean): void
  /** Keeps what was proved of periods with many receipts, so that the next proof need not read them again. */
  keep(sums: readonly ProvedSumsTable[]): Promise<void>
}

/** Each is looked up with the receipts that count in it. */
const PERIODS_LEAST = 100

/** Windows of plans, one after the other: each with the receipts that stand on it. */
export async function proveWindows(proof: PeriodProof): Promise<void> {
  const size = createSliceSize(proof.ticks, PERIODS_LEAST)
  for (let after = { row: 0, end: 0 }; ; ) {
    const windows = await size.timed((limit) => checkWindows(proof.db, { after, limit, sinceProof: proof.sinceProof }))
    const last = windows.at(-1)
    if (!last) return
    for (const window of windows) if (window.kind === 'window') await provePeriods(proof, [window])
    after = { row: Number(last.subject), end: last.period_end }
  }
}

/**
 * Spend caps. Those of one account are added up together, as its books have them in memory together: its receipts are read
 * once however many keys it has.
 */
export async function proveCaps(proof: PeriodProof): Promise<void> {
  const size = createSliceSize(proof.ticks, PERIODS_LEAST)
  let ofAccount: CheckedPeriod[] = []
  for (let after = { account: 0, subject: '' }; ; ) {
    const counters = await size.timed((limit) => checkCaps(proof.db, { after, limit, sinceProof: proof.sinceProof }))
    for (const counter of counters) {
      if (ofAccount[0] && ofAccount[0].account !== counter.account) {
        await provePeriods(proof, ofAccount)
        ofAccount = []
      }
      if (isAddedUp(counter)) proof.found(counter, true)
      else ofAccount.push(counter)
    }
    const last = counters.at(-1)
    if (!last) break
    after = last
  }
  if (ofAccount.length > 0) await provePeriods(proof, ofAccount)
}

const isAddedUp = ({ used_nano, proved_nano, charged_nano }: CheckedPeriod): boolean =>
  charged_nano !== null && used_nano === proved_nano + charged_nano

interface LongPeriod {
  readonly period: CheckedPeriod
  readonly from: number
  readonly to: number
  sum: bigint
}

/** Periods of one account: what is not added up yet is, a bounded part of the account at a time. */
async function provePeriods(proof: PeriodProof, periods: readonly CheckedPeriod[]): Promise<void> {
  const long: LongPeriod[] = []
  for (const period of periods) {
    if (isAddedUp(period)) proof.found(period, true)
    else long.push({ period, ...(await rangeOf(proof, period, long[0])), sum: period.proved_nano })
  }
  // Where a sum of one begins or ends another page does, so that a page is of a period whole or not at all.
  const edges = [...new Set(long.flatMap(({ from, to }) => [from, to]))].sort((one, other) => one - other)
  for (const [place, edge] of edges.entries()) await addUp(proof, long, edge, edges[place + 1] ?? edge)
  const sums: ProvedSumsTable[] = []
  for (const each of long) {
    const { period } = each
    const isExact = each.sum === period.used_nano
    proof.found(period, isExact)
    if (isExact && period.closed_at === null) sums.push(sumOf(period, each))
  }
  for (let from = 0; from < sums.length; from += SUMS_AT_ONCE) await proof.keep(sums.slice(from, from + SUMS_AT_ONCE))
}

const SUMS_AT_ONCE = 100

/** Which movements may have charged it. What was opened in a period of a spend cap has ended behind whatever ended before. */
async function rangeOf(
  { db }: PeriodProof,
  { kind, account, after, last, period_start, closed_at }: CheckedPeriod,
  before: LongPeriod | undefined,
): Promise<{ readonly from: number; readonly to: number }> {
  if (kind === 'window') {
    const to =
      closed_at === null
        ? last
        : Math.min(last, await findMovementAt(db, account, { last, at: closed_at, otherwise: last }))
    return { from: after, to: Math.max(after, to) }
  }
  if (after > 0) return { from: after, to: last }
  // Of the same day or month as the one before.
  if (before && before.period.after === 0 && before.period.period_start === period_start && before.to <= last) {
    return { from: before.from, to: last }
  }
  return { from: await findMovementAt(db, account, { last, at: period_start - 1, otherwise: 0 }), to: last }
}

/** The movements behind `first`, up to and with `end`. */
async function addUp({ db, ticks }: PeriodProof, periods: readonly LongPeriod[], first: number, end: number) {
  const within = periods.filter(({ from, to }) => from <= first && to >= end)
  const bySubject = new Map(within.map((each) => [each.period.subject, each]))
  const caps = within.flatMap(({ period: { subject, first_receipt } }) =>
    first_receipt === null ? [] : { subject, firstReceipt: first_receipt },
  )
  const account = within[0]?.period.account
  if (account === undefined) return
  const size = createSliceSize(ticks)
  for (let after = first; after < end; ) {
    const to = await size.timed(async (movements) => {
      const last = Math.min(end, after + movements)
      for (const charges of await sumChargesOfPeriods(db, account, { after, to: last, caps })) {
        const each = bySubject.get(charges.subject)
        if (each) each.sum += exactSum(charges)
      }
      return last
    })
    after = to
  }
}

const sumOf = (
  { account, subject, period_start, period_end }: CheckedPeriod,
  { to, sum }: LongPeriod,
): ProvedSumsTable => ({
  ...{ account, subject, period_start, period_end },
  movement: to,
  used_nano: sum,
})
