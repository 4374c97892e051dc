import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Usage } from '../../model/usage.ts'
import { agreeWithTotal } from '../agree-with-total.ts'
import { countOf, usageOfCounts } from '../usage-of-counts.ts'
import type { ChatDialect } from './dialects.ts'

/**
 * Usage as Chat Completions reports it: the prompt includes what was cached, the completion includes the reasoning, but for
 * servers that count these beside. Undefined when it is absent or not numbers; zero is a number, and is believed.
 */
export function readUsage(usage: unknown, { countedBeside }: Pick<ChatDialect, 'countedBeside'>): Usage | undefined {
  if (!isObject(usage)) return undefined
  const input = countOf(usage.prompt_tokens)
  const output = countOf(usage.completion_tokens)
  if (input === undefined || output === undefined) return undefined
  const counts = {
    input,
    cached: mostOf(usage, CACHED),
    cacheWrite: mostOf(usage, CACHE_WRITE),
    output,
    reasoning: mostOf(usage, REASONING),
  }
  return usageOfCounts(agreeWithTotal(counts, { total: countOf(usage.total_tokens), beside: countedBeside }))
}

/** Where a count may stand: a member, or a member of a member. docs/protocols/usage.md says who puts it there. */
type Place = readonly [name: string] | readonly [details: string, name: string]

const CACHED: readonly Place[] = [
  ['prompt_tokens_details', 'cached_tokens'],
  ['prompt_token_details', 'cached_tokens'],
  ['prompt_cache_hit_tokens'],
  ['cached_tokens'],
  ['num_cached_tokens'],
]

const CACHE_WRITE: readonly Place[] = [
  ['prompt_tokens_details', 'cache_write_tokens'],
  ['prompt_tokens_details', 'cache_creation_input_tokens'],
  ['prompt_tokens_details', 'cache_creation_tokens'],
  ['cache_creation_input_tokens'],
]

const REASONING: readonly Place[] = [['completion_tokens_details', 'reasoning_tokens']]

/** A server that tells it twice tells the same, or has left one of them at zero. */
const mostOf = (usage: Fields, places: readonly Place[]): number =>
  places.reduce((most, place) => Math.max(most, countAt(usage, place) ?? 0), 0)

function countAt(usage: Fields, [first, second]: Place): number | undefined {
  const value = usage[first]
  if (second === undefined) return countOf(value)
  return isObject(value) ? countOf(value[second]) : undefined
}
