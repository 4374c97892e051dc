import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { fractionsFrom } from '../../test/fixtures/lib/seeded-random.ts'
import type { Lane } from '../catalog/catalog.ts'
import { firstShares, type LaneOrder, planLanes } from './plan-lanes.ts'

const lane = (id: string, priority: number, weight = 1) =>
  ({ id, priority, weight, model: id, upstream: { wire: 'chat', baseUrl: `https://${id}` } }) as Lane
const idsOf = (lanes: readonly Lane[]) => lanes.map(({ id }) => id)

const orderBy = (random: () => number, origin?: string): LaneOrder => ({ random, origin, shareOf: () => 1 })

describe('the order of lanes', () => {
  it('is by priority, whatever the weights and the draw', () => {
    const lanes = [lane('c', 3, 1000), lane('a', 1), lane('b', 2, 1000)]
    for (const drawn of [0, 0.5, 0.999999])
      expect(
        idsOf(
          planLanes(
            lanes,
            orderBy(() => drawn),
          ),
        ),
      ).toEqual(['a', 'b', 'c'])
  })

  it('begins with the lane that the conversation is on, whatever its priority', () => {
    const lanes = [lane('a', 1), lane('b', 2), lane('c', 3)].map((each) => ({ ...each, origin: `of-${each.id}` }))
    expect(
      idsOf(
        planLanes(
          lanes,
          orderBy(() => 0.5, 'of-c'),
        ),
      ),
    ).toEqual(['c', 'a', 'b'])
    expect(
      idsOf(
        planLanes(
          lanes,
          orderBy(() => 0.5, 'of-none-of-them'),
        ),
      ),
    ).toEqual(['a', 'b', 'c'])
  })

  it('goes on with the same provider and model among lanes of one priority', () => {
    const place = { model: 'm', upstream: { wire: 'chat', baseUrl: 'https://one' } as Lane['upstream'] }
    const lanes = [
      { ...lane('a', 1), ...place, origin: 'key-1' },
      ...[lane('b', 1, 1000), lane('c', 0)].map((each) => ({ ...each, origin: `of-${each.id}` })),
      { ...lane('d', 1), ...place, origin: 'key-2' },
      { ...lane('e', 2), ...place, origin: 'key-3' },
    ]
    for (let draw = 0; draw < 20; draw++)
      expect(idsOf(planLanes(lanes, orderBy(fractionsFrom(draw), 'key-1')))).toEqual(['a', 'c', 'd', 'b', 'e'])
  })

  it('keeps every lane exactly once and leaves the list as it was', () => {
    const lanes = [lane('a', 1), lane('b', 1), lane('c', 2)]
    expect(idsOf(planLanes(lanes, orderBy(fractionsFrom(1)))).sort()).toEqual(['a', 'b', 'c'])
    expect(idsOf(lanes)).toEqual(['a', 'b', 'c'])
  })

  it('gives a lane that is coming back a part of its share only', () => {
    const random = fractionsFrom(7)
    const shareOf = ({ id }: Lane) => (id === 'b' ? 0.1 : 1)
    const lanes = [lane('a', 1), lane('b', 1), lane('c', 2, 1000)]
    const firsts = Array.from({ length: 10_000 }, () => {
      const [first] = planLanes(lanes, { random, shareOf, origin: undefined })
      return first?.id
    })
    const share = firsts.filter((id) => id === 'b').length / firsts.length
    expect(Math.abs(share - 0.1 / 1.1)).toBeLessThan(0.015)
    expect(firstShares(lanes, shareOf).get(lanes[1]!)).toBeCloseTo(0.1 / 1.1)
  })

  it('is a draw by weight among lanes of one priority: the first, and the second once the first is out', () => {
    const seed = randomInt(2 ** 32)
    const random = fractionsFrom(seed)
    const weights = { a: 1, b: 3, c: 6 }
    const lanes = Object.entries(weights).map(([id, weight]) => lane(id, 1, weight))
    const DRAWS = 40_000
    const orders = Array.from({ length: DRAWS }, () => idsOf(planLanes(lanes, orderBy(random))).join(''))
    const share = (start: string) => orders.filter((order) => order.startsWith(start)).length / DRAWS
    console.log(`seed ${seed}: a ${share('a')}, b ${share('b')}, c ${share('c')}, then b after c ${share('cb')}`)
    // Five standard deviations of the widest share are 0.0125.
    expect(Math.abs(share('a') - 0.1)).toBeLessThan(0.0125)
    expect(Math.abs(share('b') - 0.3)).toBeLessThan(0.0125)
    expect(Math.abs(share('c') - 0.6)).toBeLessThan(0.0125)
    expect(Math.abs(share('cb') - 0.6 * 0.75)).toBeLessThan(0.0125)
  })
})
