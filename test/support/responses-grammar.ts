import { isDeepStrictEqual } from 'node:util'
import { type Fields, isObject } from '../../src/lib/is-object.ts'
import { tryParse } from '../../src/wire/json/try-parse.ts'

/** One event of a Responses stream, as it came. */
export interface StreamedEvent extends Fields {
  readonly type: string
}

/**
 * What a whole stream of Responses says against its grammar: nothing, or the first violation with its place. Items come one
 * at a time, each framed by `added` and `done`, its deltas add up to what `done` says, and everything is in the last
 * response once more. Comments may stand between the events.
 */
export function checkResponsesStream(text: string): string[] {
  const stream = newStream()
  try {
    const frames = framesIn(text)
    for (const frame of frames) readFrame(stream, frame)
    insist(stream.isDone, 'the stream ends without [DONE]')
    return []
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return [`event ${stream.events} (${stream.type}): ${error.message}`]
  }
}

/** The events of a stream, without comments and the last mark. */
export const eventsOf = (text: string): StreamedEvent[] =>
  framesIn(text).flatMap((frame) => {
    const data = frame.split('\n').find((line) => line.startsWith('data: '))
    return data === undefined || data === 'data: [DONE]' ? [] : [JSON.parse(data.slice('data: '.length))]
  })

class Violation extends Error {}

function insist(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Violation(message)
}

function same(said: unknown, expected: unknown, what: string): void {
  if (said === expected || isDeepStrictEqual(said, expected)) return
  throw new Violation(`${what} is ${JSON.stringify(said)} instead of ${JSON.stringify(expected)}`)
}

function framesIn(text: string): string[] {
  const frames = text.split('\n\n')
  insist(frames.pop() === '', 'the last frame is not closed by an empty line')
  return frames
}

interface OpenPart {
  readonly kind: string
  words: string
  readonly logprobs: unknown[]
  readonly annotations: unknown[]
  /** Its text has been told whole. */
  isTold: boolean
}

interface OpenItem {
  readonly added: Fields
  readonly parts: Fields[]
  part: OpenPart | undefined
}

interface Stream {
  events: number
  type: string
  created: Fields | undefined
  readonly items: Fields[]
  open: OpenItem | undefined
  error: Fields | undefined
  terminal: string | undefined
  isDone: boolean
}

const newStream = (): Stream => ({
  events: 0,
  type: 'none',
  created: undefined,
  items: [],
  open: undefined,
  error: undefined,
  terminal: undefined,
  isDone: false,
})

function readFrame(stream: Stream, frame: string): void {
  insist(!stream.isDone, 'something follows [DONE]')
  const lines = frame.split('\n')
  if (lines.every((line) => line.startsWith(':'))) return
  if (frame === 'data: [DONE]') {
    insist(stream.terminal !== undefined, '[DONE] comes before a terminal event')
    stream.isDone = true
    return
  }
  insist(lines.length === 2, `a frame has ${lines.length} lines instead of an event and its data`)
  const [name = '', data = ''] = lines
  insist(name.startsWith('event: '), 'a frame does not begin with its event')
  insist(data.startsWith('data: '), 'a frame has no data')
  const event = tryParse(data.slice('data: '.length))
  insist(isObject(event), 'the data is no object')
  stream.type = String(event.type)
  same(name, `event: ${event.type}`, 'the name of the event')
  same(event.sequence_number, stream.events, 'sequence_number')
  readEvent(stream, event)
  stream.events += 1
}

function readEvent(stream: Stream, event: Fields): void {
  const type = String(event.type)
  insist(stream.terminal === undefined, 'something follows the terminal event')
  if (stream.created === undefined) same(type, 'response.created', 'the first event')
  if (stream.error !== undefined) same(type, 'response.failed', 'what follows an error')
  const read = READERS[type]
  insist(read !== undefined, 'nobody knows this event')
  read(stream, event)
}

const READERS: Readonly<Record<string, (stream: Stream, event: Fields) => void>> = {
  'response.created': readCreated,
  'response.in_progress': readInProgress,
  'response.output_item.added': readItemAdded,
  'response.output_item.done': readItemDone,
  'response.content_part.added': readPartAdded('content_index', ['output_text', 'refusal', 'reasoning_text']),
  'response.content_part.done': readPartDone('content_index'),
  'response.reasoning_summary_part.added': readPartAdded('summary_index', ['summary_text']),
  'response.reasoning_summary_part.done': readPartDone('summary_index'),
  'response.output_text.annotation.added': readAnnotation,
  ...wordsOf('output_text', 'output_text', 'text', 'content_index'),
  ...wordsOf('refusal', 'refusal', 'refusal', 'content_index'),
  ...wordsOf('reasoning_text', 'reasoning_text', 'text', 'content_index'),
  ...wordsOf('reasoning_summary_text', 'summary_text', 'text', 'summary_index'),
  ...wordsOf('function_call_arguments', 'function_call', 'arguments', undefined),
  ...wordsOf('custom_tool_call_input', 'custom_tool_call', 'input', undefined),
  'response.completed': readTerminal,
  'response.incomplete': readTerminal,
  'response.failed': readTerminal,
  error: readError,
}

/** What changes from one response object of a stream to the next; all else is said alike in each. */
const CHANGING = ['status', 'output', 'usage', 'completed_at', 'error', 'incomplete_details']

const without = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

function responseOf(stream: Stream, event: Fields): Fields {
  const { response } = event
  insist(isObject(response), 'there is no response')
  for (const name of CHANGING) insist(name in response, `the response has no ${name}`)
  if (stream.created !== undefined)
    same(without(response, CHANGING), without(stream.created, CHANGING), 'what the response repeats')
  return response
}

function readCreated(stream: Stream, event: Fields): void {
  insist(stream.created === undefined, 'a response is created once')
  const response = responseOf(stream, event)
  checkBegun(response)
  same(response.output, [], 'output')
  stream.created = response
}

function checkBegun(response: Fields): void {
  const { status, usage, error, completed_at, incomplete_details } = response
  same({ status, usage, error, completed_at, incomplete_details }, NOTHING_YET, 'the state of the response')
}

const NOTHING_YET = {
  status: 'in_progress',
  usage: null,
  error: null,
  completed_at: null,
  incomplete_details: null,
}

/** In the middle of an answer it has to repeat what there is: some clients take it for all. */
function readInProgress(stream: Stream, event: Fields): void {
  const response = responseOf(stream, event)
  checkBegun(response)
  same(response.output, [...stream.items, ...openItem(stream, 'in_progress')], 'output')
}

function openItem({ open }: Stream, status: string): Fields[] {
  if (open === undefined) return []
  const { added, parts, part } = open
  if (TOLD_WHOLE.has(added.type)) return [added]
  const all = part === undefined || part.isTold ? parts : [...parts, finishedPart(part)]
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

function readItemAdded(stream: Stream, event: Fields): void {
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

const newPart = (kind: string): OpenPart => ({ kind, words: '', logprobs: [], annotations: [], isTold: false })

function checkPlace(stream: Stream, event: Fields): OpenItem {
  const { open } = stream
  insist(open !== undefined, 'no item is open')
  same(event.output_index, stream.items.length, 'output_index')
  if ('item_id' in event || !('item' in event)) same(event.item_id, open.added.id, 'item_id')
  return open
}

function readPartAdded(index: string, kinds: readonly string[]) {
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

function wordsOf(stem: string, kind: string, words: string, index: string | undefined) {
  const partFor = (stream: Stream, event: Fields): OpenPart => {
    const part = openPart(stream, event, index)
    same(part.kind, kind, 'the open part')
    insist(!part.isTold, 'the words of this part have been told')
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
      part.isTold = true
      if (index === undefined) stream.open?.parts.push(finishedPart(part))
    },
  }
}

function readAnnotation(stream: Stream, event: Fields): void {
  const part = openPart(stream, event, 'content_index')
  same(part.kind, 'output_text', 'the open part')
  same(event.annotation_index, part.annotations.length, 'annotation_index')
  part.annotations.push(event.annotation)
}

function readPartDone(index: string) {
  return (stream: Stream, event: Fields): void => {
    const part = openPart(stream, event, index)
    insist(part.isTold, 'a part is done before its words are told')
    same(event.part, finishedPart(part), 'part')
    stream.open?.parts.push(finishedPart(part))
    if (stream.open !== undefined) stream.open.part = undefined
  }
}

function readItemDone(stream: Stream, event: Fields): void {
  const { added, parts, part } = checkPlace(stream, event)
  const { item } = event
  insist(isObject(item), 'there is no item')
  insist(part === undefined || (part.kind in WORDS_OF_CALL && part.isTold), 'an item is done while a part is open')
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

function readError(stream: Stream, event: Fields): void {
  const { error, code, message, param } = event
  insist(isObject(error), 'an error is not told nested')
  for (const text of [code, message]) insist(typeof text === 'string' && text !== '', 'an error is not told flat')
  same({ code: error.code, message: error.message, param: error.param }, { code, message, param }, 'the nested error')
  stream.error = event
}

function readTerminal(stream: Stream, event: Fields): void {
  const response = responseOf(stream, event)
  const status = String(event.type).slice('response.'.length)
  same(response.status, status, 'status')
  if (status === 'failed') checkFailed(stream, response)
  else checkWhole(stream, response)
  stream.terminal = status
}

function checkFailed(stream: Stream, response: Fields): void {
  const { error } = stream
  insist(error !== undefined, 'a failure without an error before it')
  same(response.error, { code: error.code, message: error.message }, 'error')
  const { usage, completed_at, incomplete_details } = response
  same({ usage, completed_at, incomplete_details }, NO_END, 'the state of the response')
  const output = Array.isArray(response.output) ? response.output.filter(isObject) : []
  const [open] = openItem(stream, 'incomplete')
  same(output.slice(0, stream.items.length), stream.items, 'the finished output')
  // A reasoning that is open may have been sealed already, which only its end would have told.
  const rest = output.slice(stream.items.length).map((item) => without(item, ['encrypted_content']))
  same(rest, open === undefined ? [] : [open], 'the open output')
}

const NO_END = { usage: null, completed_at: null, incomplete_details: null }

function checkWhole(stream: Stream, response: Fields): void {
  const { status, output, usage, completed_at, incomplete_details, error } = response
  insist(stream.open === undefined, 'the answer ends while an item is open')
  same(output, stream.items, 'output')
  same(error, null, 'error')
  insist(isObject(usage), 'there is no usage')
  same(usage.total_tokens, Number(usage.input_tokens) + Number(usage.output_tokens), 'total_tokens')
  const cut = stream.items.map((item) => item.status === 'incomplete')
  if (status === 'completed') {
    insist(Number.isInteger(completed_at), 'nobody knows when it was completed')
    same(incomplete_details, null, 'incomplete_details')
    insist(!cut.includes(true), 'a whole answer has an item that is not')
    return
  }
  same(completed_at, null, 'completed_at')
  insist(isObject(incomplete_details) && typeof incomplete_details.reason === 'string', 'nobody knows why it is cut')
  insist(cut.length === 0 || cut.at(-1) === true, 'the last item of a cut answer is whole')
}
