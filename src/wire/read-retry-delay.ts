import { isObject } from '../lib/is-object.ts'

/**
 * How long a provider asks to be left alone, from the body of its refusal: Google tells it nowhere else, in a detail of its
 * own kind and in its words; others say it in words only. Milliseconds; undefined where nothing is said.
 */
export function readRetryDelay(details: unknown, message: string): number | undefined {
  const told = (Array.isArray(details) ? details : []).map((detail) =>
    isObject(detail) && typeof detail.retryDelay === 'string' ? inWhole(detail.retryDelay) : undefined,
  )
  return told.find((wait) => wait !== undefined) ?? inWhole(IN_WORDS.exec(message)?.[1] ?? '')
}

/** "Please try again in 1m12.5s", "Please retry in 37.4s", "try again in 20ms", "retry after 3 seconds". */
const IN_WORDS = /(?:try again|retry)(?: in| after) ((?:\d{1,9}(?:\.\d{1,9})?\s?(?:ms|seconds?|s|m|h)){1,3})(?![a-z])/i

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

function inWhole(written: string): number | undefined {
  const parts = [...written.matchAll(/(\d{1,9}(?:\.\d{1,9})?)\s?(ms|s|m|h)/gi)]
  const ms = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit.toLowerCase()] ?? 0), 0)
  return ms > 0 ? Math.ceil(ms) : undefined
}
