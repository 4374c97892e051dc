import { expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import type { Clock } from '../lib/clock.ts'
import { createLaneHealth, type LaneVerdict } from '../routing/circuit-breaker.ts'
import { createCountedInputs } from './count-usage.ts'
import { explainRoute, operatedModels } from './models.ts'
import type { ServerStatus } from './server-status.ts'

const SECOND = 1_000_000
const FAILED: LaneVerdict = { kind: 'failed' }

/** A model with lanes of these priorities and weights. */
function setUp(...places: readonly (readonly [priority: number, weight: number])[]) {
  const time = { now: 0 }
  const lanes = places.map(([priority, weight], at) => ({ upstream: 'demo', model: `lane-${at}`, priority, weight }))
  const catalog = catalogOf(modelDefinition('m', { lanes }))
  const health = createLaneHealth({
    nowMicros: () => time.now,
    random: () => 0,
    rules: { current: { routing: { openCircuit: { firstMs: 10_000, longestMs: 300_000 } } } },
    onChange() {},
  })
  const clock = { nowMicros: () => time.now } as Clock
  const status = () => ({ running: true }) as ServerStatus
  const services: Parameters<typeof explainRoute>[0] = { catalog: () => catalog, health, clock, status }
  const laneAt = (at: number) => catalog.models[0]!.lanes[at]!
  const fails = (at: number, times = 5) => {
    for (let count = 0; count < times; count++) {
      const permit = health.permit(laneAt(at))
      permit?.report(FAILED)
      permit?.release?.()
    }
  }
  const shown = async () => {
    const outcome = await explainRoute(services, { model: 'm' })
    if (outcome.kind !== 'done') throw new Error('there is no such model')
    return outcome.value.lanes.map(({ id, first_percent, asked, aside }) => [
      id.slice('demo/'.length),
      first_percent,
      asked,
      aside?.seconds_left ?? null,
    ])
  }
  const operatedDeps = {
    ...services,
    countedInputs: createCountedInputs(() => {}),
    estimateErrors: { of: () => undefined },
  }
  const operated = () => operatedModels(operatedDeps)[0]!.lanes.map(({ first_percent }) => first_percent)
  return { time, health, laneAt, fails, shown, operated }
}

it('a lane with an open circuit is listed last', async () => {
  const { fails, shown } = setUp([1, 1], [2, 3], [2, 1])
  fails(0)
  expect(await shown()).toEqual([
    ['lane-1', 75, true, null],
    ['lane-2', 25, true, null],
    ['lane-0', 0, false, 10],
  ])
})

it('a half-open lane is tried by the next request, and skipped during the trial', async () => {
  const { time, health, laneAt, fails, shown, operated } = setUp([1, 1], [2, 1])
  fails(0)
  time.now = 10 * SECOND
  expect(await shown()).toEqual([
    ['lane-0', 100, true, 0],
    ['lane-1', 0, true, null],
  ])
  expect(operated()).toEqual([100, 0])
  const trial = health.permit(laneAt(0))
  expect(await shown()).toEqual([
    ['lane-1', 100, true, null],
    ['lane-0', 0, false, 0],
  ])
  trial?.release?.()
  expect(operated()).toEqual([100, 0])
})

it('the only lane is tried when half-open, and unavailable during the trial', async () => {
  const { time, health, laneAt, fails, shown } = setUp([1, 1])
  fails(0)
  expect(await shown()).toEqual([['lane-0', 0, false, 10]])
  time.now = 10 * SECOND
  expect(await shown()).toEqual([['lane-0', 100, true, 0]])
  health.permit(laneAt(0))
  expect(await shown()).toEqual([['lane-0', 0, false, 0]])
})

it('two half-open lanes are drawn by weight', async () => {
  const { time, fails, shown } = setUp([1, 3], [1, 1])
  fails(0)
  fails(1)
  time.now = 10 * SECOND
  expect(await shown()).toEqual([
    ['lane-0', 75, true, 0],
    ['lane-1', 25, true, 0],
  ])
})
