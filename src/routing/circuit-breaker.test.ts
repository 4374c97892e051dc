import { describe, expect, it } from 'vitest'
import { fractionsFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { FAILED, LOCKED_OUT, SECOND, setUp, WELL } from '../../test/fixtures/routing/circuit-breaker.ts'
import type { CircuitBreaker, Verdict } from './circuit-breaker.ts'

describe('who fails', () => {
  it('is put circuit after five failures one after the other, and not after four', () => {
    const { breaker, calls, call } = setUp()
    calls(FAILED, 4)
    call(WELL)
    calls(FAILED, 4)
    expect(breaker.openCircuit).toBeUndefined()
    call(FAILED)
    expect(breaker.openCircuit?.reason).toBe('failing')
    expect(call(WELL)).toBe(false)
  })

  it('is put circuit when half of ten calls within half a minute failed', () => {
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

  it('counts a call once that says both at its first word and at its end that it went well', () => {
    const { breaker, call } = setUp()
    for (let round = 0; round < 5; round++) {
      const permit = breaker.permit()
      permit?.report(WELL)
      permit?.report(WELL)
      call(FAILED)
    }
    expect(breaker.openCircuit?.reason).toBe('failing')
  })

  it('is not put circuit for failures of which the first are long past', () => {
    const { breaker, call, pass } = setUp()
    for (let round = 0; round < 20; round++) {
      call(WELL)
      call(FAILED)
      pass(8)
    }
    expect(breaker.openCircuit).toBeUndefined()
  })

  it('counts an answer that breaks off as half a failure', () => {
    const { breaker } = setUp()
    for (let round = 0; round < 5; round++) {
      expect(breaker.openCircuit).toBeUndefined()
      const permit = breaker.permit()
      permit?.report(WELL)
      permit?.report(FAILED)
    }
    expect(breaker.openCircuit?.reason).toBe('failing')
  })

  it('stays circuit for twice as long each time in a row, and for five minutes at most', () => {
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

  it('comes back a little earlier than that, so that not all nodes come at once', () => {
    const { calls, openSeconds } = setUp(() => 0.999)
    calls(FAILED, 5)
    expect(openSeconds()).toBeGreaterThanOrEqual(8)
    expect(openSeconds()).toBeLessThan(8.1)
  })

  it('is tried by one call at a time, and is back after three that went well', () => {
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

  it('is tried by the next when the one that tried it has found nothing out', () => {
    const { breaker, calls, call, pass } = setUp()
    calls(FAILED, 5)
    pass(10)
    expect(call(undefined)).toBe(true)
    expect(breaker.permit()).toBeDefined()
  })

  it('is not judged by calls from before, nor by what they report late', () => {
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

  it('is not put circuit again, when it is back, by calls that began before and end only now', () => {
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

  it('is not put circuit by a trial of another time that breaks off only now, but by one that has brought it back', () => {
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

  it('is tried again when a trial was limited, which tells nothing of what it was put circuit for', () => {
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

  it('is put circuit again by a trial that breaks off after it began well', () => {
    const { breaker, calls, pass, openSeconds } = setUp()
    calls(FAILED, 5)
    pass(10)
    const trial = breaker.permit()
    trial?.report(WELL)
    trial?.report(FAILED)
    expect(openSeconds()).toBe(20)
  })

  it('gets a tenth of its share when it is back, and all of it after half a minute', () => {
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

  it('keeps its longer times while it flaps, and starts anew when it was well for five minutes', () => {
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

describe('who says nothing', () => {
  const SILENT: Verdict = { kind: 'unresponsive' }
  const HEARD: Verdict = { kind: 'responded' }

  it('is put circuit when five in a row have left without a word, and not where one of them has heard anything', () => {
    const { breaker, calls } = setUp()
    calls(SILENT, 4)
    calls(HEARD, 1)
    calls(SILENT, 4)
    expect(breaker.openCircuit).toBeUndefined()
    calls(SILENT, 1)
    expect(breaker.openCircuit?.reason).toBe('failing')
  })

  it('is put circuit for longer when whoever tries it leaves without a word, too', () => {
    const { calls, call, pass, openSeconds } = setUp()
    calls(SILENT, 5)
    pass(10)
    call(SILENT)
    expect(openSeconds()).toBe(20)
  })

  it('is not brought back by a head alone', () => {
    const { breaker, calls, call, pass } = setUp()
    calls(SILENT, 5)
    pass(10)
    for (let times = 0; times < 3; times++) call(HEARD)
    expect(breaker.openCircuit?.reason).toBe('failing')
    calls(WELL, 3)
    expect(breaker.openCircuit).toBeUndefined()
  })
})

describe('who limits requests', () => {
  it('is left alone for as long as it says, and asked by everybody afterwards', () => {
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

  it('is left alone for a second at least, and longer each time in a row where it asks for less', () => {
    const { call, pass, openSeconds } = setUp()
    const waits: number[] = []
    for (let round = 0; round < 4; round++) {
      call({ kind: 'busy', forMs: 1 })
      waits.push(openSeconds())
      pass(openSeconds())
    }
    expect(waits).toEqual([1, 2, 4, 8])
  })

  it('because it is overloaded is left alone as it says, and fails all the same when that happens again and again', () => {
    const { breaker, call, pass, openSeconds } = setUp()
    for (let round = 0; round < 4; round++) {
      call({ kind: 'failed', forMs: 3_000 })
      expect([breaker.openCircuit?.reason, openSeconds()]).toEqual(['overloaded', 3])
      pass(3)
    }
    call({ kind: 'failed', forMs: 3_000 })
    expect([breaker.openCircuit?.reason, openSeconds()]).toEqual(['failing', 10])
  })

  it('is left alone for a second if it says nothing, twice as long each time in a row, half a minute at most', () => {
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

  it('is left alone for the longest time that any of its calls has heard', () => {
    const { breaker, call, openSeconds } = setUp()
    const others = [breaker.permit(), breaker.permit()]
    call({ kind: 'busy', forMs: 2_000 })
    others[0]?.report({ kind: 'busy', forMs: 9_000 })
    others[1]?.report({ kind: 'busy', forMs: 1_000 })
    expect(openSeconds()).toBe(9)
  })
})

describe('who refuses the credential', () => {
  it('is left alone for a minute, longer each time in a row, ten at most, and back after one call that goes well', () => {
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
function anyHalfHour(breaker: CircuitBreaker, time: { now: number }, random: () => number) {
  const isUp = Array.from({ length: 60 }, () => random() < 0.5)
  const upAt = (at: number) => isUp[Math.floor(at / (30 * SECOND))] ?? true
  const running: { permit: NonNullable<ReturnType<CircuitBreaker['permit']>>; endsAt: number; begun: number }[] = []
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
    const isAside = breaker.openCircuit !== undefined
    const permit = breaker.permit()
    if (permit === undefined) {
      seen.refused++
      continue
    }
    seen.asked++
    if (isAside) {
      seen.onTrial++
      // While somebody tries it, nobody else does.
      expect(breaker.permit()).toBeUndefined()
    }
    running.push({ permit, begun: time.now, endsAt: time.now + Math.ceil(random() * 3 * SECOND) })
  }
  for (const { permit } of running) permit.release()
  return seen
}

it('whatever happens: never two try it at a time, nothing keeps it circuit for longer than ten minutes, and it comes back', () => {
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

describe('where there is nobody else to ask', () => {
  it('three within ten seconds may ask one that fails, twice as many after each that goes well, and all after three', () => {
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

  it('one that fails again leaves room for three, ten seconds later', () => {
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

  it('nobody asks one that limits requests', () => {
    const { breaker, call } = setUp()
    call({ kind: 'busy', forMs: 5000 })
    expect(breaker.probe()).toBeUndefined()
  })

  it('of calls that are late nothing is counted', () => {
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
