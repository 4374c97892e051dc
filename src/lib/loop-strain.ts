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
    /** `delayMs` is of the time since the last sample; `ticks` are monotonic microseconds. */
    sample(delayMs: number, ticks: number): void {
      const from = sampledAt ?? ticks
      sampledAt = ticks
      const rule = terms()
      const turns = rule !== undefined && (strained ? delayMs <= rule.delayMs * CALM_SHARE : delayMs > rule.delayMs)
      turningSince = turns ? (turningSince ?? from) : undefined
      const isForGood = turningSince !== undefined && ticks - turningSince >= (rule?.forMs ?? 0) * 1000
      if (!isForGood && rule !== undefined) return
      strained = rule !== undefined && !strained
      turningSince = undefined
    },
  }
}
