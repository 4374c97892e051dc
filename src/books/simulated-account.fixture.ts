import { expect } from 'vitest'
import type { Unit } from '../model/allowance.ts'
import type { Change } from './changes.ts'
import { EXPIRED, SIDES } from './sides.ts'

interface KeptBucket {
  readonly unit: Unit
  readonly account: number | undefined
  readonly subject: string
  start: number
  end: number
  posted: bigint
  held: bigint
  closed: boolean
  granted: bigint
  expired: bigint
  /** Of the receipts that were settled on it: what a person would add up. */
  charged: bigint
}

interface KeptReceipt {
  readonly kind: 'wallet' | 'builder'
  readonly buckets: readonly number[]
  readonly hold: bigint
  open: boolean
  charge: bigint
}

/**
 * Rows as a clerk would keep them who knows nothing of periods: every change that the reducer tells is written down, and
 * after each operation the rules are looked at that must hold whatever was asked.
 */
export function createClerk(wallets: ReadonlyMap<number, { readonly row: number; readonly posted: bigint }>) {
  const buckets = new Map<number, KeptBucket>()
  const receipts = new Map<number, KeptReceipt>()
  const counts = { opened: 0, moved: 0, closed: 0, grants: 0, expiries: 0, charges: 0 }
  const plain = { start: 0, end: 0, held: 0n, closed: false, granted: 0n, expired: 0n, charged: 0n }
  for (const [account, { row, posted }] of wallets)
    buckets.set(row, { ...plain, unit: 'usd', account, subject: 'wallet', posted })
  for (const unit of ['usd', 'quota', 'cap'] as const) {
    const sides = [SIDES[unit].issued, SIDES[unit].used, ...(unit === 'usd' ? [] : [EXPIRED[unit]])]
    for (const row of sides) buckets.set(row, { ...plain, unit, account: undefined, subject: 'system', posted: 0n })
  }

  const bucketOf = (row: number): KeptBucket => {
    const bucket = buckets.get(row)
    if (!bucket) throw new Error(`bucket ${row} moves and was never opened`)
    return bucket
  }

  const write = (change: Change): void => {
    switch (change.kind) {
      case 'period-opened':
        counts.opened++
        expect(buckets.has(change.bucket)).toBe(false)
        buckets.set(change.bucket, { ...plain, ...change, posted: 0n })
        return
      case 'period-moved':
        counts.moved++
        expect(bucketOf(change.bucket).charged, 'a used window stays where it is').toBe(0n)
        Object.assign(bucketOf(change.bucket), { start: change.start, end: change.end })
        return
      case 'period-closed': {
        counts.closed++
        const bucket = bucketOf(change.bucket)
        expect({ posted: bucket.posted, held: bucket.held }).toEqual({ posted: 0n, held: 0n })
        const holding = [...receipts.values()].filter((one) => one.open && one.buckets.includes(change.bucket))
        expect(holding, 'nothing expires under an open hold').toEqual([])
        expect(bucket.granted - bucket.expired).toBe(bucket.charged)
        bucket.closed = true
        return
      }
      case 'transferred': {
        const [bucket, counter] = [bucketOf(change.bucket), bucketOf(change.counter)]
        expect([bucket.unit, counter.unit], 'a transfer stays on one unit').toEqual([change.unit, change.unit])
        expect(change.unit === 'usd').toBe(['credit', 'refund', 'adjustment'].includes(change.transferKind))
        if (change.transferKind === 'grant') bucket.granted += change.amount
        if (change.transferKind === 'expiry') bucket.expired -= change.amount
        if (change.transferKind === 'grant') counts.grants++
        if (change.transferKind === 'expiry') counts.expiries++
        return
      }
      case 'bucket-moved': {
        const bucket = bucketOf(change.bucket)
        if (change.posted !== 0n || change.held !== 0n) expect(bucket.closed, 'a closed period moves').toBe(false)
        bucket.posted += change.posted
        bucket.held += change.held
        return
      }
      case 'receipt-opened': {
        const { keyKind: kind, buckets: on, hold, receipt } = change
        receipts.set(receipt, { kind, buckets: on, hold, open: true, charge: 0n })
        const units = on.map((row) => bucketOf(row).unit)
        expect(units.includes('usd'), 'a wallet key draws on the wallet, a builder key never').toBe(kind === 'wallet')
        expect(units.includes('quota'), 'a builder key draws on windows, a wallet key never').toBe(kind === 'builder')
        return
      }
      case 'receipt-closed': {
        const receipt = receipts.get(change.receipt)!
        Object.assign(receipt, { open: false, charge: change.charge })
        for (const row of receipt.buckets) bucketOf(row).charged += change.charge
        counts.charges++
        return
      }
      default:
        return
    }
  }

  return {
    counts,
    buckets,
    record(changes: readonly Change[]): void {
      const sums = { usd: 0n, quota: 0n, cap: 0n }
      // As the database records a batch: periods are there before anything moves on them, and close last.
      const closings = changes.filter(({ kind }) => kind === 'period-closed')
      for (const change of changes) if (change.kind === 'period-opened') write(change)
      for (const change of changes) {
        if (change.kind === 'bucket-moved') sums[bucketOf(change.bucket).unit] += change.posted
        if (change.kind !== 'period-opened' && change.kind !== 'period-closed') write(change)
      }
      closings.forEach(write)
      expect(sums, 'every unit sums to zero by itself').toEqual({ usd: 0n, quota: 0n, cap: 0n })
      for (const change of changes) {
        if (change.kind !== 'bucket-moved') continue
        const { account, posted, held } = bucketOf(change.bucket)
        expect(held).toBeGreaterThanOrEqual(0n)
        if (account !== undefined) expect(posted - held).toBeGreaterThanOrEqual(0n)
      }
    },
    /** Windows that somebody used or holds on; one without either counts as unopened. */
    expectNoOverlap(): number {
      const used = [...buckets.entries()].filter(
        ([, { subject, charged, held }]) => /^(window|cap):/.test(subject) && (charged > 0n || held > 0n),
      )
      const bySubject = groupBy(used, ([, { account, subject }]) => `${account} ${subject}`)
      for (const [subject, periods] of bySubject) {
        const sorted = periods.map(([, period]) => period).sort((a, b) => a.start - b.start)
        for (const [index, next] of sorted.entries()) {
          expect(next.end, `${subject} is empty`).toBeGreaterThan(next.start)
          const before = sorted[index - 1]
          if (before) expect(next.start, `${subject} overlaps`).toBeGreaterThanOrEqual(before.end)
        }
      }
      return used.length
    },
  }
}

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}
