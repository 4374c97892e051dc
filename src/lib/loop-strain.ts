import { monitorEventLoopDelay } from 'node:perf_hooks'

/** When the event loop counts as strained. */
export interface StrainTerms {
  readonly delayMs: number
  /** Every sample within this time has to agree before the state changes. */
  readonly forMs: number
}

/** Strain ends below this share of its threshold. Otherwise the work that was kept away would bring it back at once. */
const CALM_SHARE = 0.5

/** Whether the event loop stays behind its work. One long step, such as reading a large body, is not strain. Without terms, never. */
export function createLoopStrain(terms: () => StrainTerms | undefined) {
  let strained = false
  let sampledAt: number | undefined
  let turningSince: number | undefined
  return {
    get strained() {
      return strained
    },
    /** `delayMs`: since the last sample. */
    sample(delayMs: number, nowMicros: number): void {
      const from = sampledAt ?? nowMicros
      sampledAt = nowMicros
      const rule = terms()
      const turns = rule !== undefined && (strained ? delayMs <= rule.delayMs * CALM_SHARE : delayMs > rule.delayMs)
      turningSince = turns ? (turningSince ?? from) : undefined
      const isForGood = turningSince !== undefined && nowMicros - turningSince >= (rule?.forMs ?? 0) * 1000
      if (!isForGood && rule !== undefined) return
      strained = rule !== undefined && !strained
      turningSince = undefined
    },
  }
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
