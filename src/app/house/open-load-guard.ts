import { createLoadGuard, type LoadGuard, type ShedReason } from '../../http/door/load-guard.ts'
import type { Closing } from '../../lib/closing.ts'
import { createLoopStrain, watchLoopDelay } from '../../lib/loop-strain.ts'
import type { HouseLog } from './house.ts'
import type { Parts } from './parts.ts'

export interface OpenLoadGuard {
  readonly load: LoadGuard
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
export function openLoadGuard(parts: Parts, closing: Closing): OpenLoadGuard {
  const { clock, random, rules, log, metrics } = parts
  const ticks = () => clock.ticks()
  const strain = createLoopStrain(() => rules.current.strain)
  let lateMs = 0
  const shedLog = createShedLog({ ticks, log })
  const onShed = (reason: ShedReason) => {
    metrics.shed(reason)
    shedLog.shed(reason, load.figures)
  }
  const load = createLoadGuard({
    terms: () => rules.current.load,
    isStrained: () => strain.strained,
    random,
    onShed,
  })
  metrics.watchLoad(() => ({ ...load.figures, isStrained: strain.strained }))
  const everyMs = Math.min(SAMPLE_MS_MAX, (rules.current.strain?.forMs ?? SAMPLE_MS_MAX * SAMPLES) / SAMPLES)
  closing.add(
    watchLoopDelay({ ticks }, everyMs, (delayMs, at) => {
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
export function createShedLog(deps: { readonly ticks: () => number; readonly log: Pick<HouseLog, 'info' | 'warn'> }) {
  let counts: Map<ShedReason, number> | undefined
  let lastAt = 0
  return {
    shed(reason: ShedReason, facts: object): void {
      lastAt = deps.ticks()
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
      if (counts === undefined || deps.ticks() - lastAt < OVER_AFTER_TICKS) return
      deps.log.info({ sent_away: Object.fromEntries(counts) }, 'no longer overloaded')
      counts = undefined
    },
  }
}
