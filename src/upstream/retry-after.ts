/** A provider that asks for more than this is asked again sooner: its word is advice, and some send nonsense. */
export const WAIT_MAX_MS = 600_000

/**
 * How long a provider asks to be left alone. Seconds, with a fraction or not, or a date; milliseconds where it is more
 * exact. Undefined for anything that is not a time to come.
 */
export function readRetryAfter(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const waits = [
    millisecondsOf(headers['retry-after-ms'], 1),
    millisecondsOf(headers['retry-after'], 1000),
    untilDate(headers['retry-after'], now),
  ]
  const wait = waits.find((candidate) => candidate !== undefined && candidate > 0)
  return wait === undefined ? undefined : Math.min(wait, WAIT_MAX_MS)
}

const millisecondsOf = (text: string | undefined, unit: number): number | undefined =>
  text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Math.ceil(Number(text) * unit) : undefined

function untilDate(text: string | undefined, now: number): number | undefined {
  if (text === undefined || !/[a-z]{3}/i.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at - now
}
