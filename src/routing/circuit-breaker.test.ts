import { describe, expect, it } from 'vitest'
import { fractionsFrom } from '../../test/fixtures/lib/seeded-random.ts'
import {
  FAILED,
  LOCKED_OUT,
  SECOND,
  setUp,
  type TestedBreaker,
  WELL,
} from '../../test/fixtures/routing/circuit-breaker.ts'
import type { Verdict } from './circuit-breaker.ts'

describe('failures', () => {
  it('opens after five consecutive failures, not four', () => {
    const { breaker, calls, call } = setUp()
    calls(FAILED, 4)
    call(WELL)
    calls(FAILED, 4)
    expect(breaker.openCircuit).toBeUndefined()
    call(FAILED)
    expect(breaker.openCircuit?.reason).toBe('failing')
    expect(call(WELL)).toBe(false)
  })

  it('opens when half of ten calls fail within 30 s', () => {
    const { breaker, call, pass } = setUp()
    for (let round = 0; round < 4; round++) {
      call(WELL)
      call(FAILED)
      pass(3)
    }
    call(WELL)
    expect(breaker.openCircuit).toBeUndefined()
    call(FAILED)
    expect(breaker.openCircuit?.reason).toBe('failing')
  })

  it('counts a call once that reports success twice', () => {
    const { breaker, call } = setUp()
    for (let round = 0; round < 5; round++) {
      const permit = breaker.permit()
      permit?.report(WELL)
      permit?.report(WELL)
      call(FAILED)
    }
    expect(breaker.openCircuit?.reason).toBe('failing')
  })

  it('forgets old failures', () => {
    const { breaker, call, pass } = setUp()
    for (let round = 0; round < 20; round++) {
      call(WELL)
      call(FAILED)
      pass(8)
    }
    expect(breaker.openCircuit).toBeUndefined()
  })

  it('counts a broken answer as half a failure', () => {
    const { breaker } = setUp()
    for (let round = 0; round < 5; round++) {
      expect(breaker.openCircuit).toBeUndefined()
      const permit = breaker.permit()
      permit?.report(WELL)
      permit?.report(FAILED)
    }
    expect(breaker.openCircuit?.reason).toBe('failing')
  })

  it('doubles the open interval up to five minutes', () => {
    const { calls, call, pass, openSeconds } = setUp()
    calls(FAILED, 5)
    const waits = [openSeconds()]
    for (let round = 0; round < 7; round++) {
      pass(openSeconds() - 0.001)
      expect(call(FAILED)).toBe(false)
      pass(0.001)
      expect(call(FAILED)).toBe(true)
      waits.push(openSeconds())
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300, 300])
  })

  it('jitters the open interval', () => {
    const { calls, openSeconds } = setUp(() => 0.999)
    calls(FAILED, 5)
    expect(openSeconds()).toBeGreaterThanOrEqual(8)
    expect(openSeconds()).toBeLessThan(8.1)
  })

  it('is half-open for one call at a time and closes after three successes', () => {
    const { breaker, calls, call, pass, changes } = setUp()
    calls(FAILED, 5)
    pass(10)
    for (let round = 0; round < 3; round++) {
      const permit = breaker.permit()
      expect(permit).toBeDefined()
      expect(breaker.permit()).toBeUndefined()
      permit?.report(WELL)
      if (round < 2) expect(breaker.openCircuit?.reason).toBe('failing')
      permit?.release()
    }
    expect(breaker.openCircuit).toBeUndefined()
    expect(call(WELL)).toBe(true)
    expect(changes).toEqual(['failing', undefined])
  })

  it('gives the permit to the next call after an inconclusive probe', () => {
    const { breaker, calls, call, pass } = setUp()
    calls(FAILED, 5)
    pass(10)
    expect(call(undefined)).toBe(true)
    expect(breaker.permit()).toBeDefined()
  })

  it('ignores stale results', () => {
    const { breaker, calls, call, pass } = setUp()
    const early = breaker.permit()
    calls(FAILED, 5)
    early?.report(WELL)
    expect(breaker.openCircuit?.reason).toBe('failing')
    pass(10)
    const trial = breaker.permit()
    early?.report(FAILED)
    early?.release()
    expect(breaker.permit()).toBeUndefined()
    trial?.report(WELL)
    calls(WELL, 2)
    expect(breaker.openCircuit).toBeUndefined()
    expect(call(WELL)).toBe(true)
  })

  it('does not reopen because of stale calls', () => {
    const { breaker, calls, pass } = setUp()
    const hanging = Array.from({ length: 20 }, () => breaker.permit())
    calls(FAILED, 5)
    pass(10)
    calls(WELL, 3)
    for (const early of hanging) early?.report(FAILED)
    hanging[0]?.report(LOCKED_OUT)
    expect(breaker.openCircuit).toBeUndefined()
    hanging[1]?.report({ kind: 'busy', forMs: 2_000 })
    expect(breaker.openCircuit?.reason).toBe('busy')
  })

  it('reopens only because of the probe that closed it', () => {
    const { breaker, calls, call, pass } = setUp()
    calls(FAILED, 5)
    pass(10)
    const former = breaker.permit()
    former?.report(WELL)
    call(FAILED)
    pass(20)
    const trial = breaker.permit()
    trial?.report(WELL)
    former?.report(FAILED)
    calls(WELL, 2)
    expect(breaker.openCircuit).toBeUndefined()
    calls(FAILED, 4)
    expect(breaker.openCircuit).toBeUndefined()
    trial?.report(FAILED)
    expect(breaker.openCircuit?.reason).toBe('failing')
  })

  it('probes again after a rate-limited probe', () => {
    const { breaker, calls, call, pass, openSeconds, changes } = setUp()
    calls(FAILED, 5)
    pass(10)
    call({ kind: 'busy', forMs: 4_000 })
    expect(breaker.openCircuit?.reason).toBe('failing')
    expect(openSeconds()).toBe(4)
    pass(4)
    expect(breaker.permit()).toBeDefined()
    expect(breaker.permit()).toBeUndefined()
    expect(changes).toEqual(['failing', 'failing'])
  })

  it('reopens when a probe breaks off after content', () => {
    const { breaker, calls, pass, openSeconds } = setUp()
    calls(FAILED, 5)
    pass(10)
    const trial = breaker.permit()
    trial?.report(WELL)
    trial?.report(FAILED)
    expect(openSeconds()).toBe(20)
  })

  it('ramps up from a tenth of its share over 30 s', () => {
    const { breaker, calls, pass } = setUp()
    expect(breaker.share).toBe(1)
    calls(FAILED, 5)
    pass(10)
    calls(WELL, 3)
    expect(breaker.share).toBeCloseTo(0.1)
    pass(15)
    expect(breaker.share).toBeCloseTo(0.55)
    pass(15)
    expect(breaker.share).toBe(1)
  })

  it('keeps the longer interval while flapping and resets after five minutes of success', () => {
    const { calls, call, pass, openSeconds } = setUp()
    calls(FAILED, 5)
    pass(10)
    calls(WELL, 3)
    pass(60)
    call(WELL)
    calls(FAILED, 5)
    expect(openSeconds()).toBe(20)
    pass(20)
    calls(WELL, 3)
    pass(300)
    call(WELL)
    calls(FAILED, 5)
    expect(openSeconds()).toBe(10)
  })
})

describe('silent calls', () => {
  const SILENT: Verdict = { kind: 'unresponsive' }
  const HEARD: Verdict = { kind: 'responded' }

  it('opens after five consecutive silent calls', () => {
    const { breaker, calls } = setUp()
    calls(SILENT, 4)
    calls(HEARD, 1)
    calls(SILENT, 4)
    expect(breaker.openCircuit).toBeUndefined()
    calls(SILENT, 1)
    expect(breaker.openCircuit?.reason).toBe('failing')
  })

  it('doubles the interval after a silent probe', () => {
    const { calls, call, pass, openSeconds } = setUp()
    calls(SILENT, 5)
    pass(10)
    call(SILENT)
    expect(openSeconds()).toBe(20)
  })

  it('does not close on a response head alone', () => {
    const { breaker, calls, call, pass } = setUp()
    calls(SILENT, 5)
    pass(10)
    for (let times = 0; times < 3; times++) call(HEARD)
    expect(breaker.openCircuit?.reason).toBe('failing')
    calls(WELL, 3)
    expect(breaker.openCircuit).toBeUndefined()
  })
})

describe('rate limits', () => {
  it('stays open for Retry-After and then closes', () => {
    const { breaker, call, pass, openSeconds } = setUp(() => 0.999)
    call({ kind: 'busy', forMs: 7_000 })
    expect(openSeconds()).toBe(7)
    pass(6.999)
    expect(call(WELL)).toBe(false)
    pass(0.001)
    expect(breaker.openCircuit).toBeUndefined()
    expect(breaker.permit()).toBeDefined()
    expect(breaker.permit()).toBeDefined()
    expect(breaker.share).toBe(1)
  })

  it('stays open for a second at least, and longer each time in a row', () => {
    const { call, pass, openSeconds } = setUp()
    const waits: number[] = []
    for (let round = 0; round < 4; round++) {
      call({ kind: 'busy', forMs: 1 })
      waits.push(openSeconds())
      pass(openSeconds())
    }
    expect(waits).toEqual([1, 2, 4, 8])
  })

  it('honors Retry-After of an overload, and opens when it repeats', () => {
    const { breaker, call, pass, openSeconds } = setUp()
    for (let round = 0; round < 4; round++) {
      call({ kind: 'failed', forMs: 3_000 })
      expect([breaker.openCircuit?.reason, openSeconds()]).toEqual(['overloaded', 3])
      pass(3)
    }
    call({ kind: 'failed', forMs: 3_000 })
    expect([breaker.openCircuit?.reason, openSeconds()]).toEqual(['failing', 10])
  })

  it('without Retry-After starts at a second and doubles up to 30 s', () => {
    const { call, pass, openSeconds } = setUp()
    const waits: number[] = []
    for (let round = 0; round < 7; round++) {
      call({ kind: 'busy' })
      waits.push(openSeconds())
      pass(openSeconds())
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30])
    call(WELL)
    call({ kind: 'busy' })
    expect(openSeconds()).toBe(1)
  })

  it('uses the longest Retry-After', () => {
    const { breaker, call, openSeconds } = setUp()
    const others = [breaker.permit(), breaker.permit()]
    call({ kind: 'busy', forMs: 2_000 })
    others[0]?.report({ kind: 'busy', forMs: 9_000 })
    others[1]?.report({ kind: 'busy', forMs: 1_000 })
    expect(openSeconds()).toBe(9)
  })
})

describe('refused credentials', () => {
  it('opens for a minute, up to ten, and closes after one success', () => {
    const { breaker, call, pass, openSeconds } = setUp()
    const waits: number[] = []
    for (let round = 0; round < 6; round++) {
      call(LOCKED_OUT)
      waits.push(openSeconds())
      pass(openSeconds())
    }
    expect(waits).toEqual([60, 120, 240, 480, 600, 600])
    expect(call(WELL)).toBe(true)
    expect(breaker.openCircuit).toBeUndefined()
  })
})

/** Half an hour of a lane that is up and down as a die falls, with calls that take their time. */
function anyHalfHour(breaker: TestedBreaker, time: { now: number }, random: () => number) {
  const isUp = Array.from({ length: 60 }, () => random() < 0.5)
  const upAt = (at: number) => isUp[Math.floor(at / (30 * SECOND))] ?? true
  const running: { permit: NonNullable<ReturnType<TestedBreaker['permit']>>; endsAt: number; begun: number }[] = []
  const seen = { asked: 0, refused: 0, onTrial: 0 }
  while (time.now < 1800 * SECOND) {
    time.now += Math.ceil(random() * SECOND)
    for (const each of running.filter(({ endsAt }) => endsAt <= time.now)) {
      running.splice(running.indexOf(each), 1)
      const verdicts = upAt(each.begun)
        ? [WELL, WELL, WELL, undefined]
        : [FAILED, FAILED, { kind: 'busy' as const }, LOCKED_OUT]
      const verdict = verdicts[Math.floor(random() * 4)]
      if (verdict) each.permit.report(verdict)
      each.permit.release()
    }
    const isOpen = breaker.openCircuit !== undefined
    const permit = breaker.permit()
    if (permit === undefined) {
      seen.refused++
      continue
    }
    seen.asked++
    if (isOpen) {
      seen.onTrial++
      // Only one probe runs at a time.
      expect(breaker.permit()).toBeUndefined()
    }
    running.push({ permit, begun: time.now, endsAt: time.now + Math.ceil(random() * 3 * SECOND) })
  }
  for (const { permit } of running) permit.release()
  return seen
}

it('at random: never two probes at once, never open beyond ten minutes, always closes again', () => {
  const total = { asked: 0, refused: 0, onTrial: 0 }
  const SEED = 20261122
  const random = fractionsFrom(SEED)
  for (let lane = 0; lane < 50; lane++) {
    const { time, breaker, call } = setUp(random)
    const seen = anyHalfHour(breaker, time, random)
    for (const name of ['asked', 'refused', 'onTrial'] as const) total[name] += seen[name]
    time.now += 600 * SECOND
    for (let tries = 0; tries < 3; tries++) expect(call(WELL)).toBe(true)
    expect(breaker.openCircuit).toBeUndefined()
  }
  console.log(`breakers: seed ${SEED}`, total)
  expect(Math.min(total.asked, total.refused, total.onTrial)).toBeGreaterThan(100)
})

describe('the only lane of a model', () => {
  it('admits three probes in ten seconds, doubling with each success', () => {
    const { breaker, calls } = setUp()
    calls(FAILED, 5)
    const probes = (count: number) => Array.from({ length: count }, () => breaker.probe())
    const first = probes(4)
    expect(first.map((probe) => probe !== undefined)).toEqual([true, true, true, false])
    first[0]?.report(WELL)
    first[0]?.report(WELL)
    first[0]?.release()
    expect(probes(4).map((probe) => probe !== undefined)).toEqual([true, true, true, false])
    expect(breaker.openCircuit).toBeDefined()
    first[1]?.report(WELL)
    first[2]?.report(WELL)
    expect(breaker.openCircuit).toBeUndefined()
  })

  it('admits three probes ten seconds after another failure', () => {
    const { breaker, calls, pass } = setUp()
    calls(FAILED, 5)
    const [one, other] = [breaker.probe(), breaker.probe()]
    one?.report(WELL)
    other?.report(FAILED)
    one?.release()
    other?.release()
    expect(Array.from({ length: 2 }, () => breaker.probe()?.release() === undefined)).toEqual([true, true])
    expect(breaker.probe()).toBeUndefined()
    pass(11)
    expect(Array.from({ length: 4 }, () => breaker.probe() !== undefined)).toEqual([true, true, true, false])
  })

  it('admits no probe during a rate limit', () => {
    const { breaker, call } = setUp()
    call({ kind: 'busy', forMs: 5000 })
    expect(breaker.probe()).toBeUndefined()
  })

  it('ignores late calls', () => {
    const { breaker, calls, pass, call } = setUp()
    calls(FAILED, 5)
    const late = breaker.probe()
    pass(10)
    call(FAILED)
    late?.report(WELL)
    late?.release()
    pass(11)
    expect(Array.from({ length: 4 }, () => breaker.probe() !== undefined)).toEqual([true, true, true, false])
  })
})
