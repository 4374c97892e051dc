import { listFrozen, setFrozen } from '../db/accounts.ts'
import { findMovementAt } from '../db/statement.ts'
import type { LedgerDb, ProvedSumsTable } from '../db/tables.ts'
import {
  type CheckedPeriod,
  type CheckedRows,
  type CountedCap,
  checkCaps,
  checkReceipts,
  checkTransfers,
  checkWallets,
  checkWindows,
  exactSum,
  findLedgerEnd,
  findOpeningOf,
  findProof,
  listKeysUnderCaps,
  RECEIPT_RULE_NAMES,
  type RowSlice,
  recordProof,
  recordSums,
  type StoredProof,
  sumChargesOfCaps,
  sumChargesOfWindow,
  TRANSFER_RULE_NAMES,
} from '../db/verify.ts'
import { systemClock } from '../lib/clock.ts'
import { readCapSubject } from '../model/allowance.ts'
import type { AccountRow } from '../model/ids.ts'
import { replayJournal } from './admit.ts'
import type { LedgerCore } from './core.ts'
import type { IssuedSums, VerifyReport } from './ledger.ts'

export const NOTHING_PROVED: StoredProof = { receipt: 0, transfer: 0, issued: 0n }

const BALANCE_RULES = {
  posted: 'posted is the sum of entries',
  dollars: 'the issued balance equals all credits less refunds',
  held: 'held is the sum of open holds',
  overdrawn: 'no account is overdrawn (the other sides may be)',
  spent: 'a spend cap has counted what was charged',
  heldUnderCap: 'a spend cap counts the open holds',
  bound: 'what a spend cap has counted is within its bound',
} as const

interface VerifyOptions {
  readonly db: LedgerDb
  readonly since?: StoredProof
  /** Stores the verified sums of periods with many receipts. */
  readonly keep?: (sums: readonly ProvedSumsTable[]) => Promise<void>
  readonly nowMicros?: () => number
}

/**
 * Verifies the ledger from its rows alone, while it is in use, a slice at a time and without a common snapshot. Closed
 * receipts and transfers never change, so each row is checked against the movement before it. A balance is checked against
 * the last movement of its account in the same statement; a batch is in the file whole or not at all. A later proof begins
 * where everything before is closed.
 */
export async function verifyLedgerState({
  db,
  since = NOTHING_PROVED,
  keep = async () => {},
  nowMicros = () => systemClock.nowMicros(),
}: VerifyOptions): Promise<{ readonly report: VerifyReport; readonly proved: StoredProof }> {
  const sinceProof = since !== NOTHING_PROVED
  const tally = createTally()
  const end = await findLedgerEnd(db)
  const receipts = { after: since.receipt, to: end.last_receipt }
  await inSlices(nowMicros, receipts, async (slice) => tally.addRows('receipts', await checkReceipts(db, slice)))
  const transfers = { after: since.transfer, to: end.last_transfer }
  await inSlices(nowMicros, transfers, async (slice) => tally.addRows('transfers', await checkTransfers(db, slice)))
  // Every other dollar balance is checked by its own movements, whose two sides are equal, so all of them sum to zero.
  const issued = since.issued + tally.sums.issued
  if (end.outside_nano !== -issued) tally.broken(BALANCE_RULES.dollars, undefined)
  await proveWallets(db, nowMicros, tally)
  const proof = { db, nowMicros, sinceProof, keep }
  await proveWindows({ ...proof, found: (window, isExact) => tally.addWindow(window, isExact) })
  await proveCaps({ ...proof, found: (counter, isExact) => tally.addCap(counter, isExact) })
  const allClosedTo = end.first_open === null ? end.last_receipt : end.first_open - 1
  const proved = { receipt: Math.max(since.receipt, allClosedTo), transfer: end.last_transfer, issued }
  return { report: tally.report({ withSums: !sinceProof }), proved }
}

/**
 * Verifies the ledger and freezes the accounts that do not balance. `whole` begins at the first row, and lifts the freeze of
 * accounts that balance again; else only what has come since the last proof is read. Only a proof without a finding moves
 * the starting point of the next one.
 */
export async function auditLedger(core: LedgerCore, { whole }: { readonly whole: boolean }): Promise<VerifyReport> {
  const { report, proved } = await verifyLedgerState({
    db: core.lowPriorityDb,
    since: whole ? NOTHING_PROVED : await findProof(core.db),
    keep: (sums) => recordSums(core.file, sums),
    nowMicros: () => core.clock.nowMicros(),
  })
  for (const account of report.suspects) await freeze(core, account)
  if (whole) await unfreezeExcept(core, new Set(report.suspects))
  // Ends that could not be recorded while their accounts were frozen.
  if (whole && !core.journaled.isEmpty && core.gate.open) await replayJournal(core)
  if (report.ok) await recordProof(core.file, proved)
  return report
}

export async function freeze(core: LedgerCore, account: AccountRow): Promise<void> {
  await core.cache.withState(account, (state) => {
    // In memory first: from the moment at which the file says so, memory must not say otherwise.
    state.frozen = true
    return setFrozen(core.file, account, core.clock.now())
  })
}

async function unfreezeExcept(core: LedgerCore, suspects: ReadonlySet<AccountRow>): Promise<void> {
  for (const { row } of await listFrozen(core.db)) {
    const account = row as AccountRow
    if (suspects.has(account)) continue
    await setFrozen(core.file, account, null)
    const state = core.ledgerState.accounts.get(account)
    if (state) state.frozen = false
  }
}

async function inSlices(
  nowMicros: () => number,
  rows: Omit<RowSlice, 'limit'>,
  check: (slice: RowSlice) => Promise<readonly CheckedRows[]>,
): Promise<void> {
  const size = createSliceSize(nowMicros)
  for (let { after } = rows; ; ) {
    const found = await size.timed((limit) => check({ ...rows, after, limit }))
    if (found.length === 0) return
    after = Math.max(...found.map(({ last }) => last))
  }
}

async function proveWallets(db: LedgerDb, nowMicros: () => number, tally: Tally): Promise<void> {
  const size = createSliceSize(nowMicros)
  for (let after = 0; ; ) {
    const wallets = await size.timed((limit) => checkWallets(db, after, limit))
    for (const { account, posted, held, overdrawn } of wallets) {
      if (posted) tally.broken(BALANCE_RULES.posted, account)
      if (held) tally.broken(BALANCE_RULES.held, account)
      if (overdrawn) tally.broken(BALANCE_RULES.overdrawn, account)
    }
    tally.accounts += wallets.length
    const last = wallets.at(-1)
    if (!last) return
    after = last.account
  }
}

type Tally = ReturnType<typeof createTally>

function createTally() {
  const names = [...TRANSFER_RULE_NAMES, ...RECEIPT_RULE_NAMES, ...Object.values(BALANCE_RULES)]
  const violations = new Map(names.map((name) => [name, 0]))
  const suspects = new Set<AccountRow>()
  const sums = { issued: 0n, revenue: 0n, granted: 0n, expired: 0n, usedOfWindows: 0n }
  const rows = { receipts: 0, transfers: 0 }
  const broken = (name: string, account: number | null | undefined, times = 1) => {
    violations.set(name, (violations.get(name) ?? 0) + times)
    // A violation on the other sides belongs to no account.
    if (account != null) suspects.add(account as AccountRow)
  }
  return {
    accounts: 0,
    sums,
    broken,
    addRows(table: 'receipts' | 'transfers', found: readonly CheckedRows[]) {
      const rules = table === 'receipts' ? RECEIPT_RULE_NAMES : TRANSFER_RULE_NAMES
      for (const each of found) {
        rows[table] += each.rows
        rules.forEach((name, place) => {
          if (each.broken & (1 << place)) broken(name, each.account, each.rows)
        })
        addTo(sums, each)
      }
      return found
    },
    addWindow({ account, held, overdrawn }: CheckedPeriod, isExact: boolean) {
      if (!isExact) broken(BALANCE_RULES.posted, account)
      if (held) broken(BALANCE_RULES.held, account)
      if (overdrawn) broken(BALANCE_RULES.overdrawn, account)
    },
    addCap({ account, held, overdrawn }: CheckedPeriod, isExact: boolean) {
      if (!isExact) broken(BALANCE_RULES.spent, account)
      if (held) broken(BALANCE_RULES.heldUnderCap, account)
      if (overdrawn) broken(BALANCE_RULES.bound, account)
    },
    report({ withSums }: { readonly withSums: boolean }): VerifyReport {
      const checks = [...violations].map(([name, count]) => ({ name, violations: count }))
      const all = checks.reduce((total, check) => total + check.violations, 0)
      return {
        ok: all === 0,
        violations: all,
        checks,
        suspects: [...suspects],
        accounts: this.accounts,
        ...rows,
        sums: withSums ? issuedSums(sums) : undefined,
      }
    },
  }
}

type Sums = Record<'issued' | 'revenue' | 'granted' | 'expired' | 'usedOfWindows', bigint>

/** A plan's charge counts as used in each window that it holds on. */
function addTo(sums: Sums, rows: CheckedRows): void {
  const amount = exactSum(rows)
  switch (rows.kind) {
    case 'wallet':
      sums.revenue += amount
      return
    case 'builder':
      sums.usedOfWindows += amount * BigInt(rows.balances)
      return
    case 'grant':
      sums.granted += amount
      return
    case 'expiry':
      sums.expired -= amount
      return
    default:
      sums.issued += amount
  }
}

const issuedSums = ({ issued, revenue, granted, expired, usedOfWindows }: Sums): IssuedSums => ({
  usd: { issued: `${issued}`, used: `${revenue}` },
  quota: { issued: `${granted}`, used: `${usedOfWindows}`, expired: `${expired}` },
})

interface PeriodProof {
  readonly db: LedgerDb
  nowMicros(): number
  /** Checks only open periods, from the sums of the last proof. */
  readonly sinceProof: boolean
  /** Called for every period, with whether its charges add up to its usage. */
  found(period: CheckedPeriod, isExact: boolean): void
  keep(sums: readonly ProvedSumsTable[]): Promise<void>
}

/** Each period is read with its receipts. */
const PERIODS_LEAST = 100

async function proveWindows(proof: PeriodProof): Promise<void> {
  const size = createSliceSize(proof.nowMicros, PERIODS_LEAST)
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

/** Spend caps of one account that are added up together. */
const CAPS_AT_ONCE = 10_000

/** The spend caps of one account are added up together, so that its receipts are read once for thousands of keys. */
async function proveCaps(proof: PeriodProof): Promise<void> {
  const size = createSliceSize(proof.nowMicros, PERIODS_LEAST)
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

/** Each page of receipts is summed only for the keys that occur in it. */
async function addUpCaps(proof: PeriodProof, counters: readonly CheckedPeriod[]): Promise<void> {
  const { db } = proof
  const account = counters[0]!.account
  const added = await rangesOf(proof, counters)
  /** Null: of people and teams, whose keys are not looked up. */
  const byKey = new Map<number | null, AddedCap[]>()
  for (const cap of added) byKey.set(cap.key, [...(byKey.get(cap.key) ?? []), cap])
  const from = added.reduce((least, cap) => Math.min(least, cap.from), Number.POSITIVE_INFINITY)
  const to = added.reduce((most, cap) => Math.max(most, cap.to), 0)
  await inPages(proof, { from, to }, async (page) => {
    const slice = { account, ...page }
    const caps = [...(await listKeysUnderCaps(db, slice)), null].flatMap((key) => byKey.get(key) ?? [])
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

/** The movements that may have charged each cap. Turns of its period ended after those that ended before it began. */
async function rangesOf({ db }: PeriodProof, counters: readonly CheckedPeriod[]): Promise<readonly AddedCap[]> {
  const starts = new Map<number, number>()
  const added: AddedCap[] = []
  // A period without a beginning, as a run has, begins with its first receipt: else each new one would need the whole history.
  const unproved = counters.filter(({ after, period_start }) => after === 0 && period_start === 0)
  const firsts = unproved.map(({ first_receipt }) => first_receipt!)
  const first = firsts.reduce((least, row) => Math.min(least, row), Number.POSITIVE_INFINITY)
  const opened = firsts.length === 0 ? undefined : await findOpeningOf(db, first)
  for (const counter of counters) {
    const { account, subject, after, last, period_start, first_receipt, proved_nano } = counter
    const start = period_start === 0 ? (opened ?? 0) : period_start
    let from = after > 0 ? after : starts.get(start)
    if (from === undefined) {
      from = await findMovementAt(db, account, { last, at: start - 1, otherwise: 0 })
      starts.set(start, from)
    }
    const { key, mark } = readCapSubject(subject)
    added.push({
      counter,
      key,
      mark,
      firstReceipt: first_receipt!,
      from,
      to: last,
      sum: proved_nano,
    })
  }
  return added
}

/** The movements after `from`, up to and including `to`, in pages. */
async function inPages(
  { nowMicros }: PeriodProof,
  { from, to }: { readonly from: number; readonly to: number },
  add: (page: { readonly after: number; readonly to: number }) => Promise<void>,
): Promise<void> {
  const size = createSliceSize(nowMicros)
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

/** How long a slice should block the worker that also records every settle. */
const TARGET_MS = 2

/** Fewer rows would cost less than the query itself. */
const LEAST = 200

/** Adapts the rows of a slice to how long the last slices took. */
function createSliceSize(nowMicros: () => number, least = LEAST) {
  const most = 4 * least
  let rows = least
  return {
    async timed<Result>(read: (rows: number) => Promise<Result>): Promise<Result> {
      const began = nowMicros()
      const result = await read(rows)
      const ms = (nowMicros() - began) / 1000
      if (ms > 2 * TARGET_MS) rows = Math.max(least, rows >> 1)
      else if (ms < TARGET_MS) rows = Math.min(most, rows + (rows >> 2))
      return result
    },
  }
}
