import { monitorEventLoopDelay } from 'node:perf_hooks'

/** What strain is; undefined: nothing is. */
export interface StrainTerms {
  readonly delayMs: number
  /** So long every sample has to say the same, before it counts. */
  readonly forMs: number
}

/** Strain ends below this share of where it begins: else the work that it keeps away would bring it back at once. */
const CALM_SHARE = 0.5

/**
 * Whether the event loop is behind its work for good. One long step, such as reading a large body, is not strain; a moment
 * of ease in it is not its end. A function of samples: how they are taken is somebody else's.
 */
export function createLoopStrain(terms: () => StrainTerms | undefined) {
  let strained = false
  let sampledAt: number | undefined
  let turningSince: number | undefined
  return {
    get strained() {
      return strained
    },
    /** `delayMs` is of the time since the last sample; `nowMicros` are monotonic microseconds. */
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

/** Often enough for a delay of a quarter of a second to be seen several times a second. */
const RESOLUTION_MS = 20

/** Calls back every so often with the 99th percentile of how late the event loop was since the last time, in milliseconds. */
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
    // Where nothing was counted, the loop stood still, or the time is too short for it: how late this call is says which.
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
