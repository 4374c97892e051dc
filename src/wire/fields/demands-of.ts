import { isObject } from '../../lib/is-object.ts'
import type { Demand } from '../../model/turn.ts'
import { isAbsent } from './check-value.ts'

/** Of a checked request, whatever its protocol calls these. */
interface Asked {
  readonly choices: number
  readonly stop?: unknown
  readonly toolChoice: unknown
  readonly format: unknown
}

/**
 * What of a request a lane must be able to do. Everything else merely shapes the words of an answer: it is left out where a
 * lane does not know it, and named.
 */
export const demandsOf = ({ choices, stop, toolChoice, format }: Asked): readonly Demand[] => [
  ...(choices > 1 ? (['n'] as const) : []),
  ...(isAbsent(stop) || isEmpty(stop) ? [] : (['stop'] as const)),
  ...(forcesTool(toolChoice) ? (['tool_choice'] as const) : []),
  ...(isObject(format) && format.type === 'json_schema' ? (['response_format'] as const) : []),
]

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

function forcesTool(choice: unknown): boolean {
  if (isAbsent(choice) || choice === 'auto' || choice === 'none') return false
  if (!isObject(choice)) return true
  // A choice among some of them need not be one of them.
  const { mode } = isObject(choice.allowed_tools) ? choice.allowed_tools : choice
  return mode !== 'auto'
}
