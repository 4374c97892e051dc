import type { RequestItem } from './useOutcome.ts'

type Tokens = NonNullable<RequestItem['tokens']>

/** The whole prompt: its classes do not overlap. */
export const inputOf = ({ uncached_input, cached_input, cache_write }: Tokens): number =>
  uncached_input + cached_input + cache_write
