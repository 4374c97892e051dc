import { describe, expect, it } from 'vitest'
import type { Lane, Upstream } from '../catalog/catalog.ts'
import { createLaneHealth, type LaneVerdict } from './circuit-breaker.ts'

const laneOn = (upstream: Upstream, model: string): Lane => ({ id: `${upstream.id}/${model}`, upstream, model }) as Lane

function setUp(opensCircuit = true) {
  const time = { now: 0 }
  const changes: string[] = []
  const health = createLaneHealth({
    nowMicros: () => time.now,
    random: () => 0,
    rules: {
      current: { routing: { openCircuit: opensCircuit ? { firstMs: 10_000, longestMs: 300_000 } : undefined } },
    },
    onChange: (whose, circuit) => changes.push(`${whose} ${circuit?.reason ?? 'back'}`),
  })
  const call = (lane: Lane, verdict: LaneVerdict, times = 1) => {
    for (let count = 0; count < times; count++) {
      const permit = health.permit(lane)
      permit?.report(verdict)
      permit?.release?.()
    }
  }
  const isAvailable = (lane: Lane) => health.openCircuitOf(lane) === undefined
  return { time, changes, health, call, isAvailable }
}

const WELL: LaneVerdict = { kind: 'succeeded' }
const FAILED: LaneVerdict = { kind: 'failed' }

describe('the health of lanes', () => {
  const upstream = { id: 'u' } as Upstream
  const [one, two] = [laneOn(upstream, 'one'), laneOn(upstream, 'two')]

  it('belongs to a model with a credential; other lanes are unaffected', () => {
    const { call, isAvailable, changes } = setUp()
    call(one, FAILED, 5)
    expect([isAvailable(one), isAvailable(two)]).toEqual([false, true])
    expect(changes).toEqual(['u/one failing'])
  })

  it('refuses calls while the lane’s or credential’s circuit is open or half-open', () => {
    const { time, health, call } = setUp()
    call(one, { kind: 'locked-out', of: 'credential' })
    expect([health.isAvailable(one), health.isAvailable(two)]).toEqual([false, false])
    time.now += 60_000_000
    expect([health.isAvailable(one), health.isAvailable(two)]).toEqual([true, true])
    const trial = health.permit(one)
    expect([health.isAvailable(one), health.isAvailable(two)]).toEqual([false, false])
    trial?.release?.()
    expect(health.isAvailable(two)).toBe(true)
  })

  it('is shared by two lanes of the same name', () => {
    const { call, isAvailable } = setUp()
    call(one, FAILED, 5)
    expect(isAvailable({ ...one, priority: 7 })).toBe(false)
  })

  it('opens all lanes of a refused credential until one call succeeds', () => {
    const { time, health, call, isAvailable, changes } = setUp()
    call(one, { kind: 'locked-out', of: 'credential' })
    expect([isAvailable(one), isAvailable(two)]).toEqual([false, false])
    expect(health.permit(two)).toBeUndefined()
    time.now += 60_000_000
    call(two, WELL)
    expect([isAvailable(one), isAvailable(two)]).toEqual([true, true])
    expect(changes).toEqual(['u locked-out', 'u back'])
  })

  it('opens only the lane that a credential lacks access to', () => {
    const { call, isAvailable } = setUp()
    call(one, { kind: 'locked-out', of: 'lane' })
    expect([isAvailable(one), isAvailable(two)]).toEqual([false, true])
  })

  it('does not spend the credential’s probe on an open lane', () => {
    const { time, health, call, isAvailable } = setUp()
    call(one, { kind: 'busy', forMs: 300_000 })
    call(two, { kind: 'locked-out', of: 'credential' })
    time.now += 60_000_000
    expect(health.permit(one)).toBeUndefined()
    call(two, WELL)
    expect(isAvailable(two)).toBe(true)
  })

  it('gives the permit to the next call after an inconclusive probe', () => {
    const { time, health, call, isAvailable } = setUp()
    call(one, FAILED, 4)
    const others = health.permit(one)
    call(one, { kind: 'locked-out', of: 'credential' })
    others?.report(FAILED)
    time.now += 60_000_000
    const trial = health.permit(one)
    expect(health.permit(one)).toBeUndefined()
    trial?.release?.()
    call(one, WELL, 3)
    expect(isAvailable(one)).toBe(true)
  })

  it('reports the later end of two open circuits', () => {
    const { time, health, call } = setUp()
    call(one, { kind: 'locked-out', of: 'lane' })
    time.now += 30_000_000
    call(two, { kind: 'busy', forMs: 300_000 })
    expect(health.openCircuitOf(two)?.until).toBe(330_000_000)
    const three = laneOn(upstream, 'three')
    call(three, { kind: 'locked-out', of: 'credential' })
    expect(health.openCircuitOf(one)).toEqual({ reason: 'locked-out', until: 90_000_000 })
    expect(health.openCircuitOf(two)).toEqual({ reason: 'busy', until: 330_000_000 })
    expect(health.openCircuitOf(three)?.until).toBe(90_000_000)
  })

  it('gives every lane of a credential that is back a tenth of its calls at first', () => {
    const { time, health, call } = setUp()
    call(one, { kind: 'locked-out', of: 'credential' })
    time.now += 60_000_000
    call(two, WELL)
    expect([health.shareOf(one), health.shareOf(two)]).toEqual([0.1, 0.1])
    time.now += 30_000_000
    expect(health.shareOf(one)).toBe(1)
  })

  it('resets with another credential', () => {
    const { call, isAvailable } = setUp()
    call(one, { kind: 'locked-out', of: 'credential' })
    expect(isAvailable(laneOn({ ...upstream }, 'one'))).toBe(true)
  })

  it('is ignored when the circuit breaker is off', () => {
    const { health, call, isAvailable } = setUp(false)
    call(one, FAILED, 100)
    expect(isAvailable(one)).toBe(true)
    expect(health.permit(one)).toBeDefined()
    expect([health.isAvailable(one), health.shareOf(one)]).toEqual([true, 1])
  })
})
