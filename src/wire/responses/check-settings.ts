import { isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import { checkMaybeText, checkName, checkValue, checkWord, isAbsent, shown, wrongType } from '../fields/check-value.ts'

const FORMATS = new Set(['text', 'json_object', 'json_schema'])

/** `text.format`: flat, where Chat nests its schema. */
export function checkFormat(text: unknown): Problem | undefined {
  const format = isObject(text) ? text.format : undefined
  if (!isObject(format)) return undefined
  const found = checkWord('text.format.type', format.type, FORMATS)
  if (found || format.type !== 'json_schema') return found
  if (isAbsent(format.name) && !isAbsent(format.json_schema)) {
    const message = '`text.format` is nested as Chat Completions nests it. Put name, schema and strict beside type.'
    return problem('missing_required_parameter', message, { param: 'text.format.name' })
  }
  const maybe = (name: string, kind: 'object' | 'boolean') =>
    isAbsent(format[name]) ? undefined : checkValue(`text.format.${name}`, format[name], { kind })
  return (
    checkName('text.format.name', format.name) ??
    checkMaybeText('text.format.description', format.description) ??
    maybe('schema', 'object') ??
    maybe('strict', 'boolean')
  )
}

const PAIRS_MAX = 16
const KEY_LENGTH_MAX = 64
const VALUE_LENGTH_MAX = 512

/** It is repeated in the response and kept with it, so it is bounded. */
export function checkMetadata(metadata: unknown): Problem | undefined {
  if (!isObject(metadata)) return undefined
  const pairs = Object.entries(metadata)
  if (pairs.length > PAIRS_MAX)
    return tooMuch(`\`metadata\` has ${pairs.length} pairs; at most ${PAIRS_MAX} are possible.`)
  for (const [key, value] of pairs) {
    if (key.length > KEY_LENGTH_MAX) {
      return tooMuch(`A key of \`metadata\` has ${key.length} characters; at most ${KEY_LENGTH_MAX} are possible.`)
    }
    if (typeof value !== 'string') return wrongType(`metadata.${key}`, value, 'a string')
    if (value.length > VALUE_LENGTH_MAX) {
      return tooMuch(
        `The value of ${shown(key)} in \`metadata\` has ${value.length} characters; at most ${VALUE_LENGTH_MAX} are possible.`,
      )
    }
  }
  return undefined
}

const tooMuch = (message: string): Problem => problem('invalid_value', message, { param: 'metadata' })
