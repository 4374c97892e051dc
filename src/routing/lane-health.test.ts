import { describe, expect, it } from 'vitest'
import type { Lane, Upstream } from '../catalog/catalog.ts'
import { createLaneHealth, type LaneVerdict } from './lane-health.ts'

const laneOn = (upstream: Upstream, model: string): Lane => ({ id: `${upstream.id}/${model}`, upstream, model }) as Lane

function setUp(putsAside = true) {
  const time = { now: 0 }
  const changes: string[] = []
  const health = createLaneHealth({
    nowMicros: () => time.now,
    random: () => 0,
    failing: () => (putsAside ? { firstMs: 10_000, longestMs: 300_000 } : undefined),
    onChange: (whose, circuit) => changes.push(`${whose} ${circuit?.reason ?? 'back'}`),
  })
  const call = (lane: Lane, verdict: LaneVerdict, times = 1) => {
    for (let count = 0; count < times; count++) {
      const permit = health.permit(lane)
      permit?.report(verdict)
      permit?.release()
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

  it('is that of a model with a credential: its neighbours are asked on', () => {
    const { call, isAvailable, changes } = setUp()
    call(one, FAILED, 5)
    expect([isAvailable(one), isAvailable(two)]).toEqual([false, true])
    expect(changes).toEqual(['u/one failing'])
  })

  it('lets nobody in while a lane or its credential is left alone or tried, and the next one when that is over', () => {
    const { time, health, call } = setUp()
    call(one, { kind: 'locked-out', of: 'credential' })
    expect([health.isAvailable(one), health.isAvailable(two)]).toEqual([false, false])
    time.now += 60_000_000
    expect([health.isAvailable(one), health.isAvailable(two)]).toEqual([true, true])
    const trial = health.permit(one)
    expect([health.isAvailable(one), health.isAvailable(two)]).toEqual([false, false])
    trial?.release()
    expect(health.isAvailable(two)).toBe(true)
  })

  it('is the same for two lanes of the same name there', () => {
    const { call, isAvailable } = setUp()
    call(one, FAILED, 5)
    expect(isAvailable({ ...one, priority: 7 })).toBe(false)
  })

  it('puts circuit all that a refused credential is for, until one call with it has gone well', () => {
    const { time, health, call, isAvailable, changes } = setUp()
    call(one, { kind: 'locked-out', of: 'credential' })
    expect([isAvailable(one), isAvailable(two)]).toEqual([false, false])
    expect(health.permit(two)).toBeUndefined()
    time.now += 60_000_000
    call(two, WELL)
    expect([isAvailable(one), isAvailable(two)]).toEqual([true, true])
    expect(changes).toEqual(['u locked-out', 'u back'])
  })

  it('puts circuit the one lane that a credential is not good for', () => {
    const { call, isAvailable } = setUp()
    call(one, { kind: 'locked-out', of: 'lane' })
    expect([isAvailable(one), isAvailable(two)]).toEqual([false, true])
  })

  it('does not lose the trial of a credential to a lane that is left alone', () => {
    const { time, health, call, isAvailable } = setUp()
    call(one, { kind: 'busy', forMs: 300_000 })
    call(two, { kind: 'locked-out', of: 'credential' })
    time.now += 60_000_000
    expect(health.permit(one)).toBeUndefined()
    call(two, WELL)
    expect(isAvailable(two)).toBe(true)
  })

  it('is tried by the next when a call has found nothing out, neither of the lane nor of the credential', () => {
    const { time, health, call, isAvailable } = setUp()
    call(one, FAILED, 4)
    const others = health.permit(one)
    call(one, { kind: 'locked-out', of: 'credential' })
    others?.report(FAILED)
    time.now += 60_000_000
    const trial = health.permit(one)
    expect(health.permit(one)).toBeUndefined()
    trial?.release()
    call(one, WELL, 3)
    expect(isAvailable(one)).toBe(true)
  })

  it('says of a lane that is put circuit twice until when both are', () => {
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

  it('begins anew with another credential', () => {
    const { call, isAvailable } = setUp()
    call(one, { kind: 'locked-out', of: 'credential' })
    expect(isAvailable(laneOn({ ...upstream }, 'one'))).toBe(true)
  })

  it('is nobody’s concern where the operator wants every lane asked', () => {
    const { health, call, isAvailable } = setUp(false)
    call(one, FAILED, 100)
    expect(isAvailable(one)).toBe(true)
    expect(health.permit(one)).toBeDefined()
    expect([health.isAvailable(one), health.shareOf(one)]).toEqual([true, 1])
  })
})
