import { type Problem, problem } from '../../model/problem.ts'
import type { JsonMember } from '../../model/turn.ts'
import { CHAT_FIELDS, CONTROL_FIELDS, STANDARD_VALUES, type ValueCheck } from './fields.ts'

/** A field name goes into a message; what a client may put there is bounded. */
const NAME_SHOWN_MAX = 64

/**
 * Names first, on the bytes: every field at most once, the control fields exactly as they are spelled. JSON readers
 * disagree about duplicates, escapes and letter case, and the provider's reader is not ours.
 */
export function checkNames(
  members: readonly JsonMember[],
  controls: ReadonlySet<string> = CONTROL_FIELDS,
): Problem | undefined {
  const seen = new Set<string>()
  for (const { name, escaped } of members) {
    const control = controlFieldMeant(name, controls)
    if (control !== undefined && (escaped || name !== control)) return misspelled(name, control, escaped)
    if (seen.has(name)) return twice(name)
    seen.add(name)
  }
  return undefined
}

function controlFieldMeant(name: string, controls: ReadonlySet<string>): string | undefined {
  if (controls.has(name)) return name
  const lower = name.toLowerCase()
  return controls.has(lower) ? lower : undefined
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

/** Then the values of the fields that we know: their type and range, and what is not provided. Null means absent. */
export function checkValues(body: Readonly<Record<string, unknown>>): Problem | undefined {
  for (const name in body) {
    const value = body[name]
    const rule = Object.hasOwn(CHAT_FIELDS, name) ? CHAT_FIELDS[name] : undefined
    if (!rule || value === null) continue
    if (rule.policy === 'refused' && !STANDARD_VALUES.has(value)) {
      return problem('unsupported_parameter', `\`${name}\` is not provided by this gateway. Leave it out.`, {
        param: name,
      })
    }
    if (rule.policy === 'standard-only' && !STANDARD_VALUES.has(value)) {
      return problem(
        'unsupported_value',
        `\`${name}\` would change the price of the request, and this model's entry does not cover it. Leave it out, or send "auto" or "default".`,
        { param: name },
      )
    }
    const found = rule.check && checkValue(name, value, rule.check)
    if (found) return found
  }
  return undefined
}

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
    check.max === Number.MAX_SAFE_INTEGER ? `at least ${check.min}` : `between ${check.min} and ${check.max}`
  return problem('invalid_value', `\`${param}\` is ${value}; it must be ${range}.`, { param })
}

function checkStrings(param: string, value: unknown, most: number): Problem | undefined {
  if (typeof value === 'string') return undefined
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
    return wrongType(param, value, 'a string or an array of strings')
  }
  if (value.length <= most) return undefined
  return problem('invalid_value', `\`${param}\` has ${value.length} entries; at most ${most} are possible.`, { param })
}

function checkTextOnly(param: string, value: unknown): Problem | undefined {
  if (!Array.isArray(value)) return wrongType(param, value, 'an array')
  if (value.every((entry) => entry === 'text')) return undefined
  return problem('unsupported_value', `This gateway answers in text: \`${param}\` may only be ["text"].`, { param })
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const wrongType = (param: string, value: unknown, expected: string): Problem =>
  problem('invalid_type', `\`${param}\` is ${nameOfType(value)}; it must be ${expected}.`, { param })

function nameOfType(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  return `a ${typeof value}`
}
