import { isDeepStrictEqual } from 'node:util'
import { type Fields, isObject } from '../../src/lib/types.ts'

// The items of a stream of Responses, one at a time, with their parts: what `responses-grammar.ts` asks of each event that is in one.

/** What does not hold, in words. */
export class Violation extends Error {}

export function insist(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Violation(message)
}

export function same(emitted: unknown, expected: unknown, what: string): void {
  if (emitted === expected || isDeepStrictEqual(emitted, expected)) return
  throw new Violation(`${what} is ${JSON.stringify(emitted)} instead of ${JSON.stringify(expected)}`)
}

interface OpenPart {
  readonly kind: string
  words: string
  readonly logprobs: unknown[]
  readonly annotations: unknown[]
  /** Its text has been told whole. */
  isDelivered: boolean
}

interface OpenItem {
  readonly added: Fields
  readonly parts: Fields[]
  part: OpenPart | undefined
}

/** How far a stream has come. */
export interface Stream {
  events: number
  type: string
  created: Fields | undefined
  readonly items: Fields[]
  open: OpenItem | undefined
  error: Fields | undefined
  terminal: string | undefined
  isDone: boolean
}

export function openItem({ open }: Stream, status: string): Fields[] {
  if (open === undefined) return []
  const { added, parts, part } = open
  if (TOLD_WHOLE.has(added.type)) return [added]
  const all = part === undefined || part.isDelivered ? parts : [...parts, finishedPart(part)]
  const item = wholeItem(
    added,
    all.filter((each) => each.text !== '' && each.refusal !== ''),
  )
  if (added.type !== 'reasoning') return [{ ...item, status }]
  return [status === 'incomplete' ? { ...item, status } : item]
}

/** Items that are told at once. */
const TOLD_WHOLE: ReadonlySet<unknown> = new Set(['compaction'])

const WORDS_OF_CALL: Readonly<Record<string, string>> = { function_call: 'arguments', custom_tool_call: 'input' }

/** An item as it began, with what has been said of it since. */
function wholeItem(added: Fields, parts: readonly Fields[]): Fields {
  const words = WORDS_OF_CALL[String(added.type)]
  if (words !== undefined) return { ...added, [words]: parts[0]?.words ?? '' }
  if (added.type === 'message') return { ...added, content: parts }
  const summary = parts.filter((part) => part.type === 'summary_text')
  const content = parts.filter((part) => part.type !== 'summary_text')
  return { ...added, summary, ...(content.length === 0 ? {} : { content }) }
}

function finishedPart({ kind, words, logprobs, annotations }: OpenPart): Fields {
  if (kind === 'refusal') return { type: kind, refusal: words }
  if (kind === 'output_text') return { type: kind, text: words, annotations, logprobs }
  return kind in WORDS_OF_CALL ? { words } : { type: kind, text: words }
}

export function readItemAdded(stream: Stream, event: Fields): void {
  insist(stream.open === undefined, 'an item is added while another one is open')
  same(event.output_index, stream.items.length, 'output_index')
  const { item } = event
  insist(isObject(item), 'there is no item')
  insist(
    stream.items.every(({ status }) => status !== 'incomplete'),
    'an item follows one that is incomplete',
  )
  const known = new Set(stream.items.flatMap(({ id, call_id }) => [id, call_id]))
  for (const id of [item.id, item.call_id ?? 'none']) {
    insist(typeof id === 'string' && id !== '', 'an item has no id')
    insist(!known.has(id), `the id ${id} is taken`)
  }
  stream.open = { added: item, parts: [], part: undefined }
  if (TOLD_WHOLE.has(item.type)) return
  if (item.type !== 'reasoning') same(item.status, 'in_progress', 'the status of a new item')
  else same(item.content ?? [], [], 'what a new reasoning says')
  const words = WORDS_OF_CALL[String(item.type)]
  if (words === undefined) same(item.type === 'message' ? item.content : item.summary, [], 'what a new item says')
  else same(item[words], '', 'what a new call says')
  if (words !== undefined) stream.open.part = newPart(String(item.type))
}

const newPart = (kind: string): OpenPart => ({ kind, words: '', logprobs: [], annotations: [], isDelivered: false })

function checkPlace(stream: Stream, event: Fields): OpenItem {
  const { open } = stream
  insist(open !== undefined, 'no item is open')
  same(event.output_index, stream.items.length, 'output_index')
  if ('item_id' in event || !('item' in event)) same(event.item_id, open.added.id, 'item_id')
  return open
}

export function readPartAdded(index: string, kinds: readonly string[]) {
  return (stream: Stream, event: Fields): void => {
    const open = checkPlace(stream, event)
    insist(open.part === undefined, 'a part is added while another one is open')
    same(event[index], open.parts.length, index)
    const { part } = event
    insist(isObject(part) && kinds.includes(String(part.type)), 'a part of a kind that does not belong here')
    const isReasoning = part.type === 'reasoning_text' || part.type === 'summary_text'
    same(open.added.type, isReasoning ? 'reasoning' : 'message', 'the item of such a part')
    insist(!isReasoning || open.parts.every(({ type }) => type === part.type), 'a reasoning has a text and summaries')
    open.part = newPart(String(part.type))
    same(part, finishedPart(open.part), 'a new part')
  }
}

function openPart(stream: Stream, event: Fields, index: string | undefined): OpenPart {
  const { part, parts } = checkPlace(stream, event)
  insist(part !== undefined, 'no part is open')
  if (index !== undefined) same(event[index], parts.length, index)
  return part
}

export function wordsOf(stem: string, kind: string, words: string, index: string | undefined) {
  const partFor = (stream: Stream, event: Fields): OpenPart => {
    const part = openPart(stream, event, index)
    same(part.kind, kind, 'the open part')
    insist(!part.isDelivered, 'the words of this part have been told')
    return part
  }
  return {
    [`response.${stem}.delta`]: (stream: Stream, event: Fields) => {
      const part = partFor(stream, event)
      insist(typeof event.delta === 'string', 'there is no delta')
      part.words += event.delta
      if (kind !== 'output_text') return
      insist(Array.isArray(event.logprobs), 'there are no logprobs')
      part.logprobs.push(...event.logprobs)
    },
    [`response.${stem}.done`]: (stream: Stream, event: Fields) => {
      const part = partFor(stream, event)
      same(event[words], part.words, words)
      if (kind === 'output_text') same(event.logprobs, part.logprobs, 'logprobs')
      if (kind === 'function_call') same(event.name, stream.open?.added.name, 'name')
      part.isDelivered = true
      if (index === undefined) stream.open?.parts.push(finishedPart(part))
    },
  }
}

export function readAnnotation(stream: Stream, event: Fields): void {
  const part = openPart(stream, event, 'content_index')
  same(part.kind, 'output_text', 'the open part')
  same(event.annotation_index, part.annotations.length, 'annotation_index')
  part.annotations.push(event.annotation)
}

export function readPartDone(index: string) {
  return (stream: Stream, event: Fields): void => {
    const part = openPart(stream, event, index)
    insist(part.isDelivered, 'a part is done before its words are told')
    same(event.part, finishedPart(part), 'part')
    stream.open?.parts.push(finishedPart(part))
    if (stream.open !== undefined) stream.open.part = undefined
  }
}

export function readItemDone(stream: Stream, event: Fields): void {
  const { added, parts, part } = checkPlace(stream, event)
  const { item } = event
  insist(isObject(item), 'there is no item')
  insist(part === undefined || (part.kind in WORDS_OF_CALL && part.isDelivered), 'an item is done while a part is open')
  insist(added.type !== 'message' || parts.length > 0, 'a message says nothing')
  if (TOLD_WHOLE.has(added.type)) same(item, added, 'item')
  else checkItemDone(item, added, parts)
  stream.items.push(item)
  stream.open = undefined
}

function checkItemDone(item: Fields, added: Fields, parts: readonly Fields[]): void {
  const { status } = item
  const mayLack = added.type === 'reasoning'
  insist(status === 'completed' || status === 'incomplete' || (mayLack && status === undefined), `status ${status}`)
  same(without(item, ['status', 'encrypted_content']), without(wholeItem(added, parts), ['status']), 'item')
}

export const without = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
