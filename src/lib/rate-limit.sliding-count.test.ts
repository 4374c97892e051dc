import { expect, it } from 'vitest'
import { fractionsFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { createSlidingCount } from './rate-limit.ts'

const SPAN = 10_000
const SCHEDULES = 300

it('is between what the last nine tenths and the whole of the span had, whenever it is asked', () => {
  const random = fractionsFrom(20261122)
  let asked = 0
  for (let schedule = 0; schedule < SCHEDULES; schedule++) {
    let now = Math.floor(random() * 1e9)
    const count = createSlidingCount(() => now, SPAN)
    const added: number[] = []
    for (let step = 0; step < 40; step++) {
      now += random() < 0.1 ? Math.floor(random() * 3 * SPAN) : Math.floor(random() * (SPAN / 8))
      if (random() < 0.7) {
        count.add()
        added.push(now)
      }
      const total = count.total()
      asked++
      expect(total).toBeGreaterThanOrEqual(added.filter((at) => at > now - 0.9 * SPAN).length)
      expect(total).toBeLessThanOrEqual(added.filter((at) => at > now - SPAN).length)
    }
  }
  console.log(`sliding counts: seed 20261122, asked ${asked} times in ${SCHEDULES} schedules`)
})

it('begins at zero when it is cleared', () => {
  const count = createSlidingCount(() => 5, SPAN)
  count.add()
  count.clear()
  expect(count.total()).toBe(0)
})
