import { isObject } from '../../lib/is-object.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { isAbsent } from './check-member.ts'
import { NESTED_FIELDS } from './fields.ts'

/** What a request asks for that no conversation tells, so that a lane to which it is translated does not get it. */
export function beyondConversation({ fields }: ResponsesRequest): string[] {
  const { truncation, reasoning, text } = fields
  return [
    ...(truncation === 'auto' ? ['truncation'] : []),
    ...(isObject(reasoning) && !isAbsent(reasoning.context) ? ['reasoning.context'] : []),
    ...(isObject(text) ? Object.keys(text).filter((name) => !isKnown(name) && !isAbsent(text[name])) : []).map(
      (name) => `text.${name}`,
    ),
  ]
}

const isKnown = (name: string): boolean => Object.hasOwn(NESTED_FIELDS.text ?? {}, name)
