import { describe, expect, it } from 'vitest'
import {
  accountOf,
  assign,
  builderWith,
  capOf,
  changesOf,
  DAY_MS,
  FREE_TERMS,
  HOUR_MS,
  kindsOf,
  stateWith,
  time,
  turnsOn,
  windowOf,
} from '../../../test/fixtures/ledger/state/state.ts'
import { allowanceStatusOf } from './allowances.ts'
import { type LedgerState, PERIOD_ROWS_FROM } from './state.ts'

const T0 = time('2026-03-10T09:30:00Z')
const FIVE_HOURS = windowOf('5h', 5_000n)
const WEEK = windowOf('week', 9_000n)
const MONTH = windowOf('month', 20_000n)

const counterOf = (ledgerState: LedgerState) => accountOf(ledgerState).counters.get('cap:1:day')!
const periodOf = (ledgerState: LedgerState, subject: string) => accountOf(ledgerState).periods.get(subject)
const span = (ledgerState: LedgerState, subject: string) => {
  const { start, end } = periodOf(ledgerState, subject)!
  return [new Date(start).toISOString(), new Date(end).toISOString()]
}

describe('a window', () => {
  it('opens with its first use, granted whole, and the grant has another side', () => {
    const { ledgerState, hold } = builderWith([FIVE_HOURS], T0)
    expect(accountOf(ledgerState).periods.size).toBe(0)
    const changes = changesOf(hold('a', 500, T0 + HOUR_MS))
    expect(changes[0]).toMatchObject({ kind: 'period-opened', start: T0 + HOUR_MS })
    expect(changes[1]).toMatchObject({ kind: 'transferred', transferKind: 'grant', amount: 5_000n, contra: -11 })
    expect(periodOf(ledgerState, 'window:5h')).toMatchObject({ posted: 5_000n, held: 1_500n, end: T0 + 6 * HOUR_MS })
  })

  it('is not opened by a request that is refused', () => {
    const { ledgerState, hold } = builderWith([FIVE_HOURS, WEEK], T0)
    expect(hold('a', 6_000, T0).kind).toBe('exceeds-allowance')
    expect(accountOf(ledgerState).periods.size).toBe(0)
  })

  it('that is anchored starts with the first request after the previous one has ended', () => {
    const { ledgerState, hold, settle } = builderWith([FIVE_HOURS], T0)
    hold('a', 500, T0)
    settle('a', 1_200n, T0 + 1)
    hold('b', 500, T0 + 5 * HOUR_MS - 1)
    expect(span(ledgerState, 'window:5h')[0]).toBe('2026-03-10T09:30:00.000Z')
    settle('b', 700n, T0 + 5 * HOUR_MS - 1)
    hold('c', 500, T0 + 7 * HOUR_MS)
    expect(span(ledgerState, 'window:5h')).toEqual(['2026-03-10T16:30:00.000Z', '2026-03-10T21:30:00.000Z'])
    expect(periodOf(ledgerState, 'window:5h')?.posted).toBe(5_000n)
  })

  it('with no charge and no hold counts as unopened: the next use begins it again, on the same row', () => {
    const { ledgerState, hold, release } = builderWith([FIVE_HOURS], T0)
    hold('a', 500, T0)
    release('a', T0 + HOUR_MS)
    const { row } = periodOf(ledgerState, 'window:5h')!
    const changes = kindsOf(hold('b', 500, T0 + 2 * HOUR_MS))
    expect(changes).toEqual(['period-moved', 'receipt-opened', 'bucket-moved'])
    expect(periodOf(ledgerState, 'window:5h')).toMatchObject({ row, start: T0 + 2 * HOUR_MS, posted: 5_000n })
  })

  it('that counts as unopened is granted by the plan as it is then, less as well as more', () => {
    const { ledgerState, hold, release } = builderWith([FIVE_HOURS], T0)
    hold('a', 500, T0)
    release('a', T0)
    hold('b', 500, T0, { allowances: [windowOf('5h', 3_000n)] })
    expect(periodOf(ledgerState, 'window:5h')).toMatchObject({ granted: 3_000n, posted: 3_000n, held: 1_500n })
  })

  it('of a calendar month that counts as unopened turns by the day of billing as it is then', () => {
    const start = time('2026-01-31T10:00:00Z')
    const { ledgerState, hold, release } = builderWith([MONTH], start)
    hold('a', 500, start)
    release('a', start)
    expect(span(ledgerState, 'window:month')[1]).toBe('2026-02-28T00:00:00.000Z')
    accountOf(ledgerState).subscription = { ...accountOf(ledgerState).subscription!, billingDay: 5 }
    hold('b', 500, time('2026-02-10T10:00:00Z'))
    expect(span(ledgerState, 'window:month')).toEqual(['2026-02-05T00:00:00.000Z', '2026-03-05T00:00:00.000Z'])
  })

  it('is held on in all of its plan or in none', () => {
    const { ledgerState, hold } = builderWith([FIVE_HOURS, WEEK, MONTH], T0)
    hold('a', 3_000, T0)
    expect([...accountOf(ledgerState).periods.values()].map(({ held }) => held)).toEqual([4_000n, 4_000n, 4_000n])
    expect(hold('b', 1_000, T0)).toMatchObject({ kind: 'in-flight', of: { name: '5h' } })
    expect([...accountOf(ledgerState).periods.values()].map(({ held }) => held)).toEqual([4_000n, 4_000n, 4_000n])
  })

  it('is settled where it was held, even if it has ended meanwhile: late settlement never eats the new one', () => {
    const { ledgerState, hold, settle } = builderWith([FIVE_HOURS], T0)
    hold('a', 3_000, T0)
    const old = periodOf(ledgerState, 'window:5h')!
    hold('b', 500, T0 + 6 * HOUR_MS)
    expect([old.held, accountOf(ledgerState).endedWithHolds.has(old)]).toEqual([4_000n, true])
    const closed = settle('a', 2_500n, T0 + 6 * HOUR_MS)
    expect(closed).toMatchObject({ kind: 'closed', charge: 2_500n })
    expect(periodOf(ledgerState, 'window:5h')).toMatchObject({ posted: 5_000n, held: 1_500n })
    expect(changesOf(closed).slice(-1)).toMatchObject([{ kind: 'period-closed', bucket: old.row }])
  })

  it('does not expire under a hold: its rest expires when the last turn on it has ended', () => {
    const { ledgerState, hold, settle, release } = builderWith([FIVE_HOURS], T0)
    hold('a', 500, T0)
    hold('b', 500, T0)
    const later = kindsOf(hold('c', 500, T0 + 6 * HOUR_MS))
    expect(later).not.toContain('period-closed')
    expect(kindsOf(settle('a', 1_100n, T0 + 6 * HOUR_MS))).not.toContain('period-closed')
    const changes = changesOf(release('b', T0 + 6 * HOUR_MS))
    expect(changes.find(({ kind }) => kind === 'transferred')).toMatchObject({
      transferKind: 'expiry',
      amount: -3_900n,
      contra: -13,
    })
    expect(accountOf(ledgerState).endedWithHolds.size).toBe(0)
  })

  it('without holds is closed when the next one opens, and its rest expires', () => {
    const { ledgerState, hold, settle } = builderWith([FIVE_HOURS], T0)
    hold('a', 500, T0)
    settle('a', 1_100n, T0)
    const old = periodOf(ledgerState, 'window:5h')!
    const changes = changesOf(hold('b', 500, T0 + 6 * HOUR_MS))
    expect(changes.map(({ kind }) => kind).slice(0, 6)).toEqual([
      'transferred',
      'bucket-moved',
      'period-closed',
      'period-opened',
      'transferred',
      'bucket-moved',
    ])
    expect(changes[0]).toMatchObject({ transferKind: 'expiry', amount: -3_900n, bucket: old.row })
  })

  it('opens only when the latest of its kind has ended: a new day of billing makes none overlap', () => {
    const start = time('2026-01-31T10:00:00Z')
    const { ledgerState, hold, settle } = builderWith([MONTH], start)
    hold('a', 500, start)
    settle('a', 1_000n, start)
    assign(ledgerState, 'plan', [MONTH], time('2026-02-05T00:00:00Z'), time('2026-02-09T00:00:00Z'))
    assign(ledgerState, 'plan', [MONTH], time('2026-02-10T00:00:00Z'))
    expect(accountOf(ledgerState).subscription?.billingDay).toBe(10)
    hold('b', 500, time('2026-02-27T23:59:59Z'))
    expect(span(ledgerState, 'window:month')).toEqual(['2026-01-31T00:00:00.000Z', '2026-02-28T00:00:00.000Z'])
    hold('c', 500, time('2026-02-28T00:00:00Z'))
    expect(span(ledgerState, 'window:month')).toEqual(['2026-02-28T00:00:00.000Z', '2026-03-10T00:00:00.000Z'])
  })

  it('that is begun again does not reach back into the one before', () => {
    const start = time('2026-01-31T10:00:00Z')
    const { ledgerState, hold, settle, release } = builderWith([MONTH], start)
    hold('a', 500, start)
    settle('a', 1_000n, start)
    accountOf(ledgerState).subscription = { ...accountOf(ledgerState).subscription!, billingDay: 10 }
    hold('b', 500, time('2026-03-01T00:00:00Z'))
    release('b', time('2026-03-01T00:00:00Z'))
    hold('c', 500, time('2026-03-02T00:00:00Z'), { allowances: [windowOf('month', 30_000n)] })
    expect(span(ledgerState, 'window:month')).toEqual(['2026-02-28T00:00:00.000Z', '2026-03-10T00:00:00.000Z'])
  })
})

describe('a spend cap', () => {
  const caps = [capOf('day', 3_000n), capOf('month', 10_000n)]
  const walletWith = (posted: bigint) => {
    const ledgerState = stateWith(posted)
    return { ledgerState, ...turnsOn(ledgerState, { allowances: caps }) }
  }

  it('is held on in the same step as the wallet, and both are charged', () => {
    const { ledgerState, hold, settle } = walletWith(50_000n)
    hold('a', 1_000, T0)
    settle('a', 1_600n, T0)
    const { wallet, counters } = accountOf(ledgerState)
    expect([wallet.posted, ...[...counters.values()].map(({ spent }) => spent)]).toEqual([48_400n, 1_600n, 1_600n])
  })

  it('turns at 00:00 UTC', () => {
    const { ledgerState, hold, settle } = walletWith(50_000n)
    hold('a', 2_000, time('2026-02-28T23:59:59.999Z'))
    settle('a', 3_000n, time('2026-02-28T23:59:59.999Z'))
    expect(hold('b', 10, time('2026-02-28T23:59:59.999Z'))).toMatchObject({ kind: 'cap-reached', resetsInMs: 1 })
    expect(hold('b', 10, time('2026-03-01T00:00:00Z')).kind).toBe('held')
    const { start, end } = counterOf(ledgerState)
    expect([start, end]).toEqual([time('2026-03-01T00:00:00Z'), time('2026-03-02T00:00:00Z')])
  })

  it('counts nothing in a later period of what was held in an earlier one', () => {
    const { ledgerState, hold, settle } = walletWith(50_000n)
    hold('a', 1_000, time('2026-02-28T23:59:59.999Z'))
    hold('b', 10, time('2026-03-01T00:00:00Z'))
    const before = { ...counterOf(ledgerState) }
    const settled = changesOf(settle('a', 1_600n, time('2026-03-01T00:00:01Z')))
    expect(counterOf(ledgerState)).toEqual(before)
    expect(settled.filter(({ kind }) => kind === 'counter-set')).toEqual([])
  })

  it('is one row for all its periods, and no transfer', () => {
    const { ledgerState, hold, settle } = walletWith(50_000n)
    const changes = Array.from({ length: 40 }, (_, day) => {
      const held = changesOf(hold(`${day}`, 10, T0 + day * DAY_MS))
      return [...held, ...changesOf(settle(`${day}`, 5n, T0 + day * DAY_MS))]
    }).flat()
    expect(changes.filter(({ kind }) => kind === 'transferred')).toEqual([])
    expect([...accountOf(ledgerState).counters.keys()]).toEqual(['cap:1:day', 'cap:1:month'])
    expect([ledgerState.next.bucket, ledgerState.next.transfer]).toEqual([PERIOD_ROWS_FROM, 1])
  })

  it('counts at once when it is changed, and what was used of it stays used', () => {
    const { ledgerState, hold, settle } = walletWith(50_000n)
    hold('a', 1_000, T0)
    settle('a', 2_000n, T0)
    expect(hold('b', 500, T0)).toMatchObject({ kind: 'cap-reached', limit: 3_000n, used: 2_000n })
    expect(hold('b', 500, T0, { allowances: [capOf('day', 3_500n)] }).kind).toBe('held')
    expect(counterOf(ledgerState)).toMatchObject({ bound: 3_500n, spent: 2_000n, held: 1_500n })
    expect(hold('c', 10, T0, { allowances: [capOf('day', 1_000n)] })).toMatchObject({ used: 2_000n, available: 0n })
    expect(counterOf(ledgerState)).toMatchObject({ bound: 3_500n, spent: 2_000n })
  })
})

describe('a turn that costs nothing', () => {
  it('passes where everything is used up, and opens no window', () => {
    const { ledgerState, hold, settle } = builderWith([FIVE_HOURS], T0)
    hold('a', 4_000, T0)
    settle('a', 5_000n, T0)
    expect(hold('b', 10, T0).kind).toBe('exhausted')
    expect(hold('b', 10, T0, { terms: FREE_TERMS })).toMatchObject({ kind: 'held', heldAmount: 0n })
    expect(hold('c', 10, T0 + DAY_MS, { terms: FREE_TERMS })).toMatchObject({ kind: 'held', heldAmount: 0n })
    expect(periodOf(ledgerState, 'window:5h')?.start).toBe(T0)
  })

  it('passes below a spend cap that was lowered under what is used', () => {
    const ledgerState = stateWith(50_000n)
    const { hold, settle } = turnsOn(ledgerState, { allowances: [capOf('day', 3_000n)] })
    hold('a', 1_000, T0)
    settle('a', 2_000n, T0)
    const lowered = [capOf('day', 1_000n)]
    expect(hold('b', 10, T0, { terms: FREE_TERMS, allowances: lowered })).toMatchObject({
      kind: 'held',
      heldAmount: 0n,
    })
  })

  it('stands on no window, which may so be closed while it runs', () => {
    const { ledgerState, hold, settle } = builderWith([FIVE_HOURS], T0)
    hold('a', 500, T0)
    settle('a', 1_000n, T0)
    const free = changesOf(hold('free', 10, T0, { terms: FREE_TERMS }))
    expect(free.find(({ kind }) => kind === 'receipt-opened')).toMatchObject({ buckets: [], heldAmount: 0n })
    expect(kindsOf(hold('b', 500, T0 + DAY_MS))).toContain('period-closed')
    expect(settle('free', 0n, T0 + DAY_MS)).toMatchObject({ kind: 'closed', charge: 0n, shortfall: 0n })
    expect(ledgerState.turns.size).toBe(1)
  })
})

describe('the status of an allowance', () => {
  it('that was never used has its whole amount, and no running period', () => {
    const status = allowanceStatusOf(accountOf(stateWith(0n)), capOf('day', 700n), T0)
    expect(status).toMatchObject({ running: undefined, granted: 700n, posted: 700n, held: 0n })
  })
})
