import type { OnServerAbort, ServerAbortReason } from '../gateway/cancellation.ts'
import type { Closing } from '../lib/async.ts'
import { createBag } from '../lib/collections.ts'
import { createLoopStrain, watchLoopDelay } from '../lib/loop-strain.ts'
import { createConcurrencyLimiter, type ShedReason } from '../server/concurrency-limiter.ts'
import type { EdgeServices, TurnCounts } from '../server/services.ts'
import type { AppLog, Services } from './app.ts'

/** Counts running turns, so that the shutdown can wait for them and abort those that take too long. */
export class TurnCounter implements TurnCounts {
  running = 0
  served = 0
  console = 0
  onIdle: (() => void) | undefined
  #idle: Promise<void> | undefined
  readonly #listeners = createBag<(why: ServerAbortReason) => void>()
  readonly onServerAbort: OnServerAbort = this.#listeners.add

  /** Resolves when no turn runs. */
  ended(): Promise<void> {
    if (this.running === 0) return Promise.resolve()
    this.#idle ??= new Promise((resolve) => {
      this.onIdle = () => {
        this.onIdle = undefined
        this.#idle = undefined
        resolve()
      }
    })
    return this.#idle
  }

  abortAll(why: ServerAbortReason): void {
    this.#listeners.each((listener) => listener(why))
  }
}

/** Strain must hold for this many samples, so one late sample does not matter. */
const SAMPLES = 5
const SAMPLE_MS_MAX = 1000

/** The concurrency limiter under the current configuration, with the event loop delay that it reacts to. */
export function openConcurrencyLimiter(
  { clock, random, rules, log, metrics }: Services,
  closing: Closing,
): Pick<EdgeServices, 'limiter' | 'loop'> {
  const { nowMicros } = clock
  const loop = createLoopStrain(() => rules.current.strain)
  const shedLog = createShedLog({ nowMicros, log })
  const limiter = createConcurrencyLimiter({
    ...{ rules, loop, random },
    onShed(reason) {
      metrics.shed(reason)
      shedLog.shed(reason, limiter.figures)
    },
  })
  metrics.watchLoad(() => ({ ...limiter.figures, isStrained: loop.isStrained }))
  const everyMs = Math.min(SAMPLE_MS_MAX, (rules.current.strain?.forMs ?? SAMPLE_MS_MAX * SAMPLES) / SAMPLES)
  closing.add(
    watchLoopDelay({ nowMicros }, everyMs, (delayMs, at) => {
      loop.sample(delayMs, at)
      shedLog.look()
    }),
  )
  return { limiter, loop }
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
