import { isObject } from '../../lib/types.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { JsonMember } from '../../model/turn.ts'

export type ValueCheck =
  | { readonly kind: 'number'; readonly min: number; readonly max: number }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'string' }
  | { readonly kind: 'object' }
  | { readonly kind: 'array' }
  | { readonly kind: 'string-or-strings'; readonly most: number }
  | { readonly kind: 'string-or-object' }
  | { readonly kind: 'strings' }
  | { readonly kind: 'one-of'; readonly words: readonly string[] }
  | { readonly kind: 'text-only' }

export const number = (min: number, max: number): ValueCheck => ({ kind: 'number', min, max })
export const integer = (min: number, max: number): ValueCheck => ({ kind: 'integer', min, max })

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
      return checkToken(param, value, new Set(check.words))
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
  if (typeof value !== 'number') return wrongType(param, value, integer ? 'an integer' : 'a number')
  if (integer && Number.isFinite(value) && !Number.isInteger(value)) {
    return problem('invalid_type', `\`${param}\` is ${value}; it must be an integer.`, { param })
  }
  if (value >= check.min && value <= check.max) return undefined
  const range = check.max === check.min ? check.min : `between ${check.min} and ${check.max}`
  return problem('invalid_value', `\`${param}\` is ${writtenNumber(value)}; it must be ${range}.`, { param })
}

/** JSON has numbers that cannot be represented (`1e400`), and more digits than are kept. */
function writtenNumber(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'more than 1.7e308' : 'less than -1.7e308'
  if (Object.is(value, -0)) return '-0'
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? `about ${value}` : String(value)
}

function checkStrings(param: string, value: unknown, most: number): Problem | undefined {
  if (typeof value === 'string') return undefined
  if (!isStrings(value)) return wrongType(param, value, 'a string or an array of strings')
  if (value.length <= most) return undefined
  return problem('invalid_value', `\`${param}\` has ${value.length} entries; at most ${most} are allowed.`, { param })
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string')

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

/** The first problem of an element; each element is named by its index. */
export function checkEach(
  param: string,
  list: readonly unknown[],
  check: (param: string, element: unknown) => Problem | undefined,
): Problem | undefined {
  for (const [index, element] of list.entries()) {
    const found = check(`${param}[${index}]`, element)
    if (found) return found
  }
  return undefined
}

/** A client's text in a message is shortened. */
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

/** A text that must be there and must not be empty. */
export function checkName(param: string, value: unknown): Problem | undefined {
  if (value === '') return problem('invalid_value', `\`${param}\` is empty.`, { param })
  return checkText(param, value)
}

export const checkMaybeText = (param: string, value: unknown): Problem | undefined =>
  isAbsent(value) ? undefined : checkText(param, value)

export function checkToken(param: string, value: unknown, words: ReadonlySet<string>): Problem | undefined {
  const found = checkText(param, value)
  if (found || words.has(value as string)) return found
  const message = `\`${param}\` is ${shown(value as string)}; it must be one of ${[...words].join(', ')}.`
  return problem('invalid_value', message, { param })
}

/** A client's field name in a message is shortened. */
const NAME_SHOWN_MAX = 64

/**
 * Checks names on the bytes: every field at most once, control fields in their exact spelling. JSON readers disagree about
 * duplicates, escapes and letter case, and the provider's reader is not ours.
 */
export function checkNames(members: readonly JsonMember[], controls: ReadonlySet<string>): Problem | undefined {
  const seen = new Set<string>()
  for (const { name, escaped } of members) {
    const control = controls.has(name) ? name : name.toLowerCase()
    if ((escaped || name !== control) && controls.has(control)) return misspelled(name, control, escaped)
    if (seen.has(name)) return twice(name)
    seen.add(name)
  }
  return undefined
}

const misspelled = (name: string, control: string, escaped: boolean): Problem =>
  escaped
    ? problem('unsupported_parameter', `The name of \`${control}\` is written with escapes. Write it plainly, once.`, {
        param: control,
      })
    : problem(
        'unsupported_parameter',
        `Unknown field \`${name}\`. Did you mean \`${control}\`? Field names are in lower case.`,
        { param: name },
      )

const twice = (name: string): Problem =>
  problem('duplicate_field', `The field \`${name.slice(0, NAME_SHOWN_MAX)}\` appears twice. Send it once.`, {
    param: name.slice(0, NAME_SHOWN_MAX),
  })
