import { createLoadGuard, type LoadGuard, type ShedReason } from '../http/load-guard.ts'
import type { Closing } from '../lib/closing.ts'
import { createLoopStrain } from '../lib/loop-strain.ts'
import { watchLoopDelay } from '../lib/watch-loop-delay.ts'
import type { ServingParts } from './serving-parts.ts'
import { createShedLog } from './shed-log.ts'

export interface OpenLoadGuard {
  readonly load: LoadGuard
  /** Counts what was sent away, and tells of it. */
  onShed(reason: ShedReason): void
}

/** Samples in the time that strain has to last: one that is late does not matter. */
const SAMPLES = 5
const SAMPLE_MS_MAX = 1000
/** So late the loop has more than one request to begin at once, and perhaps some of which nobody waits any more. */
const LATE_MS = 40

/** Watches the event loop, and gives turns their places under the rules of the moment. */
export function openLoadGuard(parts: ServingParts, closing: Closing): OpenLoadGuard {
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
    isLate: () => lateMs > LATE_MS,
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
  return { load, onShed }
}
