import { type Fields, isObject } from '../../lib/is-object.ts'
import { memberBytes } from '../../model/turn.ts'
import { arrayElements, jsonArray } from '../json/array-elements.ts'
import { spliceElement } from '../json/splice-members.ts'
import type { ParsedBody } from '../request-reader.ts'

type Changes = ReadonlyMap<string, string | null>

/**
 * Checked messages as every server takes them; undefined where they may stay as they are. Clients write out members that
 * have no value, and what an assistant has not said in four ways; servers refuse some of these, each other ones. Only
 * what says nothing is changed, and only in the messages that have it.
 */
export function mendMessages(body: ParsedBody): Buffer | undefined {
  const changes = (body.value.messages as readonly Fields[]).map(changesOf)
  if (changes.every((each) => each === undefined)) return undefined
  const messages = memberBytes(body, 'messages')
  if (!messages) throw new Error('A field that was parsed is not among the members')
  return jsonArray(arrayElements(messages).map((element, index) => withChanges(element, changes[index])))
}

const withChanges = (element: Buffer, changes: Changes | undefined): Buffer =>
  changes === undefined ? element : spliceElement(element, changes)

function changesOf(message: Fields): Changes | undefined {
  let changes: Map<string, string | null> | undefined
  const change = (name: string, value: string | null) => {
    changes ??= new Map()
    changes.set(name, value)
  }
  for (const name in message) if (message[name] === null && name !== 'content') change(name, null)
  if (message.role !== 'assistant') return changes
  if (isEmptyList(message.tool_calls)) change('tool_calls', null)
  const { content } = message
  if (hasCalls(message)) {
    if (isEmptyList(content)) change('content', 'null')
  } else if (content === undefined || content === null || isEmptyList(content)) change('content', '""')
  return changes
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** Beside them nothing need be said. */
const hasCalls = ({ tool_calls: calls, function_call: call }: Fields): boolean =>
  (Array.isArray(calls) && calls.length > 0) || isObject(call)
