import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import type { AccountRow } from '../model/ids.ts'
import { createDrains } from './cancellation.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function open(atOnceMax: number) {
  const drains = createDrains({ nowMicros: () => 0 }, { msMax: 1000, atOnceMax })
  const stopped: string[] = []
  const begin = (account: number, name = `${account}`) =>
    drains.begin(account as AccountRow, () => void stopped.push(name)) !== undefined
  return { drains, stopped, begin }
}

it('gives one account no more than half of the places', () => {
  const { drains, begin, stopped } = open(100)
  const begun = Array.from({ length: 100 }, () => begin(1)).filter(Boolean)
  expect([begun.length, drains.running, stopped]).toEqual([50, 50, []])
  expect(begin(2), 'the places of others are free').toBe(true)
})

it('takes the oldest drain of the account with most', () => {
  const { drains, begin, stopped } = open(4)
  for (const [account, name] of [
    [1, 'first'],
    [1, 'second'],
    [2, 'third'],
    [2, 'fourth'],
  ] as const)
    expect(begin(account, name)).toBe(true)
  expect(begin(3)).toBe(true)
  expect([drains.running, stopped]).toEqual([4, ['first']])
  expect(begin(3), 'it would have as many as the other, who would have one').toBe(false)
  expect(begin(4)).toBe(true)
  expect([drains.running, stopped]).toEqual([4, ['first', 'third']])
})

it('takes nothing for an account that would then have as many', () => {
  const { begin, stopped } = open(2)
  expect([begin(1), begin(2), begin(3), stopped]).toEqual([true, true, false, []])
})

it('never runs more than there are places, and leaves no timer, in any order of beginnings and ends', () => {
  const seed = 20_261_123
  const below = randomFrom(seed)
  const drains = createDrains({ nowMicros: () => 0 }, { msMax: 1000, atOnceMax: 9 })
  const live = new Map<object, { account: number; over: () => void }>()
  const tally = { begun: 0, refused: 0, displaced: 0, ended: 0 }
  for (let step = 0; step < 20_000; step++) {
    if (below(3) > 0) {
      const account = below(5)
      const id = {}
      const over = drains.begin(account as AccountRow, () => {
        live.delete(id)
        tally.displaced++
      })
      if (over === undefined) tally.refused++
      else live.set(id, { account, over })
      if (over !== undefined) tally.begun++
    } else {
      const [entry] = [...live].slice(below(live.size + 1))
      entry?.[1].over()
      if (entry && live.delete(entry[0])) tally.ended++
    }
    expect(drains.running).toBe(live.size)
    expect(live.size).toBeLessThanOrEqual(9)
    const counts = new Map<number, number>()
    for (const { account } of live.values()) counts.set(account, (counts.get(account) ?? 0) + 1)
    expect(Math.max(0, ...counts.values())).toBeLessThanOrEqual(5)
  }
  console.info(`drains: seed ${seed}, ${JSON.stringify(tally)}`)
  for (const { over } of live.values()) over()
  expect([drains.running, vi.getTimerCount()]).toEqual([0, 0])
  expect(Math.min(...Object.values(tally))).toBeGreaterThan(100)
})
