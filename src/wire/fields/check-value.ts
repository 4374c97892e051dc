import { isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { ValueCheck } from './field-rule.ts'

/** The type and range of one value. */
export function checkValue(param: string, value: unknown, check: ValueCheck): Problem | undefined {
  switch (check.kind) {
    case 'number':
    case 'integer':
      return checkNumber(param, value, check)
    case 'boolean':
      return typeof value === 'boolean' ? undefined : wrongType(param, value, 'a boolean')
    case 'string':
      return typeof value === 'string' ? undefined : wrongType(param, value, 'a string')
    case 'object':
      return isObject(value) ? undefined : wrongType(param, value, 'an object')
    case 'array':
      return Array.isArray(value) ? undefined : wrongType(param, value, 'an array')
    case 'string-or-object':
      return typeof value === 'string' || isObject(value) ? undefined : wrongType(param, value, 'a string or an object')
    case 'string-or-strings':
      return checkStrings(param, value, check.most)
    case 'strings':
      return isStrings(value) ? undefined : wrongType(param, value, 'an array of strings')
    case 'one-of':
      return checkWord(param, value, check.words)
    case 'text-only':
      return checkTextOnly(param, value)
  }
}

function checkNumber(
  param: string,
  value: unknown,
  check: { kind: string; min: number; max: number },
): Problem | undefined {
  const integer = check.kind === 'integer'
  if (typeof value !== 'number' || (integer && !Number.isInteger(value))) {
    return wrongType(param, value, integer ? 'an integer' : 'a number')
  }
  if (value >= check.min && value <= check.max) return undefined
  const range =
    check.max === Number.MAX_SAFE_INTEGER
      ? `at least ${check.min}`
      : check.max === check.min
        ? check.min
        : `between ${check.min} and ${check.max}`
  return problem('invalid_value', `\`${param}\` is ${value}; it must be ${range}.`, { param })
}

function checkStrings(param: string, value: unknown, most: number): Problem | undefined {
  if (typeof value === 'string') return undefined
  if (!isStrings(value)) return wrongType(param, value, 'a string or an array of strings')
  if (value.length <= most) return undefined
  return problem('invalid_value', `\`${param}\` has ${value.length} entries; at most ${most} are possible.`, { param })
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string')

/** What a client wrote goes into a message only so far. */
const WORD_SHOWN_MAX = 40

function checkWord(param: string, value: unknown, words: readonly string[]): Problem | undefined {
  if (typeof value !== 'string') return wrongType(param, value, 'a string')
  if (words.includes(value)) return undefined
  const shown = JSON.stringify(value.slice(0, WORD_SHOWN_MAX))
  return problem('invalid_value', `\`${param}\` is ${shown}; it must be one of ${words.join(', ')}.`, { param })
}

function checkTextOnly(param: string, value: unknown): Problem | undefined {
  if (!Array.isArray(value)) return wrongType(param, value, 'an array')
  if (value.every((entry) => entry === 'text')) return undefined
  return problem('unsupported_value', `This gateway answers in text: \`${param}\` may only be ["text"].`, { param })
}

export const wrongType = (param: string, value: unknown, expected: string): Problem =>
  problem('invalid_type', `\`${param}\` is ${nameOfType(value)}; it must be ${expected}.`, { param })

function nameOfType(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  return `a ${typeof value}`
}
