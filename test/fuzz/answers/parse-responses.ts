import { isDeepStrictEqual } from 'node:util'
import { type Fields, isObject } from '../../../src/lib/types.ts'
import {
  type Answer,
  Broken,
  type Counts,
  checkedCalls,
  countIn,
  type Finish,
  fieldsOf,
  isJson,
  listOf,
  type OutputChoice,
  textOf,
} from './answer.ts'
import { checkNoError, type WireFrames } from './wire-frames.ts'

/** Of an item, by the kind and the index of its part. */
interface Part {
  readonly kind: string
  reported: string
  /** What stands at its ends, where something does. */
  readonly wholes: string[]
}

interface Item {
  readonly at: number
  readonly type: string
  name: string
  readonly parts: Map<string, Part>
  isOver: boolean
}

const KINDS: Readonly<Record<string, readonly [item: string, kind: string]>> = {
  output_text: ['message', 'output_text'],
  refusal: ['message', 'refusal'],
  reasoning_text: ['reasoning', 'reasoning_text'],
  reasoning_summary_text: ['reasoning', 'summary_text'],
  function_call_arguments: ['function_call', 'arguments'],
}
const ITEM_OF_PART: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(KINDS).map(([item, part]) => [part, item]),
)
const OURS = new Set(['message', 'reasoning', 'function_call'])

interface Response {
  readonly all: Item[]
  /** Which of them stands at a place now. */
  readonly items: Map<number, Item>
  readonly ids: Map<string, Item>
  readonly doubts: Set<string>
}

/** What a client hears that reads a stream of Responses by the book: the words in pieces, and all of them again at each end. */
export function parseResponsesStream({ frames, doubts }: WireFrames): Answer {
  const response: Response = { all: [], items: new Map(), ids: new Map(), doubts }
  let begun = 0
  for (const { name, emitted } of frames) {
    const type = textOf(emitted.type) || name
    if (type === 'error') throw new Broken('an error')
    if (!textOf(emitted.type).startsWith('response.')) checkNoError(emitted.error)
    if (type === 'response.created' && ++begun > 1) throw new Broken('a second beginning')
    const end = /^response\.(completed|incomplete|failed)$/.exec(type)?.[1]
    if (end === undefined) parseEvent(response, type, emitted)
    else {
      if (begun === 0) doubts.add('no beginning')
      return parseEnd(response, fieldsOf(emitted.response), end)
    }
  }
  throw new Broken('no end')
}

/** The same of a JSON answer. */
export function parseResponsesReply(reply: Fields): Answer {
  checkNoError(reply.error)
  if (!Array.isArray(reply.output) && reply.status === undefined) throw new Broken('no response')
  return parseEnd(
    { all: [], items: new Map(), ids: new Map(), doubts: new Set() },
    reply,
    textOf(reply.status) || 'completed',
  )
}

function parseEvent(response: Response, type: string, event: Fields): void {
  if (type === 'response.output_item.added') itemAt(response, event, fieldsOf(event.item))
  else if (type === 'response.output_item.done') {
    const item = itemAt(response, event, fieldsOf(event.item))
    if (item === undefined) return
    parseWhole(item, fieldsOf(event.item))
    item.isOver = true
  }
  const { type: partKind, ...whole } = fieldsOf(event.part)
  const ofPart = ITEM_OF_PART[textOf(partKind)]
  if (/^response\.(content|reasoning_summary)_part\./.test(type) && ofPart !== undefined) {
    const item = itemOf(response, event, ofPart)
    if (item.isOver) response.doubts.add('a part of an item that is over')
    if (type.endsWith('done')) endAt(item, textOf(partKind), event.content_index ?? event.summary_index, whole)
  }
  const [, stem = '', stage] = /^response\.(\w+)\.(delta|done)$/.exec(type) ?? []
  const [itemType, kind] = KINDS[stem] ?? []
  if (itemType === undefined || kind === undefined) return
  const words = textOf(event.delta ?? event.text ?? event.refusal ?? event.arguments)
  // A call is one although it has no arguments.
  if (words === '' && !(stage === 'done' && itemType === 'function_call')) return
  const item = itemOf(response, event, itemType)
  const part = partAt(item, kind, event.content_index ?? event.summary_index)
  if (stage === 'done') end(part, words || part.reported)
  else if (item.isOver || part.wholes.length > 0) {
    if (itemType !== 'reasoning') throw new Broken('words behind the end')
  } else part.reported += words
}

/** The item that is announced, or is over. An item of an unknown type is none. */
function itemAt(
  { all, items, ids, doubts }: Response,
  { output_index: index }: Fields,
  item: Fields,
): Item | undefined {
  const [type, id, at] = [textOf(item.type), textOf(item.id), typeof index === 'number' ? index : items.size]
  const known = ids.get(id) ?? items.get(at)
  if (!OURS.has(type)) {
    if (known !== undefined) doubts.add('an item that becomes another one')
    return undefined
  }
  if (known?.type === type) {
    if (known.name !== '' && textOf(item.name) !== '' && item.name !== known.name) throw new Broken('another name')
    known.name ||= textOf(item.name)
    return known
  }
  const added = { at, type, name: textOf(item.name), parts: new Map(), isOver: false }
  all.push(added)
  items.set(at, added)
  if (id !== '') ids.set(id, added)
  return added
}

function itemOf(response: Response, event: Fields, type: string): Item {
  const known = response.ids.get(textOf(event.item_id)) ?? response.items.get(event.output_index as number)
  if (known?.type === type) return known
  response.doubts.add('words of an item that has not begun')
  const item = itemAt(response, event, { type, id: event.item_id })
  if (item === undefined) throw new Broken('words of no item')
  return item
}

function partAt({ parts }: Item, kind: string, index: unknown): Part {
  const key = `${kind} ${typeof index === 'number' ? index : 0}`
  const part = parts.get(key) ?? { kind, reported: '', wholes: [] }
  parts.set(key, part)
  return part
}

/** Each end says all that was told before it; what it says beyond that was left out before. */
function end(part: Part, words: string): void {
  const isReasoning = part.kind === 'reasoning_text' || part.kind === 'summary_text'
  const isMore = part.wholes.length === 0 && words.startsWith(part.reported)
  if (!isReasoning && !isMore && !agree(part.kind, part.reported, words)) throw new Broken('an end that disagrees')
  if (isMore && !isReasoning) part.reported = words
  part.wholes.push(words)
}

const agree = (kind: string, reported: string, whole: string): boolean => {
  if (kind !== 'arguments') return reported.trim() === whole.trim()
  const [one, other] = [argumentsOf(reported), argumentsOf(whole)]
  return one === other || (isJson(one) && isJson(other) && isDeepStrictEqual(JSON.parse(one), JSON.parse(other)))
}

/** A call without arguments has an empty object of them. */
const argumentsOf = (text: string): string => text.trim() || '{}'

function parseWhole(item: Item, whole: Fields): void {
  if (item.type === 'function_call')
    end(partAt(item, 'arguments', 0), textOf(whole.arguments) || item.parts.get('arguments 0')?.reported || '')
  for (const list of [listOf(whole.content), listOf(whole.summary)]) {
    for (const [index, part] of list.entries()) if (isObject(part)) endAt(item, textOf(part.type), index, part)
  }
  if (item.type !== 'message' || listOf(whole.content).length === 0) return
  const listed = listOf(whole.content).map((part, index) => `${textOf(fieldsOf(part).type)} ${index}`)
  for (const [key, { reported }] of item.parts)
    if (reported !== '' && !listed.includes(key)) throw new Broken('words of a part that the end does not have')
}

function endAt(item: Item, kind: string, index: unknown, { text, refusal }: Fields): void {
  const words = textOf(text ?? refusal)
  if (words !== '') end(partAt(item, kind, index), words)
}

const disputesItself = ({ type, parts }: Item): boolean =>
  type === 'reasoning' &&
  [...parts.values()].some(({ reported, wholes }) => new Set([reported, ...wholes].filter(Boolean)).size > 1)

const STATUSES = new Set(['completed', 'incomplete', 'failed', 'cancelled'])

function parseEnd(response: Response, whole: Fields, event: string): Answer {
  const emitted = textOf(whole.status)
  const status = event === 'completed' && STATUSES.has(emitted) ? emitted : event
  if (status !== 'completed' && status !== 'incomplete') throw new Broken(`an end for ${status}`)
  const claimed = new Set<Item>()
  const before = response.all.filter(({ type }) => type === 'reasoning')
  for (const [index, emitted] of listOf(whole.output).entries()) {
    const item = isObject(emitted) ? itemAt(response, { output_index: index }, emitted) : undefined
    if (item === undefined || !isObject(emitted)) continue
    parseWhole(item, emitted)
    claimed.add(item)
  }
  const reported = response.all.filter(({ type }) => type !== 'reasoning')
  if (reported.some(({ at }, place) => place > 0 && at < reported[place - 1]!.at))
    response.doubts.add('items out of order')
  const arrived = [...response.all]
  const items = response.all.sort((one, other) => one.at - other.at)
  const emitsSomething = (item: Item) => item.type === 'function_call' || wordsOf(item, '') !== ''
  const isLeftOut = (item: Item) => item.type !== 'reasoning' && !claimed.has(item) && emitsSomething(item)
  if (claimed.size > 0 && items.some(isLeftOut)) throw new Broken('words of an item that the end does not have')
  const isDisputed = items.some(disputesItself) || before.some((item) => !claimed.has(item))
  return {
    choices: [choiceOf({ items, arrived, isDisputed }, status, whole)],
    counts: isObject(whole.usage) ? responsesCounts(whole.usage) : undefined,
  }
}

const wordsOf = ({ parts }: Item, kind: string): string =>
  [...parts.values()]
    .filter((part) => kind === '' || part.kind === kind)
    .map(({ reported, wholes: [first = ''] }) => reported || first)
    .join('')

interface Delivered {
  readonly items: readonly Item[]
  /** As they came, which for thoughts is as good. */
  readonly arrived: readonly Item[]
  /** Ends may have other thoughts than were told: whichever of them a client is told, it is what was said. */
  readonly isDisputed: boolean
}

function choiceOf(
  { items, arrived, isDisputed }: Delivered,
  status: string,
  { incomplete_details: details }: Fields,
): OutputChoice {
  const joined = (kind: string): string => items.map((item) => wordsOf(item, kind)).join('')
  const thoughts = (all: readonly Item[]): string =>
    ['summary_text', 'reasoning_text'].flatMap((kind) => all.map((item) => wordsOf(item, kind))).join('')
  const calls = items.flatMap((item) =>
    item.type === 'function_call' ? [{ tool: 'function' as const, name: item.name, words: wordsOf(item, '') }] : [],
  )
  const cut = fieldsOf(details).reason === 'content_filter' ? 'content-filter' : 'length'
  const finish: Finish = status === 'incomplete' ? cut : calls.length > 0 ? 'tool-calls' : 'stop'
  return {
    ...{ text: joined('output_text'), refusal: joined('refusal') },
    ...{
      reasoning: isDisputed ? [] : [thoughts(items), thoughts(arrived)],
      calls: checkedCalls(calls, finish),
      finish,
    },
  }
}

export const responsesCounts = (usage: Fields): Counts => ({
  input: countIn(usage, 'input_tokens'),
  cached: countIn(fieldsOf(usage.input_tokens_details), 'cached_tokens'),
  output: countIn(usage, 'output_tokens'),
  thought: countIn(fieldsOf(usage.output_tokens_details), 'reasoning_tokens'),
})
