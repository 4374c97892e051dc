import { systemClock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import { type CheckedPeriod, checkWallets, findBooksEnd } from '../store/check-balances.ts'
import {
  type CheckedRows,
  checkReceipts,
  checkTransfers,
  RECEIPT_RULE_NAMES,
  type RowSlice,
  TRANSFER_RULE_NAMES,
} from '../store/check-rows.ts'
import { exactSum } from '../store/exact-sum.ts'
import type { ProvedSumsTable } from '../store/proof-tables.ts'
import type { StoredProof } from '../store/proofs.ts'
import type { LedgerDb } from '../store/tables.ts'
import { proveCaps, proveWindows } from './check-periods.ts'
import { createSliceSize } from './slice-size.ts'

export interface VerifyReport {
  readonly ok: boolean
  readonly violations: number
  readonly checks: readonly { readonly name: string; readonly violations: number }[]
  /** Whose rows or balances do not add up. */
  readonly suspects: readonly AccountRow[]
  readonly accounts: number
  readonly receipts: number
  readonly transfers: number
  /** What no row of the books keeps, in billionths: of a proof from the first row on. May be more than 64 bits hold. */
  readonly sums?: IssuedSums | undefined
}

/** Of dollars: what was put in less what was taken out, and revenue. Of windows: what was granted, used and expired. */
export interface IssuedSums {
  readonly usd: { readonly issued: string; readonly used: string }
  readonly quota: { readonly issued: string; readonly used: string; readonly expired: string }
}

export const NOTHING_PROVED: StoredProof = { receipt: 0, transfer: 0, issued: 0n }

const BALANCE_RULES = {
  posted: 'posted is the sum of entries',
  dollars: 'the outside world has what came from it',
  held: 'held is the sum of open holds',
  overdrawn: 'no account is overdrawn (the other sides may be)',
  spent: 'a spend cap has counted what was charged',
  heldUnderCap: 'a spend cap counts the open holds',
  bound: 'what a spend cap has counted is within its bound',
} as const

export interface VerifyOptions {
  readonly db: LedgerDb
  readonly since?: StoredProof
  /** Keeps what was proved of periods with many receipts. */
  readonly keep?: (sums: readonly ProvedSumsTable[]) => Promise<void>
  readonly ticks?: () => number
}

/**
 * Proves the books from the rows alone, while they are in use, a slice at a time. What is proved needs no moment that all of
 * it shares. A closed receipt and a transfer never change, so rows are proved as they are met, each against the movement
 * before it. A balance is proved against the last movement that its account has in the same statement, and a batch is in
 * the file whole or not at all. A later proof begins where this one says that everything before is closed.
 */
export async function verifyBooks({
  db,
  since = NOTHING_PROVED,
  keep = async () => {},
  ticks = () => systemClock.ticks(),
}: VerifyOptions): Promise<{ readonly report: VerifyReport; readonly proved: StoredProof }> {
  const sinceProof = since !== NOTHING_PROVED
  const tally = createTally()
  const end = await findBooksEnd(db)
  const receipts = { after: since.receipt, to: end.last_receipt }
  await inSlices(ticks, receipts, async (slice) => tally.addRows('receipts', await checkReceipts(db, slice)))
  const transfers = { after: since.transfer, to: end.last_transfer }
  await inSlices(ticks, transfers, async (slice) => tally.addRows('transfers', await checkTransfers(db, slice)))
  // Every other balance of dollars is proved by its own movements, whose two sides are equal: so all of them sum to zero.
  const issued = since.issued + tally.sums.issued
  if (end.outside_nano !== -issued) tally.broken(BALANCE_RULES.dollars, undefined)
  await proveWallets(db, ticks, tally)
  const proof = { db, ticks, sinceProof, keep }
  await proveWindows({ ...proof, found: (window, isExact) => tally.addWindow(window, isExact) })
  await proveCaps({ ...proof, found: (counter, isExact) => tally.addCap(counter, isExact) })
  const allClosedTo = end.first_open === null ? end.last_receipt : end.first_open - 1
  const proved = { receipt: Math.max(since.receipt, allClosedTo), transfer: end.last_transfer, issued }
  return { report: tally.report({ withSums: !sinceProof }), proved }
}

async function inSlices(
  ticks: () => number,
  rows: Omit<RowSlice, 'limit'>,
  check: (slice: RowSlice) => Promise<readonly CheckedRows[]>,
): Promise<void> {
  const size = createSliceSize(ticks)
  for (let { after } = rows; ; ) {
    const found = await size.timed((limit) => check({ ...rows, after, limit }))
    if (found.length === 0) return
    after = Math.max(...found.map(({ last }) => last))
  }
}

async function proveWallets(db: LedgerDb, ticks: () => number, tally: Tally): Promise<void> {
  const size = createSliceSize(ticks)
  for (let after = 0; ; ) {
    const wallets = await size.timed((limit) => checkWallets(db, after, limit))
    for (const { account, posted, held, overdrawn } of wallets) {
      if (posted) tally.broken(BALANCE_RULES.posted, account)
      if (held) tally.broken(BALANCE_RULES.held, account)
      if (overdrawn) tally.broken(BALANCE_RULES.overdrawn, account)
    }
    // An account is never without its wallet, and has one.
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
    // What broke on the other sides is nobody's alone.
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
        sums: withSums ? told(sums) : undefined,
      }
    },
  }
}

type Sums = Record<'issued' | 'revenue' | 'granted' | 'expired' | 'usedOfWindows', bigint>

/** By the kind of the receipts or transfers. A plan's charge is used of each window that it stands on. */
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

const told = ({ issued, revenue, granted, expired, usedOfWindows }: Sums): IssuedSums => ({
  usd: { issued: `${issued}`, used: `${revenue}` },
  quota: { issued: `${granted}`, used: `${usedOfWindows}`, expired: `${expired}` },
})
