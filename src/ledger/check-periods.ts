import {
  type CountedCap,
  findMovementAt,
  listKeysUnderCaps,
  sumChargesOfCaps,
  sumChargesOfWindow,
} from '../store/charges-of-periods.ts'
import { type CheckedPeriod, checkCaps, checkWindows } from '../store/check-balances.ts'
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
    for (const window of windows) if (window.kind === 'window') await proveWindow(proof, window)
    after = { row: Number(last.subject), end: last.period_end }
  }
}

async function proveWindow(proof: PeriodProof, window: CheckedPeriod): Promise<void> {
  if (isAddedUp(window)) return proof.found(window, true)
  const { account, after, closed_at, last } = window
  const to =
    closed_at === null ? last : await findMovementAt(proof.db, account, { last, at: closed_at, otherwise: last })
  let sum = window.proved_nano
  await inPages(proof, { from: after, to }, async (page) => {
    sum += await sumChargesOfWindow(proof.db, { account, ...page }, Number(window.subject))
  })
  const isExact = sum === window.used_nano
  proof.found(window, isExact)
  if (isExact && closed_at === null) await proof.keep([provedSum(window, Math.max(after, to), sum)])
}

/** The most spend caps of one account that are added up together. */
const CAPS_AT_ONCE = 10_000

/** Spend caps. Those of one account are added up together: its receipts are read once for thousands of keys. */
export async function proveCaps(proof: PeriodProof): Promise<void> {
  const size = createSliceSize(proof.ticks, PERIODS_LEAST)
  let together: CheckedPeriod[] = []
  const proveTogether = async () => {
    const caps = together
    together = []
    if (caps.length > 0) await addUpCaps(proof, caps)
  }
  for (let after = { account: 0, subject: '' }; ; ) {
    const counters = await size.timed((limit) => checkCaps(proof.db, { after, limit, sinceProof: proof.sinceProof }))
    for (const counter of counters) {
      if (isAddedUp(counter)) {
        proof.found(counter, true)
        continue
      }
      if (together[0]?.account !== counter.account || together.length === CAPS_AT_ONCE) await proveTogether()
      together.push(counter)
    }
    const last = counters.at(-1)
    if (!last) return proveTogether()
    after = last
  }
}

const isAddedUp = ({ used_nano, proved_nano, charged_nano }: CheckedPeriod): boolean =>
  charged_nano !== null && used_nano === proved_nano + charged_nano

interface AddedCap extends CountedCap {
  readonly counter: CheckedPeriod
  sum: bigint
}

/** Spend caps of one account. Each page of receipts is queried only for the keys that occur in it. */
async function addUpCaps(proof: PeriodProof, counters: readonly CheckedPeriod[]): Promise<void> {
  const { db } = proof
  const account = counters[0]!.account
  const added = await rangesOf(proof, counters)
  const byKey = new Map<number, AddedCap[]>()
  for (const cap of added) byKey.set(cap.key, [...(byKey.get(cap.key) ?? []), cap])
  const from = added.reduce((least, cap) => Math.min(least, cap.from), Number.POSITIVE_INFINITY)
  const to = added.reduce((most, cap) => Math.max(most, cap.to), 0)
  await inPages(proof, { from, to }, async (page) => {
    const slice = { account, ...page }
    const caps = (await listKeysUnderCaps(db, slice)).flatMap((key) => byKey.get(key) ?? [])
    if (caps.length === 0) return
    const sums = await sumChargesOfCaps(db, slice, caps)
    for (const [place, cap] of caps.entries()) cap.sum += sums[place]!
  })
  const proved: ProvedSumsTable[] = []
  for (const { counter, to, sum } of added) {
    const isExact = sum === counter.used_nano
    proof.found(counter, isExact)
    if (isExact) proved.push(provedSum(counter, to, sum))
  }
  for (let at = 0; at < proved.length; at += SUMS_AT_ONCE) await proof.keep(proved.slice(at, at + SUMS_AT_ONCE))
}

const SUMS_AT_ONCE = 100

/** Which movements may have charged each. What was opened in its period has ended behind whatever ended before that. */
async function rangesOf({ db }: PeriodProof, counters: readonly CheckedPeriod[]): Promise<readonly AddedCap[]> {
  const starts = new Map<number, number>()
  const added: AddedCap[] = []
  for (const counter of counters) {
    const { account, subject, after, last, period_start, first_receipt, proved_nano } = counter
    let from = after > 0 ? after : starts.get(period_start)
    if (from === undefined) {
      from = await findMovementAt(db, account, { last, at: period_start - 1, otherwise: 0 })
      starts.set(period_start, from)
    }
    const [, key, name] = subject.split(':')
    added.push({
      counter,
      key: Number(key),
      name: name!,
      firstReceipt: first_receipt!,
      from,
      to: last,
      sum: proved_nano,
    })
  }
  return added
}

/** The movements behind `from`, up to and with `to`, a bounded part of the account at a time. */
async function inPages(
  { ticks }: PeriodProof,
  { from, to }: { readonly from: number; readonly to: number },
  add: (page: { readonly after: number; readonly to: number }) => Promise<void>,
): Promise<void> {
  const size = createSliceSize(ticks)
  for (let after = from; after < to; ) {
    after = await size.timed(async (movements) => {
      const page = { after, to: Math.min(to, after + movements) }
      await add(page)
      return page.to
    })
  }
}

const provedSum = ({ account, subject, period_start, period_end }: CheckedPeriod, movement: number, sum: bigint) => ({
  ...{ account, subject, period_start, period_end, movement },
  used_nano: sum,
})
