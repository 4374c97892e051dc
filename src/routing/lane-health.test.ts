import { describe, expect, it } from 'vitest'
import type { Lane, Upstream } from '../catalog/catalog.ts'
import { createLaneHealth, type LaneVerdict } from './lane-health.ts'

const laneOn = (upstream: Upstream, model: string): Lane => ({ id: `${upstream.id}/${model}`, upstream, model }) as Lane

function setUp(putsAside = true) {
  const time = { now: 0 }
  const changes: string[] = []
  const health = createLaneHealth({
    ticks: () => time.now,
    random: () => 0,
    failing: () => (putsAside ? { firstMs: 10_000, longestMs: 300_000 } : undefined),
    onChange: (whose, aside) => changes.push(`${whose} ${aside?.reason ?? 'back'}`),
  })
  const call = (lane: Lane, verdict: LaneVerdict, times = 1) => {
    for (let count = 0; count < times; count++) {
      const visit = health.visit(lane)
      visit?.tell(verdict)
      visit?.leave()
    }
  }
  const isAsked = (lane: Lane) => health.asideOf(lane) === undefined
  return { time, changes, health, call, isAsked }
}

const WELL: LaneVerdict = { kind: 'well' }
const FAILED: LaneVerdict = { kind: 'failed' }

describe('the health of lanes', () => {
  const upstream = { id: 'u' } as Upstream
  const [one, two] = [laneOn(upstream, 'one'), laneOn(upstream, 'two')]

  it('is that of a model with a credential: its neighbours are asked on', () => {
    const { call, isAsked, changes } = setUp()
    call(one, FAILED, 5)
    expect([isAsked(one), isAsked(two)]).toEqual([false, true])
    expect(changes).toEqual(['u/one failing'])
  })

  it('lets nobody in while a lane or its credential is left alone or tried, and the next one when that is over', () => {
    const { time, health, call } = setUp()
    call(one, { kind: 'locked-out', of: 'credential' })
    expect([health.isAsked(one), health.isAsked(two)]).toEqual([false, false])
    time.now += 60_000_000
    expect([health.isAsked(one), health.isAsked(two)]).toEqual([true, true])
    const trial = health.visit(one)
    expect([health.isAsked(one), health.isAsked(two)]).toEqual([false, false])
    trial?.leave()
    expect(health.isAsked(two)).toBe(true)
  })

  it('is the same for two lanes of the same name there', () => {
    const { call, isAsked } = setUp()
    call(one, FAILED, 5)
    expect(isAsked({ ...one, priority: 7 })).toBe(false)
  })

  it('puts aside all that a refused credential is for, until one call with it has gone well', () => {
    const { time, health, call, isAsked, changes } = setUp()
    call(one, { kind: 'locked-out', of: 'credential' })
    expect([isAsked(one), isAsked(two)]).toEqual([false, false])
    expect(health.visit(two)).toBeUndefined()
    time.now += 60_000_000
    call(two, WELL)
    expect([isAsked(one), isAsked(two)]).toEqual([true, true])
    expect(changes).toEqual(['u locked-out', 'u back'])
  })

  it('puts aside the one lane that a credential is not good for', () => {
    const { call, isAsked } = setUp()
    call(one, { kind: 'locked-out', of: 'lane' })
    expect([isAsked(one), isAsked(two)]).toEqual([false, true])
  })

  it('does not lose the trial of a credential to a lane that is left alone', () => {
    const { time, health, call, isAsked } = setUp()
    call(one, { kind: 'busy', forMs: 300_000 })
    call(two, { kind: 'locked-out', of: 'credential' })
    time.now += 60_000_000
    expect(health.visit(one)).toBeUndefined()
    call(two, WELL)
    expect(isAsked(two)).toBe(true)
  })

  it('is tried by the next when a call has found nothing out, neither of the lane nor of the credential', () => {
    const { time, health, call, isAsked } = setUp()
    call(one, FAILED, 4)
    const others = health.visit(one)
    call(one, { kind: 'locked-out', of: 'credential' })
    others?.tell(FAILED)
    time.now += 60_000_000
    const trial = health.visit(one)
    expect(health.visit(one)).toBeUndefined()
    trial?.leave()
    call(one, WELL, 3)
    expect(isAsked(one)).toBe(true)
  })

  it('says of a lane that is put aside twice until when both are', () => {
    const { time, health, call } = setUp()
    call(one, { kind: 'locked-out', of: 'lane' })
    time.now += 30_000_000
    call(two, { kind: 'busy', forMs: 300_000 })
    expect(health.asideOf(two)?.until).toBe(330_000_000)
    const three = laneOn(upstream, 'three')
    call(three, { kind: 'locked-out', of: 'credential' })
    expect(health.asideOf(one)).toEqual({ reason: 'locked-out', until: 90_000_000 })
    expect(health.asideOf(two)).toEqual({ reason: 'busy', until: 330_000_000 })
    expect(health.asideOf(three)?.until).toBe(90_000_000)
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
    const { call, isAsked } = setUp()
    call(one, { kind: 'locked-out', of: 'credential' })
    expect(isAsked(laneOn({ ...upstream }, 'one'))).toBe(true)
  })

  it('is nobody’s concern where the operator wants every lane asked', () => {
    const { health, call, isAsked } = setUp(false)
    call(one, FAILED, 100)
    expect(isAsked(one)).toBe(true)
    expect(health.visit(one)).toBeDefined()
    expect([health.isAsked(one), health.shareOf(one)]).toEqual([true, 1])
  })
})
