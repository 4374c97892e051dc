import { expect } from 'vitest'
import type { Period, Unit } from '../../model/allowance.ts'
import { type Change, EXPIRED, SIDES } from './state.ts'

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
  readonly account: number
  readonly caps: readonly string[]
  readonly at: number
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
  const ofAccount = new Map<number, KeptReceipt[]>()
  const counts = { opened: 0, moved: 0, closed: 0, grants: 0, expiries: 0, charges: 0 }
  const plain = { start: 0, end: 0, held: 0n, closed: false, granted: 0n, expired: 0n, charged: 0n }
  for (const [account, { row, posted }] of wallets)
    buckets.set(row, { ...plain, unit: 'usd', account, subject: 'wallet', posted })
  for (const unit of ['usd', 'quota'] as const) {
    const sides = [SIDES[unit].issued, SIDES[unit].used, ...(unit === 'usd' ? [] : [EXPIRED])]
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
        buckets.set(change.bucket, { ...plain, ...change, unit: 'quota', posted: 0n })
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
        const { keyKind: kind, buckets: on, hold, receipt, account, caps, at } = change
        const kept: KeptReceipt = { account, caps, at, kind, buckets: on, hold, open: true, charge: 0n }
        receipts.set(receipt, kept)
        const others = ofAccount.get(account)
        if (others) others.push(kept)
        else ofAccount.set(account, [kept])
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
      const moved = new Map<number, bigint>()
      // As the database records a batch: periods are there before anything moves on them, and close last.
      const closings = changes.filter(({ kind }) => kind === 'period-closed')
      for (const change of changes) if (change.kind === 'period-opened') write(change)
      for (const change of changes) {
        if (change.kind === 'bucket-moved') move(moved, change.bucket, change.posted)
        if (change.kind === 'transferred') {
          move(moved, change.bucket, -change.amount)
          if (change.counter === SIDES.usd.issued) move(moved, change.counter, change.amount)
        }
        if (change.kind === 'receipt-closed')
          for (const row of receipts.get(change.receipt)!.buckets) move(moved, row, change.charge)
        if (change.kind !== 'period-opened' && change.kind !== 'period-closed') write(change)
      }
      closings.forEach(write)
      expect(
        [...moved].filter(([, rest]) => rest !== 0n),
        'balances move by their entries',
      ).toEqual([])
      for (const change of changes) {
        if (change.kind !== 'bucket-moved') continue
        const { account, posted, held } = bucketOf(change.bucket)
        expect(held).toBeGreaterThanOrEqual(0n)
        if (account !== undefined) expect(posted - held).toBeGreaterThanOrEqual(0n)
      }
    },
    /** What the receipts of a period say that a key has spent and holds under one of its caps. */
    countedIn(account: number, name: string, { start, end }: Period): { charged: bigint; held: bigint } {
      const counted: KeptReceipt[] = []
      // The newest first: times never fall.
      const own = ofAccount.get(account) ?? []
      for (let place = own.length - 1; place >= 0; place--) {
        const one = own[place]!
        if (one.at < start) break
        if (one.caps.includes(name) && one.at < end) counted.push(one)
      }
      return {
        charged: counted.reduce((sum, { charge }) => sum + charge, 0n),
        held: counted.filter(({ open }) => open).reduce((sum, { hold }) => sum + hold, 0n),
      }
    },
    /** Windows that somebody used or holds on; one without either counts as unopened. */
    expectNoOverlap(): number {
      const used = [...buckets.entries()].filter(
        ([, { subject, charged, held }]) => /^window:/.test(subject) && (charged > 0n || held > 0n),
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

const move = (moved: Map<number, bigint>, row: number, by: bigint) => void moved.set(row, (moved.get(row) ?? 0n) + by)

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}
