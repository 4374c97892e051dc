import { type Problem, problem } from '../../model/problem.ts'
import { wrongType } from '../fields/check-value.ts'

/** What a client wrote goes into a message only so far. */
const SHOWN_MAX = 40

export const shown = (text: string): string => JSON.stringify(text.slice(0, SHOWN_MAX))

/** Null means absent, everywhere. */
export const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null

export const missing = (param: string): Problem =>
  problem('missing_required_parameter', `\`${param}\` is missing.`, { param })

/** A text that must be there; it may be empty. */
export function checkText(param: string, value: unknown): Problem | undefined {
  if (typeof value === 'string') return undefined
  return isAbsent(value) ? missing(param) : wrongType(param, value, 'a string')
}

/** A text that must be there and say something. */
export function checkName(param: string, value: unknown): Problem | undefined {
  if (value === '') return problem('invalid_value', `\`${param}\` is empty.`, { param })
  return checkText(param, value)
}

export const checkMaybeText = (param: string, value: unknown): Problem | undefined =>
  isAbsent(value) ? undefined : checkText(param, value)

export function checkWord(param: string, value: unknown, words: ReadonlySet<string>): Problem | undefined {
  const found = checkText(param, value)
  if (found || words.has(value as string)) return found
  const message = `\`${param}\` is ${shown(value as string)}; it must be one of ${[...words].join(', ')}.`
  return problem('invalid_value', message, { param })
}
