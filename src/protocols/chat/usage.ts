import { type Fields, isObject } from '../../lib/types.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { inputTokensOf, type Usage } from '../../model/price.ts'
import { agreeWithTotal, countOf, encodeCharge, usageOfCounts } from '../shared/stream-state.ts'
import type { ChatDialect } from './dialects.ts'

/** Where a count may stand: a member, or a member of a member. docs/protocols/usage.md says which server puts it there. */
type Place = readonly [name: string] | readonly [details: string, name: string]

const PROMPT: readonly Place[] = [['prompt_tokens'], ['input_tokens']]

const COMPLETION: readonly Place[] = [['completion_tokens'], ['output_tokens']]

const CACHED: readonly Place[] = [
  ['prompt_tokens_details', 'cached_tokens'],
  ['prompt_token_details', 'cached_tokens'],
  ['input_tokens_details', 'cached_tokens'],
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

const REASONING: readonly Place[] = [
  ['completion_tokens_details', 'reasoning_tokens'],
  ['output_tokens_details', 'reasoning_tokens'],
]

/**
 * Usage as Chat Completions reports it: the prompt includes what was cached and the completion includes the reasoning, except on
 * servers that count these beside. Undefined when it is absent or not numbers; zero is a number, and is believed.
 */
function readUsage(usage: unknown, { countedSeparately }: Pick<ChatDialect, 'countedSeparately'>): Usage | undefined {
  if (!isObject(usage)) return undefined
  const total = countIn(usage.total_tokens)
  const input = mostOf(usage, PROMPT)
  const output = mostOf(usage, COMPLETION) ?? countOf(total !== undefined && input !== undefined && total - input)
  if (input === undefined || output === undefined) return undefined
  const counts = {
    input,
    cached: mostOf(usage, CACHED) ?? 0,
    cacheWrite: mostOf(usage, CACHE_WRITE) ?? 0,
    output,
    reasoning: mostOf(usage, REASONING) ?? 0,
  }
  return usageOfCounts(agreeWithTotal(counts, { total, beside: countedSeparately }))
}

/**
 * A server that reports a count in two places reports the same twice, or leaves one of them at zero. Undefined where it reports
 * none.
 */
function mostOf(usage: Fields, places: readonly Place[]): number | undefined {
  let most: number | undefined
  for (const [first, second] of places) {
    const value = usage[first]
    const count = countIn(second === undefined ? value : isObject(value) ? value[second] : undefined)
    if (count !== undefined) most = Math.max(most ?? 0, count)
  }
  return most
}

/** Some servers write numbers as text. */
const countIn = (value: unknown): number | undefined =>
  countOf(typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value)

/** Collects the usage of an answer from its chunks; the last report counts. */
export class UsageReader {
  usage: Usage | undefined
  #reported: Usage | undefined
  /** Counts that llama.cpp gives beside its timings: used where it reports no usage. */
  #timed: Usage | undefined

  /** Reads a chunk or a whole answer. True where it has a usage, which must not reach the client there. */
  read({ usage, x_groq, choices, timings }: Fields, requested: number, dialect: ChatDialect): boolean {
    // In the chunk, in an extension, or, where one choice was requested, in that choice (Moonshot's docs: beside the finish
    // reason). A usage in one of several choices does not count the others.
    const choice = requested === 1 && Array.isArray(choices) ? choices[0] : undefined
    const reported =
      usage ?? (isObject(x_groq) ? x_groq.usage : undefined) ?? (isObject(choice) ? choice.usage : undefined)
    if (isObject(reported)) this.#report(readUsage(reported, dialect))
    if (isObject(timings)) this.#timed = readUsage(countsOfTimings(timings), dialect) ?? this.#timed
    this.usage = this.#reported ?? this.#timed
    return isObject(reported)
  }

  /** Some servers end a stream with a usage of zeros behind the true one. */
  #report(usage: Usage | undefined): void {
    const isEmpty = usage === undefined || (inputTokensOf(usage) === 0 && usage.output === 0)
    if (!isEmpty || this.#reported === undefined) this.#reported = usage
  }
}

/** llama.cpp reports prompt tokens that it read, prompt tokens that it had cached, and tokens that it wrote. */
function countsOfTimings(timings: Fields): Fields | undefined {
  const [read, cached] = [countOf(timings.prompt_n), countOf(timings.cache_n) ?? 0]
  if (read === undefined) return undefined
  return { prompt_tokens: read + cached, cached_tokens: cached, completion_tokens: timings.predicted_n }
}

/** The usage of an answer as Chat Completions has it, with the charge beside it. */
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
