import { monitorEventLoopDelay } from 'node:perf_hooks'

/** When the event loop counts as strained. */
export interface StrainTerms {
  readonly delayMs: number
  /** Every sample within this time has to agree before the state changes. */
  readonly forMs: number
}

/** Strain ends below this share of its threshold. Otherwise the work that was kept away would bring it back at once. */
const CALM_SHARE = 0.5

/** A loop this late has several requests to start at once, and some of their clients may have disconnected. */
const LATE_MS = 40

/** How far the event loop is behind its work, as the last samples saw it. */
export interface LoopStrain {
  /** It stays behind. One long step, such as reading a large body, is not strain. Without terms, never. */
  readonly isStrained: boolean
  /** It was late a moment ago. */
  readonly isLate: boolean
  /** `delayMs`: since the last sample. */
  sample(delayMs: number, nowMicros: number): void
}

export function createLoopStrain(terms: () => StrainTerms | undefined): LoopStrain {
  let sampledAt: number | undefined
  let turningSince: number | undefined
  const loop = {
    isStrained: false,
    isLate: false,
    sample(delayMs: number, nowMicros: number): void {
      loop.isLate = delayMs > LATE_MS
      const from = sampledAt ?? nowMicros
      sampledAt = nowMicros
      const rule = terms()
      const turns =
        rule !== undefined && (loop.isStrained ? delayMs <= rule.delayMs * CALM_SHARE : delayMs > rule.delayMs)
      turningSince = turns ? (turningSince ?? from) : undefined
      const isForGood = turningSince !== undefined && nowMicros - turningSince >= (rule?.forMs ?? 0) * 1000
      if (!isForGood && rule !== undefined) return
      loop.isStrained = rule !== undefined && !loop.isStrained
      turningSince = undefined
    },
  }
  return loop
}

/** Fine enough to see a delay of a quarter of a second several times a second. */
const RESOLUTION_MS = 20

/** Calls back at intervals with the 99th percentile of the event loop delay since the last time, in milliseconds. */
export function watchLoopDelay(
  deps: { readonly nowMicros: () => number },
  everyMs: number,
  onSample: (delayMs: number, nowMicros: number) => void,
): () => void {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  let last = deps.nowMicros()
  const timer = setInterval(() => {
    const nowMicros = deps.nowMicros()
    // Without a count the loop was blocked, or the interval is too short: the delay of this call shows which.
    const delayMs =
      histogram.count === 0 ? (nowMicros - last) / 1000 - everyMs : histogram.percentile(99) / 1e6 - RESOLUTION_MS
    last = nowMicros
    histogram.reset()
    onSample(Math.max(0, delayMs), nowMicros)
  }, everyMs).unref()
  return () => {
    clearInterval(timer)
    histogram.disable()
  }
}
