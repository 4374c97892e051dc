import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Usage } from '../../model/usage.ts'
import { countOf } from '../usage-of-counts.ts'
import type { ChatDialect } from './dialects.ts'
import { readUsage } from './read-usage.ts'

/** What an answer has cost, as its chunks tell it; the last that is told counts. */
export interface UsageListener {
  /** A chunk, or a whole answer. True where it tells a usage, which is not for the client to see there. */
  hear(said: Fields): boolean
  readonly usage: Usage | undefined
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
    get usage() {
      return told ?? timed
    },
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
