import { type Fields, isObject } from '../../lib/types.ts'
import type { InputUsage, Usage } from '../../model/usage.ts'
import { countOf } from '../shared/stream-state.ts'

/** What is known so far: later counts stand for earlier ones, those that are null or absent say nothing. */
export function mergeUsage(known: Fields, told: unknown): Fields {
  if (!isObject(told)) return known
  const counts = COUNTS.flatMap((name) => (told[name] === null || told[name] === undefined ? [] : [[name, told[name]]]))
  return { ...known, ...Object.fromEntries(counts) }
}

/** What of it means anything: there is no end to the names that a server may have for more. */
const COUNTS = [
  ...['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_creation'],
  ...['output_tokens', 'output_tokens_details', 'iterations'],
]

/** What is counted before the answer: whatever it says of the output is not of what will be said. */
export function promptCounts(told: unknown): Fields {
  const { output_tokens, output_tokens_details, iterations, ...counts } = isObject(told) ? told : {}
  return counts
}

/** The prompt alone: what was neither read from a cache nor written into one, and what was. */
export function readInput(counts: Fields): InputUsage | undefined {
  const { input, cached = 0, written = 0 } = totalsOf(counts)
  return input === undefined ? undefined : { uncachedInput: input, cachedInput: cached, cacheWrite: written }
}

/** The output includes what was thought. */
export function readUsage(counts: Fields): Usage | undefined {
  const input = readInput(counts)
  const { output } = totalsOf(counts)
  if (input === undefined || output === undefined) return undefined
  const { thinking_tokens } = isObject(counts.output_tokens_details) ? counts.output_tokens_details : {}
  return {
    ...input,
    output,
    reasoning: Math.min(countOf(thinking_tokens) ?? 0, output),
  }
}

interface Totals {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cached: number | undefined
  readonly written: number | undefined
}

/**
 * A server that has asked its model several times for one answer tells each time by itself, and at the top only the last
 * one; but where another model has gone on for the first, the top counts all.
 */
function totalsOf(counts: Fields): Totals {
  const top = countsIn(counts)
  const iterations = Array.isArray(counts.iterations) ? counts.iterations.filter(isObject) : []
  const summed = iterations.filter(({ type }) => type === 'message' || type === 'compaction').map(countsIn)
  if (summed.length === 0 || iterations.some(({ type }) => type === 'fallback_message')) return top
  const sum = (of: (each: Totals) => number | undefined): number | undefined => {
    const known = summed.flatMap((each) => of(each) ?? [])
    return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0)
  }
  return {
    input: sum(({ input }) => input) ?? top.input,
    output: sum(({ output }) => output) ?? top.output,
    cached: sum(({ cached }) => cached) ?? top.cached,
    written: sum(({ written }) => written) ?? top.written,
  }
}

const countsIn = (counts: Fields): Totals => ({
  input: countOf(counts.input_tokens),
  output: countOf(counts.output_tokens),
  cached: countOf(counts.cache_read_input_tokens),
  written: countOf(counts.cache_creation_input_tokens) ?? writtenInParts(counts.cache_creation),
})

/** By how long it is kept. */
function writtenInParts(creation: unknown): number | undefined {
  if (!isObject(creation)) return undefined
  const counts = Object.values(creation).flatMap((count) => countOf(count) ?? [])
  return counts.length === 0 ? undefined : counts.reduce((total, count) => total + count, 0)
}
