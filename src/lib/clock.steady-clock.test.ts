import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { CATCH_UP_MAX_MS, type ClockEvent, createSteadyClock, HOLD_MS, STEP_MS } from './clock.ts'

const START = Date.UTC(2026, 10, 23)
const SECOND = 1000
const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 86_400_000

/** A clock that only the test moves: `pass` moves both, `step` only the wall clock. */
function handDriven(floorMs = 0, wall = START) {
  const hands = { wall, nowMicros: 0 }
  const events: ClockEvent[] = []
  const raw = { now: () => Math.floor(hands.wall), nowMicros: () => Math.floor(hands.nowMicros) }
  const clock = createSteadyClock(raw, { floorMs, onEvent: (event) => void events.push(event) })
  /** `ppm`: how much faster the wall clock runs. */
  const pass = (ms: number, ppm = 0) => {
    hands.nowMicros += ms * 1000
    hands.wall += ms * (1 + ppm / 1e6)
    return clock.now()
  }
  return {
    clock,
    events,
    pass,
    kinds: () => events.map(({ kind }) => kind),
    wall: () => Math.floor(hands.wall),
    step(ms: number) {
      hands.wall += ms
      return clock.now()
    },
    /** In pieces, as a server that looks at the time every five seconds. */
    passInPieces(ms: number) {
      for (let left = ms; left > 0; left -= 5 * SECOND) pass(Math.min(left, 5 * SECOND))
      return clock.now()
    },
  }
}

describe('a wall clock that runs well', () => {
  it('is ledger time, to the millisecond', () => {
    const { clock, pass, wall, events } = handDriven()
    for (const ms of [0, 1, 0.3, 999, HOUR, 10 * DAY]) expect(pass(ms)).toBe(wall())
    expect(clock.status().state).toBe('together')
    expect(events).toEqual([])
  })

  it('is followed smoothly where it drifts by some ppm, in either direction', () => {
    for (const ppm of [-500, -50, 50, 500]) {
      const driven = handDriven()
      let before = driven.clock.now()
      for (let at = 0; at < DAY; at += 20 * SECOND) {
        const now = driven.pass(20 * SECOND, ppm)
        expect(now - before).toBeGreaterThanOrEqual(19_980)
        expect(now - before).toBeLessThanOrEqual(20_020)
        expect(Math.abs(now - driven.wall())).toBeLessThanOrEqual(1)
        before = now
      }
      expect(driven.events).toEqual([])
    }
  })
})

describe('a forward step', () => {
  it('of a minute or less is followed at once', () => {
    const { step, wall, kinds } = handDriven()
    expect(step(STEP_MS)).toBe(wall())
    expect(kinds()).toEqual([])
  })

  it('of 400 days is not followed before it has held for five minutes, and windows go on meanwhile', () => {
    const { clock, step, passInPieces, pass, wall, kinds, events } = handDriven()
    expect(step(400 * DAY)).toBe(START)
    expect(clock.status()).toMatchObject({ state: 'step', followsInMs: HOLD_MS })
    expect(passInPieces(HOLD_MS - SECOND)).toBe(START + HOLD_MS - SECOND)
    expect(kinds()).toEqual(['stepped'])
    expect(pass(SECOND)).toBe(wall())
    expect(events.at(-1)).toEqual({ kind: 'step-followed', aheadMs: 400 * DAY })
    expect(clock.status().state).toBe('together')
  })

  it('that goes back within five minutes never counts', () => {
    const { step, passInPieces, wall, kinds } = handDriven()
    step(400 * DAY)
    passInPieces(HOLD_MS - 10 * SECOND)
    step(-400 * DAY)
    expect(passInPieces(HOUR)).toBe(wall())
    expect(wall()).toBeLessThan(START + 2 * HOUR)
    expect(kinds()).toEqual(['stepped', 'step-undone'])
  })

  it('that becomes another step has to hold again', () => {
    const { step, passInPieces, pass, wall } = handDriven()
    step(400 * DAY)
    passInPieces(HOLD_MS - 10 * SECOND)
    step(-300 * DAY)
    expect(passInPieces(HOLD_MS - 10 * SECOND)).toBe(START + 2 * (HOLD_MS - 10 * SECOND))
    expect(pass(10 * SECOND)).toBe(wall())
  })

  it('that was not observed for an hour has to hold from the first observation', () => {
    const { clock, step, pass, wall } = handDriven()
    clock.now()
    pass(HOUR)
    expect(step(DAY)).toBe(START + HOUR)
    expect(pass(HOLD_MS - 1)).toBe(START + HOUR + HOLD_MS - 1)
    expect(pass(1)).toBe(wall())
  })

  it('is followed at once on the word of an operator', () => {
    const { clock, step, wall, kinds } = handDriven()
    expect(clock.follow()).toBe(false)
    step(2 * HOUR)
    expect(clock.follow()).toBe(true)
    expect(clock.now()).toBe(wall())
    expect(kinds()).toEqual(['stepped', 'step-followed'])
  })

  it('is reported once a minute at most by a wall clock that jumps to and fro', () => {
    const { step, pass, events } = handDriven()
    for (let second = 0; second < 600; second++) {
      step(second % 2 === 0 ? DAY : -DAY)
      pass(SECOND)
    }
    expect(events.length).toBeLessThanOrEqual(11)
    expect(events.length).toBeGreaterThan(0)
  })
})

describe('a backward step', () => {
  it('lets ledger time run at half speed until the wall clock has caught up', () => {
    const { clock, step, passInPieces, pass, wall, kinds } = handDriven()
    expect(step(-HOUR)).toBe(START)
    expect(passInPieces(HOUR)).toBe(START + HOUR / 2)
    expect(clock.status().state).toBe('catching-up')
    expect(passInPieces(HOUR)).toBe(START + HOUR)
    expect(pass(MINUTE)).toBe(wall())
    expect(kinds()).toEqual(['wall-behind', 'together-again'])
  })

  it('does not stand still however often it is read', () => {
    const { step, pass } = handDriven()
    step(-HOUR)
    for (let at = 0; at < 10_000; at++) pass(0.001)
    expect(pass(0)).toBe(START + 5)
  })

  it('of more than a day leaves ledger time at full speed, so that windows keep their length', () => {
    const { clock, step, passInPieces, events } = handDriven()
    step(-CATCH_UP_MAX_MS - MINUTE)
    expect(passInPieces(DAY)).toBe(START + DAY)
    expect(clock.status().state).toBe('ahead')
    expect(events).toEqual([{ kind: 'wall-behind', behindMs: DAY + MINUTE, catchesUp: false }])
  })

  it('is undone by an operator who sets ledger time back', () => {
    const { clock, step, pass, wall } = handDriven()
    step(-400 * DAY)
    clock.setBack()
    expect(clock.now()).toBe(wall())
    expect(pass(HOUR)).toBe(START - 400 * DAY + HOUR)
    expect(clock.status().state).toBe('together')
  })
})

describe('at the start', () => {
  it('accepts a wall clock that is far ahead of the newest row: the server was off', () => {
    const { clock, events } = handDriven(START - 400 * DAY)
    expect(clock.now()).toBe(START)
    expect(events).toEqual([])
  })

  it('goes on from the newest row where the wall clock is behind it, and says so', () => {
    const { clock, pass, events } = handDriven(START + 400 * DAY)
    expect(clock.now()).toBe(START + 400 * DAY)
    expect(pass(HOUR)).toBe(START + 400 * DAY + HOUR)
    expect(events).toEqual([{ kind: 'wall-behind', behindMs: 400 * DAY, catchesUp: false }])
  })
})

/** STEADY_CLOCK_SEED repeats a run. */
const SEED = Number(process.env.STEADY_CLOCK_SEED ?? 20261123)
const RUNS = 400
const MOVES = 120

it('never goes back, never runs ahead of a step that has not held, and ends with the wall clock', () => {
  const random = randomFrom(SEED)
  const seen = { moves: 0, unfollowed: 0, followed: 0, undone: 0, 'catching-up': 0, ahead: 0 }
  for (let run = 0; run < RUNS; run++) {
    const driven = handDriven()
    let now = driven.clock.now()
    // Ledger time may be ahead of this by what was followed, and of nothing else.
    let allowed = now
    let seenFollowed = 0
    const judge = (elapsed: number, before: number) => {
      expect(now).toBeGreaterThanOrEqual(before)
      const followed = driven.events.filter(({ kind }) => kind === 'step-followed').length
      if (followed > seenFollowed) {
        seenFollowed = followed
        allowed = now
      } else allowed = Math.max(allowed + elapsed, Math.min(driven.wall(), allowed + elapsed + STEP_MS))
      expect(now).toBeLessThanOrEqual(allowed + 1)
    }
    for (let move = 0; move < MOVES; move++) {
      seen.moves++
      const before = now
      const kind = random(10)
      let elapsed = 0
      if (kind < 5) {
        elapsed = 1 + random(kind === 0 ? 40 * MINUTE : 90 * SECOND)
        now = driven.pass(elapsed, random(1001) - 500)
      } else if (kind < 7) now = driven.step(random(3 * MINUTE) - 90 * SECOND)
      else if (kind < 9) now = driven.step(random(6 * HOUR) - 3 * HOUR)
      else now = driven.step(random(800 * DAY) - 400 * DAY)
      judge(elapsed, before)
      const { state } = driven.clock.status()
      if (state === 'step') seen.unfollowed++
      else if (state !== 'together') seen[state]++
    }
    seen.followed += seenFollowed
    seen.undone += driven.kinds().filter((kind) => kind === 'step-undone').length
    // After any history, a wall clock that runs well is followed, or an operator has to act.
    if (driven.clock.status().state === 'ahead') driven.clock.setBack()
    driven.passInPieces(2 * CATCH_UP_MAX_MS + HOUR)
    expect(driven.clock.now() - driven.wall()).toBeLessThanOrEqual(1)
    expect(driven.clock.now() - driven.wall()).toBeGreaterThanOrEqual(0)
  }
  console.info(`steady clock: seed ${SEED}, ${JSON.stringify(seen)}`)
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(50)
})
