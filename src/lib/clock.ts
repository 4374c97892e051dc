/**
 * The only file that reads the time (`lib/loop-strain.ts` measures the event loop delay). All others get a Clock, so tests control
 * the time.
 *
 * `now` is wall time in milliseconds and may step either way; `createSteadyClock` derives ledger time from it. `nowMicros` is
 * monotonic, in microseconds, for limits and deadlines.
 */
export interface Clock {
  now(): number
  nowMicros(): number
}

/** Between two moments in microseconds. */
export const msBetween = (fromMicros: number, toMicros: number): number => Math.round((toMicros - fromMicros) / 1000)

export const systemClock: Clock = {
  now: Date.now,
  nowMicros: () => Math.floor(performance.now() * 1000),
}

/** A waiting time in whole seconds, rounded up, at least one. */
export const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))

/**
 * Time that limits of rights are judged by: ledger time. The monotonic clock drives it and the wall clock corrects it.
 * It equals the wall clock while that runs normally, and it never goes back on its own. Four cases differ:
 *
 * - The wall clock steps forward by at most `STEP_MS`: ledger time follows at once. This covers drift.
 * - It steps forward by more: ledger time ignores the step until it has held for `HOLD_MS` of monotonic time.
 *   A suspended machine looks the same, because the monotonic clock stops with it.
 * - It is behind ledger time by at most `CATCH_UP_MAX_MS`: ledger time runs at half speed until the wall clock catches
 *   up. Standing still would freeze every window and cap for as long as the step was.
 * - It is behind by more: ledger time runs at full speed, so that windows and caps keep their length, and the
 *   difference stays until an operator sets ledger time back.
 */
export interface SteadyClock extends Clock {
  status(): ClockStatus
  /** The operator follows a forward step now. False: there is no step. */
  follow(): boolean
  /** The operator sets ledger time back to the wall clock. */
  setBack(): void
}

export interface ClockStatus {
  /**
   * `together`: at most `STEP_MS` apart. `step`: the wall clock has stepped forward and is not followed yet.
   * `catching-up`: the wall clock is behind and ledger time runs at half speed. `ahead`: ledger time is too far ahead for that.
   */
  readonly state: 'together' | 'step' | 'catching-up' | 'ahead'
  readonly ledgerMs: number
  readonly wallMs: number
  /** How long until a step is followed. */
  readonly followsInMs: number | undefined
}

export type ClockEvent =
  | { readonly kind: 'stepped'; readonly aheadMs: number }
  | { readonly kind: 'step-followed'; readonly aheadMs: number }
  | { readonly kind: 'step-undone' }
  | { readonly kind: 'wall-behind'; readonly behindMs: number; readonly catchesUp: boolean }
  | { readonly kind: 'together-again' }
  | { readonly kind: 'set-back'; readonly fromMs: number; readonly toMs: number }

interface SteadyClockOptions {
  /** The newest recorded time: ledger time does not begin before it. */
  readonly floorMs: number
  readonly onEvent: (event: ClockEvent) => void
}

export const STEP_MS = 60_000
export const HOLD_MS = 300_000
export const CATCH_UP_MAX_MS = 86_400_000
/** A wall clock that jumps back and forth is reported at most this often. */
const REPORT_MICROS = 60_000_000

const MICROS = 1000
const STEP_MICROS = STEP_MS * MICROS
const HOLD_MICROS = HOLD_MS * MICROS
const CATCH_UP_MAX_MICROS = CATCH_UP_MAX_MS * MICROS

export function createSteadyClock(clock: Clock, { floorMs, onEvent }: SteadyClockOptions): SteadyClock {
  // In microseconds, which doubles hold exactly, halves included, until the year 2112.
  let time = Math.max(clock.now(), floorMs) * MICROS
  let seenMicros = clock.nowMicros()
  let step: { readonly sinceMicros: number; readonly aheadMicros: number } | undefined
  let isBehind = false
  let reportedMicros = Number.NEGATIVE_INFINITY

  const reportSeldom = (event: ClockEvent): void => {
    if (seenMicros - reportedMicros < REPORT_MICROS) return
    reportedMicros = seenMicros
    onEvent(event)
  }
  /** Moves ledger time on, and returns it in milliseconds. */
  const advance = (): number => {
    const nowMicros = clock.nowMicros()
    const elapsed = Math.max(0, nowMicros - seenMicros)
    seenMicros = nowMicros
    const wall = clock.now() * MICROS
    const ahead = wall - (time + elapsed)
    if (ahead > STEP_MICROS) {
      time += elapsed
      holdStep(ahead)
      return Math.floor(time / MICROS)
    }
    if (step !== undefined) {
      step = undefined
      reportSeldom({ kind: 'step-undone' })
    }
    if (ahead >= 0) time = wall
    else time = ahead >= -CATCH_UP_MAX_MICROS ? Math.max(wall, time + elapsed / 2) : time + elapsed
    if (isBehind || time - wall > STEP_MICROS) noteBehind(time - wall)
    return Math.floor(time / MICROS)
  }
  const holdStep = (aheadMicros: number): void => {
    if (step === undefined || Math.abs(aheadMicros - step.aheadMicros) > STEP_MICROS) {
      step = { sinceMicros: seenMicros, aheadMicros }
      reportSeldom({ kind: 'stepped', aheadMs: Math.round(aheadMicros / MICROS) })
    } else if (seenMicros - step.sinceMicros >= HOLD_MICROS) followStep()
  }
  const followStep = (): boolean => {
    if (step === undefined) return false
    const { aheadMicros } = step
    step = undefined
    isBehind = false
    time = Math.max(time, clock.now() * MICROS)
    onEvent({ kind: 'step-followed', aheadMs: Math.round(aheadMicros / MICROS) })
    return true
  }
  const noteBehind = (behindMicros: number): void => {
    if (!isBehind) {
      isBehind = true
      const behindMs = Math.round(behindMicros / MICROS)
      reportSeldom({ kind: 'wall-behind', behindMs, catchesUp: behindMs <= CATCH_UP_MAX_MS })
    } else if (behindMicros <= 0) {
      isBehind = false
      reportSeldom({ kind: 'together-again' })
    }
  }
  const stateOf = (behindMicros: number): ClockStatus['state'] => {
    if (step !== undefined) return 'step'
    if (behindMicros <= STEP_MICROS) return 'together'
    return behindMicros <= CATCH_UP_MAX_MICROS ? 'catching-up' : 'ahead'
  }

  advance()
  return {
    now: advance,
    nowMicros: clock.nowMicros,
    status() {
      const ledgerMs = advance()
      const wallMs = clock.now()
      const heldMicros = step === undefined ? 0 : seenMicros - step.sinceMicros
      return {
        state: stateOf(time - wallMs * MICROS),
        ledgerMs,
        wallMs,
        followsInMs: step === undefined ? undefined : Math.max(0, Math.ceil((HOLD_MICROS - heldMicros) / MICROS)),
      }
    },
    follow() {
      advance()
      return followStep()
    },
    setBack() {
      const fromMs = advance()
      const toMs = clock.now()
      step = undefined
      isBehind = false
      time = toMs * MICROS
      onEvent({ kind: 'set-back', fromMs, toMs })
    },
  }
}
