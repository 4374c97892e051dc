import type { CutReason, OnCut } from '../gateway/cancellation.ts'
import type { Closing } from '../lib/async.ts'
import { createBag } from '../lib/bag.ts'
import { createLoopStrain, watchLoopDelay } from '../lib/loop-strain.ts'
import { type ConcurrencyLimiter, createConcurrencyLimiter, type ShedReason } from '../server/concurrency-limiter.ts'
import type { AppLog, Services } from './app.ts'

/** Which turns run, so that the end of the server can wait for them, and cut those that take too long. */
export interface TurnCounter {
  readonly running: number
  /** Those that were admitted and have ended. */
  readonly served: number
  enter(): () => void
  countServed(): void
  /** Resolves when none runs. */
  ended(): Promise<void>
  cut(why: CutReason): void
  readonly onCut: OnCut
}

export function createTurnCounter(): TurnCounter {
  let running = 0
  let served = 0
  let waiting: (() => void)[] = []
  const listeners = createBag<(why: CutReason) => void>()
  return {
    get running() {
      return running
    },
    get served() {
      return served
    },
    enter() {
      running += 1
      return () => {
        running -= 1
        if (running > 0) return
        for (const done of waiting) done()
        waiting = []
      }
    },
    countServed() {
      served += 1
    },
    ended: () => (running === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    cut(why) {
      listeners.each((listener) => listener(why))
    },
    onCut: (listener) => listeners.add(listener),
  }
}

export interface OpenedLimiter {
  readonly load: ConcurrencyLimiter
  /** Whether the event loop was late a moment ago. */
  isLate(): boolean
  /** Counts what was sent away, and tells of it. */
  onShed(reason: ShedReason): void
}

/** Samples in the time that strain has to last: one that is late does not matter. */
const SAMPLES = 5
const SAMPLE_MS_MAX = 1000
/** So late the loop has more than one request to begin at once, and perhaps some of which nobody waits any more. */
const LATE_MS = 40

/** Watches the event loop, and gives turns their places under the rules of the moment. */
export function openConcurrencyLimiter(parts: Services, closing: Closing): OpenedLimiter {
  const { clock, random, rules, log, metrics } = parts
  const nowMicros = () => clock.nowMicros()
  const strain = createLoopStrain(() => rules.current.strain)
  let lateMs = 0
  const shedLog = createShedLog({ nowMicros, log })
  const onShed = (reason: ShedReason) => {
    metrics.shed(reason)
    shedLog.shed(reason, load.figures)
  }
  const load = createConcurrencyLimiter({
    terms: () => rules.current.load,
    isStrained: () => strain.strained,
    random,
    onShed,
  })
  metrics.watchLoad(() => ({ ...load.figures, isStrained: strain.strained }))
  const everyMs = Math.min(SAMPLE_MS_MAX, (rules.current.strain?.forMs ?? SAMPLE_MS_MAX * SAMPLES) / SAMPLES)
  closing.add(
    watchLoopDelay({ nowMicros }, everyMs, (delayMs, at) => {
      lateMs = delayMs
      strain.sample(delayMs, at)
      shedLog.look()
    }),
  )
  return { load, isLate: () => lateMs > LATE_MS, onShed }
}

/** Nothing was sent away for so long: it is over. */
const OVER_AFTER_TICKS = 10_000_000

/** Two lines for each time of overload, however many requests it met: when it begins, and when it has ended. */
export function createShedLog(deps: { readonly nowMicros: () => number; readonly log: Pick<AppLog, 'info' | 'warn'> }) {
  let counts: Map<ShedReason, number> | undefined
  let lastAt = 0
  return {
    shed(reason: ShedReason, facts: object): void {
      lastAt = deps.nowMicros()
      if (counts === undefined) {
        counts = new Map()
        deps.log.warn(
          { reason, ...facts },
          'overloaded: requests are sent away; another line tells when that has ended',
        )
      }
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
    },
    /** Called every so often. */
    look(): void {
      if (counts === undefined || deps.nowMicros() - lastAt < OVER_AFTER_TICKS) return
      deps.log.info({ sent_away: Object.fromEntries(counts) }, 'no longer overloaded')
      counts = undefined
    },
  }
}
