import { type Fields, isObject } from '../../lib/types.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { inputTokensOf, type Usage } from '../../model/usage.ts'
import { agreeWithTotal, countOf, encodeCharge, usageOfCounts } from '../shared/stream-state.ts'
import type { ChatDialect } from './dialects.ts'

/**
 * Usage as Chat Completions reports it: the prompt includes what was cached, the completion includes the reasoning, but for
 * servers that count these beside. Undefined when it is absent or not numbers; zero is a number, and is believed.
 */
function readUsage(usage: unknown, { countedBeside }: Pick<ChatDialect, 'countedBeside'>): Usage | undefined {
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

/** What an answer has cost, as its chunks tell it; the last that is told counts. */
export interface UsageListener {
  /** A chunk, or a whole answer. True where it tells a usage, which is not for the client to see there. */
  hear(said: Fields): boolean
  usage(): Usage | undefined
}

export function createUsageListener(asked: { readonly dialect: ChatDialect; readonly choices: number }): UsageListener {
  let told: Usage | undefined
  /** What a server has measured is believed where it does not count. */
  let timed: Usage | undefined
  return {
    hear(said) {
      const reported = reportedUsage(said, asked.choices)
      told = readUsage(reported, asked.dialect) ?? told
      timed = readUsage(countsOfTimings(said), asked.dialect) ?? timed
      return isObject(reported)
    },
    usage: () => told ?? timed,
  }
}

/**
 * Wherever a server puts it: in the chunk, in an extension, or, where one choice was asked for, in that choice (Moonshot's
 * docs, where it comes beside the finish reason). Of several choices none knows what the others have cost.
 */
const reportedUsage = (said: Fields, choicesAsked: number): unknown =>
  said.usage ?? (isObject(said.x_groq) ? said.x_groq.usage : undefined) ?? usageInChoice(said, choicesAsked)

const usageInChoice = ({ choices }: Fields, choicesAsked: number): unknown => {
  const [choice] = choicesAsked === 1 && Array.isArray(choices) ? choices : []
  return isObject(choice) ? choice.usage : undefined
}

/** llama.cpp tells how long it took for how many: prompt tokens that it read, those that it had kept, and what it wrote. */
function countsOfTimings({ timings }: Fields): Fields | undefined {
  if (!isObject(timings)) return undefined
  const [read, kept] = [countOf(timings.prompt_n), countOf(timings.cache_n) ?? 0]
  if (read === undefined) return undefined
  return { prompt_tokens: read + kept, cached_tokens: kept, completion_tokens: timings.predicted_n }
}

/** The usage of an answer in Chat's own words, with the charge beside it. */
export function writeUsage(settled: SettledCharge): Fields {
  const { usage } = settled
  const prompt = inputTokensOf(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
    millrace: encodeCharge(settled),
  }
}
