import { describeError } from './describe-error.ts'
import { scrub } from './scrub.ts'

const DEPTH_MAX = 4
const ENTRIES_MAX = 50

/** Facts beside a message, made fit for a log: strings scrubbed, errors described, money exact, depth and width bounded. */
export function scrubFacts(facts: object): Record<string, unknown> {
  const fit: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(facts)) fit[name === 'error' ? 'err' : name] = fitValue(value, 0)
  return fit
}

function fitValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return scrub(value)
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return describeError(value)
  if (value instanceof Date) return String(value.toJSON())
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : value
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`
  if (depth >= DEPTH_MAX) return '…'
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map((each) => fitValue(each, depth + 1))
  const entries = Object.entries(value).slice(0, ENTRIES_MAX)
  return Object.fromEntries(entries.map(([name, each]) => [name, fitValue(each, depth + 1)]))
}
