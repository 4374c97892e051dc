import { isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import type { OtherInput } from '../../model/turn.ts'
import { checkEach } from '../fields/check-each.ts'
import { wordsOnly } from '../fields/check-source.ts'
import { wrongType } from '../fields/check-value.ts'
import { checkText, isAbsent, missing, shown } from './check-member.ts'
import { isOtherPart, readOtherPart } from './check-other-part.ts'

/** Text by whatever name: clients send an assistant's kind of part in a user's message, and the other way round. */
export const TEXT_PARTS: ReadonlySet<unknown> = new Set([
  'input_text',
  'output_text',
  'text',
  'summary_text',
  'reasoning_text',
])

/**
 * What an item says: a text, or parts of which those that are not text are noted, for the model to decide. Undefined where
 * only words may stand.
 */
export function checkContent(param: string, content: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return wrongType(param, content, 'a string or an array of parts')
  return checkEach(param, content, (place, part) => checkPart(place, part, others))
}

function checkPart(param: string, part: unknown, others: OtherInput[] | undefined): Problem | undefined {
  if (!isObject(part)) return wrongType(param, part, 'an object')
  const { type } = part
  if (typeof type !== 'string')
    return isAbsent(type) ? missing(`${param}.type`) : wrongType(`${param}.type`, type, 'a string')
  if (TEXT_PARTS.has(type)) return checkText(`${param}.text`, part.text)
  if (type === 'refusal') return checkText(`${param}.refusal`, part.refusal)
  if (!isOtherPart(type)) return notTaken(param, type)
  if (others === undefined) return wordsOnly(param)
  const other = readOtherPart(param, type, part)
  if ('code' in other) return other
  others.push(other)
  return undefined
}

const notTaken = (param: string, type: string): Problem =>
  problem('unsupported_content', `\`${param}\` is a part of type ${shown(type)}; this gateway takes text.`, { param })
