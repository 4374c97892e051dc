import type { CutReason, OnCut } from '../gateway/cancellation.ts'
import type { Closing } from '../lib/async.ts'
import { createBag } from '../lib/collections.ts'
import { createLoopStrain, watchLoopDelay } from '../lib/loop-strain.ts'
import { createConcurrencyLimiter, type ShedReason } from '../server/concurrency-limiter.ts'
import type { EdgeServices } from '../server/services.ts'
import type { AppLog, Services } from './app.ts'

/** Counts running turns, so that the shutdown can wait for them and cut those that take too long. */
export interface TurnCounter {
  readonly running: number
  /** Turns that were admitted and have ended. */
  readonly served: number
  enter(): () => void
  countServed(): void
  /** Resolves when no turn runs. */
  ended(): Promise<void>
  cut(why: CutReason): void
  readonly onCut: OnCut
}

export function createTurnCounter(): TurnCounter {
  let running = 0
  let served = 0
  let waiting: (() => void)[] = []
  const listeners = createBag<(why: CutReason) => void>()
  const leave = () => {
    running -= 1
    if (running > 0) return
    for (const done of waiting) done()
    waiting = []
  }
  return {
    get running() {
      return running
    },
    get served() {
      return served
    },
    enter() {
      running += 1
      return leave
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

/** Strain must hold for this many samples, so one late sample does not matter. */
const SAMPLES = 5
const SAMPLE_MS_MAX = 1000
/** A loop this late has several requests to start at once, and some of their clients may have disconnected. */
const LATE_MS = 40

/** The concurrency limiter under the current configuration, with the event loop delay that it reacts to. */
export function openConcurrencyLimiter(
  { clock, random, rules, log, metrics }: Services,
  closing: Closing,
): Pick<EdgeServices, 'limiter' | 'isLate'> {
  const { nowMicros } = clock
  const strain = createLoopStrain(() => rules.current.strain)
  let lateMs = 0
  const shedLog = createShedLog({ nowMicros, log })
  const limiter = createConcurrencyLimiter({
    settings: () => rules.current.load,
    isStrained: () => strain.strained,
    random,
    onShed(reason) {
      metrics.shed(reason)
      shedLog.shed(reason, limiter.figures)
    },
  })
  metrics.watchLoad(() => ({ ...limiter.figures, isStrained: strain.strained }))
  const everyMs = Math.min(SAMPLE_MS_MAX, (rules.current.strain?.forMs ?? SAMPLE_MS_MAX * SAMPLES) / SAMPLES)
  closing.add(
    watchLoopDelay({ nowMicros }, everyMs, (delayMs, at) => {
      lateMs = delayMs
      strain.sample(delayMs, at)
      shedLog.look()
    }),
  )
  return { limiter, isLate: () => lateMs > LATE_MS }
}

/** Overload is over when nothing was shed for this long. */
const OVER_AFTER_MICROS = 10_000_000

/** Two lines for each overload, however many requests it met: one at its begin, one at its end. */
export function createShedLog(deps: { readonly nowMicros: () => number; readonly log: Pick<AppLog, 'info' | 'warn'> }) {
  let counts: Map<ShedReason, number> | undefined
  let lastAt = 0
  return {
    shed(reason: ShedReason, facts: object): void {
      lastAt = deps.nowMicros()
      if (counts === undefined) {
        counts = new Map()
        deps.log.warn({ reason, ...facts }, 'overloaded: requests are shed; another line reports the end')
      }
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
    },
    /** Called at intervals: reports the end of an overload. */
    look(): void {
      if (counts === undefined || deps.nowMicros() - lastAt < OVER_AFTER_MICROS) return
      deps.log.info({ sent_away: Object.fromEntries(counts) }, 'no longer overloaded')
      counts = undefined
    },
  }
}
