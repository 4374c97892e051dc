import { describe, expect, it } from 'vitest'
import { answer, CHUNK, good, type Play, playLanes } from '../../test/fixtures/gateway/run-lanes.ts'
import { UpstreamBrokenOff, type UpstreamOutcome } from '../providers/upstream-answer.ts'
import { createLaneHealth, type LaneHealth } from '../routing/circuit-breaker.ts'
import type { RetryWait } from '../routing/retry-budget.ts'

const bad: Play = () => answer(500)
const limited: Play = () => answer(429)
const lockedOut: Play = () => answer(401)
const saying =
  (status: number, seconds: number): Play =>
  () =>
    ({ ...answer(status), headers: { 'retry-after': String(seconds) } }) as UpstreamOutcome
const cannot: Play = () => answer(400, ['{"error":"\\"m\\" does not support tools"}'])
const breaksOff: Play = () =>
  answer(200, [`data: ${CHUNK.replace('"stop"', 'null')}\n\n`], new UpstreamBrokenOff('reset'))

/** A model with lanes, of which things are found out; each is played by its place. `retriesLeft`: of the budget. */
function setUp(retriesLeft = Number.POSITIVE_INFINITY, { probes = false, patienceMs = 0 } = {}) {
  const time = { now: 0 }
  const budget = { left: retriesLeft, succeeded: 0 }
  const known = createLaneHealth({
    nowMicros: () => time.now,
    random: () => 0,
    rules: { current: { routing: { openCircuit: { firstMs: 10_000, longestMs: 300_000 } } } },
    onChange() {},
  })
  const reports: string[] = []
  const health: LaneHealth = {
    ...known,
    permit: (lane, by) => state(known.permit(lane, by), lane.model, reports),
    probe: (lane, by) => (probes ? known.probe(lane, by) : undefined),
  }
  const waits: number[] = []
  const retryWait: RetryWait = {
    maxMs: () => patienceMs,
    async wait(ms) {
      waits.push(ms)
      time.now += 1000 * ms
      return true
    },
  }
  const turn = async (...plays: readonly Play[]) => {
    reports.length = 0
    const { result, attempts } = await playLanes({
      delivery: 'stream',
      plays,
      health,
      retryWait,
      nowMicros: () => time.now,
      retryBudget: { take: () => budget.left-- > 0, succeeded: () => budget.succeeded++ },
      send: ({ model }) => Promise.resolve(plays[Number(model.slice('lane-'.length))]!('stream')),
    })
    const asked = attempts.map(({ lane }) => lane.slice('demo/'.length))
    return { asked, result: result.kind, problem: result.kind === 'failed' ? result.problem : undefined }
  }
  const turns = async (count: number, ...plays: readonly Play[]) => {
    for (let turned = 0; turned < count; turned++) await turn(...plays)
  }
  return { time, budget, reports, waits, turn, turns }
}

/** Notes on the way what is told of a lane. */
function state(permit: ReturnType<LaneHealth['permit']>, lane: string, reports: string[]): typeof permit {
  return (
    permit && {
      report(verdict) {
        reports.push(`${lane} ${verdict.kind}`)
        permit.report(verdict)
      },
      release() {
        reports.push(`${lane} released`)
        permit.release?.()
      },
    }
  )
}

describe('a turn reports on its lanes', () => {
  it('at the head, the first content and the end of an answer, and releases the permit', async () => {
    const { reports, turn } = setUp()
    await turn(good)
    expect(reports).toEqual(['lane-0 responded', 'lane-0 succeeded', 'lane-0 succeeded', 'lane-0 released'])
  })

  it('that an answer broke off after it began', async () => {
    const { reports, turn } = setUp()
    expect(await turn(breaksOff, good)).toMatchObject({ asked: ['lane-0'], result: 'broken-off' })
    expect(reports).toEqual(['lane-0 responded', 'lane-0 succeeded', 'lane-0 failed', 'lane-0 released'])
  })

  it('and releases the permit when our own code throws', async () => {
    const { reports, turn } = setUp()
    const throws: Play = () => {
      throw new Error('a fault of ours')
    }
    await expect(turn(throws)).rejects.toThrow('a fault of ours')
    expect(reports).toEqual(['lane-0 released'])
  })
})

describe('a lane with an open circuit', () => {
  it('is skipped, and the next lane is called', async () => {
    const { turn, turns } = setUp()
    await turns(5, bad, good)
    expect(await turn(bad, good)).toMatchObject({ asked: ['lane-1'], result: 'finished' })
  })

  it('like all others gives the moment at which the first may be called again', async () => {
    const { time, turn, turns } = setUp()
    await turns(5, bad)
    await turn(limited, limited)
    time.now = 500_000
    expect(await turn(good, good)).toMatchObject({
      asked: [],
      problem: { code: 'no_lane_available', retryAfterSeconds: 1 },
    })
  })

  it('because of its rate limit, like all others, is a rate limit for the client', async () => {
    const { turn } = setUp()
    expect(await turn(limited, limited)).toMatchObject({
      asked: ['lane-0', 'lane-1'],
      problem: { code: 'upstream_busy' },
    })
    expect(await turn(good, good)).toMatchObject({
      asked: [],
      problem: { code: 'upstream_busy', retryAfterSeconds: 1 },
    })
  })
})

describe('the Retry-After of a client', () => {
  const SECOND = 1_000_000

  it.each<[what: string, before: number, play: Play, seconds: number]>([
    ['is overloaded and says for how long', 0, saying(503, 30), 30],
    ['limits requests and says for how long', 0, saying(429, 300), 300],
    ['fails for the fifth time', 4, bad, 10],
    ['limits requests', 0, limited, 1],
    ['limits requests again and again, without a word for how long', 3, limited, 8],
  ])('is that at which the only lane is asked again, also where it %s just now', async (_, before, play, seconds) => {
    const { time, turn } = setUp()
    for (let count = 0; count < before; count++) {
      const { problem } = await turn(play)
      time.now += (problem?.retryAfterSeconds ?? 0) * SECOND
    }
    const { asked, problem } = await turn(play)
    expect([asked, problem?.retryAfterSeconds]).toEqual([['lane-0'], seconds])
    expect(problem?.message).toMatch(new RegExp(`; try again in ${seconds}s\\.$`))
    time.now += (seconds - 1) * SECOND
    if (seconds > 1) expect(await turn(good)).toMatchObject({ asked: [], problem: { retryAfterSeconds: 1 } })
    time.now += SECOND
    expect(await turn(good)).toMatchObject({ asked: ['lane-0'], result: 'finished' })
  })

  it('is none where only the operator can mend it: also of those who are refused without being asked', async () => {
    const { time, turn } = setUp()
    for (const asked of [['lane-0'], []]) {
      const { problem, ...refused } = await turn(lockedOut)
      expect([refused.asked, problem?.code, problem?.retryAfterSeconds]).toEqual([
        asked,
        'provider_misconfigured',
        undefined,
      ])
    }
    time.now = 61 * SECOND
    expect(await turn(good)).toMatchObject({ asked: ['lane-0'], result: 'finished' })
  })

  it('is the soonest of all lanes, whichever of them was asked', async () => {
    const { time, turn } = setUp()
    await turn(saying(429, 20), good)
    time.now += 10 * SECOND
    expect(await turn(good, saying(429, 300))).toMatchObject({
      asked: ['lane-1'],
      problem: { code: 'upstream_busy', retryAfterSeconds: 10 },
    })
  })

  it('is soon where a lane is left that is not put aside', async () => {
    expect((await setUp().turn(saying(429, 300), bad)).problem?.retryAfterSeconds).toBe(1)
    const { turn } = setUp(0)
    expect(await turn(saying(429, 300), good)).toMatchObject({ asked: ['lane-0'], problem: { retryAfterSeconds: 1 } })
  })

  it('is its own word where every lane is asked whatever it says', async () => {
    const { result } = await playLanes({ delivery: 'json', plays: [saying(429, 90), saying(429, 30)] })
    expect(result).toMatchObject({ kind: 'failed', problem: { retryAfterSeconds: 30 } })
  })
})

describe('the budget for retries', () => {
  it('is taken from after a failure; where it is spent the first failure is the answer, and the next lane is released', async () => {
    const { reports, turn } = setUp(1)
    const all = await turn(limited, bad, good)
    expect(all).toMatchObject({ asked: ['lane-0', 'lane-1'], problem: { code: 'upstream_busy' } })
    expect(reports).toEqual([
      ...['lane-0 responded', 'lane-0 busy', 'lane-0 released'],
      ...['lane-1 responded', 'lane-1 failed', 'lane-1 released', 'lane-2 released'],
    ])
  })

  it('is not taken from where a lane only cannot do what this one request asks for', async () => {
    const { budget, turn } = setUp(1)
    expect(await turn(cannot, good)).toMatchObject({ asked: ['lane-0', 'lane-1'], result: 'finished' })
    expect(budget).toEqual({ left: 1, succeeded: 1 })
  })
})

describe('when every circuit is open', () => {
  const probing = () => setUp(Number.POSITIVE_INFINITY, { probes: true })
  const patient = (patienceMs = 10_000) => setUp(Number.POSITIVE_INFINITY, { patienceMs })

  it('a failing lane is probed, and closes its circuit after three successes', async () => {
    const { reports, turn, turns } = probing()
    await turns(5, bad)
    for (let probe = 0; probe < 3; probe++) {
      expect(await turn(good)).toMatchObject({ asked: ['lane-0'], result: 'finished' })
      expect(reports, 'no ordinary permit').toEqual([])
    }
    await turn(good)
    expect(reports).toContain('lane-0 succeeded')
  })

  it('one that fails again is the answer, and others are asked before', async () => {
    const { turn, turns } = probing()
    await turns(5, bad, bad)
    expect(await turn(bad, good)).toMatchObject({ asked: ['lane-0'], problem: { code: 'server_is_overloaded' } })
    expect(await turn(limited)).toMatchObject({ asked: ['lane-0'], problem: { code: 'upstream_busy' } })
  })

  it('one that limits us is left alone, as it has asked', async () => {
    const { turn } = probing()
    await turn(saying(429, 300))
    expect(await turn(good)).toMatchObject({ asked: [], problem: { code: 'upstream_busy', retryAfterSeconds: 300 } })
  })

  it('a request waits for the one that is soon asked again, and asks it', async () => {
    const { waits, turn } = patient()
    await turn(saying(429, 300), saying(429, 5))
    waits.length = 0
    expect(await turn(bad, good)).toMatchObject({ asked: ['lane-1'], result: 'finished' })
    expect(waits).toEqual([5000])
  })

  it('so does the one that was limited itself, and it asks three times at most', async () => {
    const { waits, turn } = patient()
    let count = 0
    const once: Play = (delivery) => (count++ === 0 ? saying(429, 5)(delivery) : good(delivery))
    expect(await turn(once)).toMatchObject({ asked: ['lane-0', 'lane-0'], result: 'finished' })
    expect(waits).toEqual([5000])
    const { asked, problem } = await turn(saying(429, 2))
    expect([asked.length, problem?.code, waits.length]).toEqual([3, 'upstream_busy', 3])
  })

  it('what a lane says last is when it is asked again', async () => {
    let count = 0
    const worse: Play = (delivery) => (count++ === 0 ? saying(429, 5)(delivery) : bad(delivery))
    expect(await patient().turn(worse)).toMatchObject({
      asked: ['lane-0', 'lane-0'],
      problem: { retryAfterSeconds: 1 },
    })
  })

  it('a request does not wait beyond its limit, for what only the operator can fix, or for a closed circuit', async () => {
    const { time, waits, turn } = patient()
    expect(await turn(saying(429, 11))).toMatchObject({ problem: { code: 'upstream_busy', retryAfterSeconds: 11 } })
    time.now += 12_000_000
    expect(await turn(bad)).toMatchObject({ problem: { code: 'server_is_overloaded' } })
    expect(await turn(lockedOut)).toMatchObject({ problem: { code: 'provider_misconfigured' } })
    expect(waits).toEqual([])
  })
})
