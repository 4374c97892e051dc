import { isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import { checkValue } from '../fields/check-value.ts'
import { checkMaybeText, checkName, checkWord, isAbsent } from './check-member.ts'

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
