import { type Fields, isObject } from '../../src/lib/types.ts'
import { tryParse } from '../../src/protocols/json/bytes.ts'
import {
  insist,
  openItem,
  readAnnotation,
  readItemAdded,
  readItemDone,
  readPartAdded,
  readPartDone,
  type Stream,
  same,
  Violation,
  without,
  wordsOf,
} from './responses-items.ts'

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

function framesIn(text: string): string[] {
  const frames = text.split('\n\n')
  insist(frames.pop() === '', 'the last frame is not closed by an empty line')
  return frames
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
  insist(read !== undefined, 'this event is unknown')
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
    insist(Number.isInteger(completed_at), 'it does not say when it was completed')
    same(incomplete_details, null, 'incomplete_details')
    insist(!cut.includes(true), 'a whole answer has an item that is not')
    return
  }
  same(completed_at, null, 'completed_at')
  insist(isObject(incomplete_details) && typeof incomplete_details.reason === 'string', 'it does not say why it is cut')
  insist(cut.length === 0 || cut.at(-1) === true, 'the last item of a cut answer is whole')
}
