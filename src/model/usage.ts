/**
 * What a turn consumed, in token classes that do not overlap: the whole prompt is
 * `uncachedInput + cachedInput + cacheWrite`. Reasoning is inside `output` and stands beside it for show only.
 */
export interface Usage {
  readonly uncachedInput: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
  /** The provider's own total has more tokens than its classes, and nothing explains them. */
  readonly doubtful?: true
}

/** The input alone, of an answer whose output is not counted yet. */
export type InputUsage = Pick<Usage, 'uncachedInput' | 'cachedInput' | 'cacheWrite'>

/** Absent is not zero: a provider that reports 0 is believed, one that reports nothing is estimated, and flagged. */
export interface MeteredUsage extends Usage {
  readonly estimated: boolean
}

export const inputTokensOf = (usage: InputUsage): number => usage.uncachedInput + usage.cachedInput + usage.cacheWrite
