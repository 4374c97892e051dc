interface Input {
  readonly uncached_input: number
  readonly cached_input: number
  readonly cache_write: number
}

/** The whole prompt: its classes do not overlap. */
export const inputTokens = ({ uncached_input, cached_input, cache_write }: Input): number =>
  uncached_input + cached_input + cache_write
