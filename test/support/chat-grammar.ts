import { type Fields, isObject } from '../../src/lib/types.ts'
import { tryParse } from '../../src/protocols/json/bytes.ts'

/** What a whole Chat stream says, put together as a client does it. */
export interface ChatAnswer {
  content: string
  refusal: string
  reasoning: string
  readonly calls: ChatCall[]
  readonly tokens: string[]
  finish: string | undefined
  usage: Fields | undefined
  error: Fields | undefined
}

export interface ChatCall {
  readonly id: string
  readonly tool: 'function' | 'custom'
  readonly name: string
  words: string
}

/**
 * Reads a Chat stream by its grammar: the role first and once, words, calls with indexes from 0 without a gap, one finish
 * reason, the usage chunk once for a client that asked, `[DONE]` last. An answer that broke off ends with its error, and
 * with nothing else. Comments may stand between the chunks. Gives the first violation with its place, or what was said.
 */
export function readChatStream(text: string, receivedRequest: { readonly usage: boolean }): ChatAnswer | string {
  const stream = newStream()
  try {
    for (const frame of framesIn(text)) readFrame(stream, frame)
    const { isDone, answer } = stream
    if (answer.error !== undefined) insist(!isDone, 'there is an error and [DONE]')
    else {
      insist(isDone, 'the stream ends without [DONE]')
      insist(
        (answer.usage !== undefined) === receivedRequest.usage,
        'usage was asked for and is not there, or the other way round',
      )
    }
    return answer
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return `frame ${stream.frames}: ${error.message}`
  }
}

class Violation extends Error {}

function insist(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Violation(message)
}

interface Stream {
  frames: number
  /** What every chunk repeats. */
  head: string | undefined
  hasRole: boolean
  isDone: boolean
  readonly answer: ChatAnswer
}

const newStream = (): Stream => ({
  frames: 0,
  head: undefined,
  hasRole: false,
  isDone: false,
  answer: {
    ...{ content: '', refusal: '', reasoning: '', calls: [], tokens: [] },
    ...{ finish: undefined, usage: undefined, error: undefined },
  },
})

function framesIn(text: string): string[] {
  const frames = text.split('\n\n')
  insist(frames.pop() === '', 'the last frame is not closed by an empty line')
  return frames
}

function readFrame(stream: Stream, frame: string): void {
  stream.frames += 1
  const { answer } = stream
  insist(!stream.isDone, 'something follows [DONE]')
  insist(answer.error === undefined, 'something follows the error')
  if (frame.startsWith(':')) return
  insist(frame.startsWith('data: ') && !frame.includes('\n'), 'a frame is not one line of data')
  if (frame === 'data: [DONE]') {
    insist(answer.finish !== undefined, '[DONE] comes before a finish reason')
    stream.isDone = true
    return
  }
  const chunk = tryParse(frame.slice('data: '.length))
  insist(isObject(chunk), 'the data is no object')
  if (isObject(chunk.error)) readError(answer, chunk)
  else readChunk(stream, chunk)
}

function readError(answer: ChatAnswer, { error }: Fields): void {
  insist(isObject(error), 'an error is an object')
  for (const name of ['message', 'type', 'code']) insist(isText(error[name]), `an error without a ${name}`)
  answer.error = error
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

function readChunk(stream: Stream, chunk: Fields): void {
  const { answer } = stream
  const { id, object, created, model, choices, usage } = chunk
  insist(
    object === 'chat.completion.chunk' && isText(id) && isText(model) && Number.isInteger(created),
    'a chunk without its head',
  )
  const head = JSON.stringify([id, created, model])
  stream.head ??= head
  insist(stream.head === head, 'the head of a chunk differs from the first')
  insist(Array.isArray(choices), 'a chunk without choices')
  insist(answer.usage === undefined, 'something follows the usage chunk')
  if (choices.length === 0) {
    insist(answer.finish !== undefined, 'the usage chunk comes before a finish reason')
    insist(isObject(usage), 'a usage chunk without usage')
    answer.usage = usage
    return
  }
  insist(usage === null, 'usage stands beside words')
  const [choice] = choices
  insist(choices.length === 1 && isObject(choice) && choice.index === 0, 'there is another choice')
  insist(answer.finish === undefined, 'something follows the finish reason')
  readChoice(stream, choice)
}

const REASONS = new Set<unknown>(['stop', 'length', 'tool_calls', 'content_filter'])

function readChoice(stream: Stream, { delta, finish_reason: finish, logprobs }: Fields): void {
  insist(isObject(delta), 'a choice without a delta')
  if (!stream.hasRole) {
    insist(
      delta.role === 'assistant' && (delta.content === '' || delta.content === null),
      'the role does not come first',
    )
    insist(finish === null && Object.keys(delta).every((name) => ROLE_FIELDS.has(name)), 'the role does not come alone')
    stream.hasRole = true
    return
  }
  insist(delta.role === undefined, 'the role is said again')
  if (finish !== null) {
    insist(Object.keys(delta).length === 0, 'the finish reason does not come alone')
    readFinish(stream.answer, finish)
  } else readDelta(stream.answer, delta)
  readLogprobs(stream.answer, logprobs)
}

const ROLE_FIELDS = new Set(['role', 'content', 'refusal'])

function readFinish(answer: ChatAnswer, finish: unknown): void {
  insist(REASONS.has(finish), `the finish reason ${finish} is unknown`)
  insist(finish !== 'tool_calls' || answer.calls.length > 0, 'it ends with calls, and there are none')
  insist(finish !== 'stop' || answer.calls.length === 0, 'it merely stops, and there are calls')
  answer.finish = finish as string
}

const SLOTS = { content: 'content', refusal: 'refusal', reasoning_content: 'reasoning' } as const

function readDelta(answer: ChatAnswer, delta: Fields): void {
  const [name, ...others] = Object.keys(delta)
  insist(name !== undefined && others.length === 0, 'a delta says nothing, or two things')
  const emitted = delta[name]
  if (name === 'tool_calls') {
    insist(Array.isArray(emitted) && emitted.length === 1 && isObject(emitted[0]), 'fragments come one by one')
    readFragment(answer, emitted[0])
    return
  }
  insist(name in SLOTS && typeof emitted === 'string', `the field ${name} is unknown`)
  answer[SLOTS[name as keyof typeof SLOTS]] += emitted
}

function readFragment({ calls }: ChatAnswer, fragment: Fields): void {
  const { index, id, type } = fragment
  const call = calls[index as number]
  const tool = call?.tool ?? type
  insist(tool === 'function' || tool === 'custom', 'a call of no known type')
  const emitted = fragment[tool]
  insist(isObject(emitted), 'a fragment without its function')
  const words = tool === 'custom' ? emitted.input : emitted.arguments
  insist(typeof words === 'string', 'a fragment without words')
  if (call !== undefined) {
    insist(id === undefined && type === undefined && emitted.name === undefined, 'a call begins twice')
    insist(words !== '', 'a fragment says nothing')
    call.words += words
    return
  }
  insist(index === calls.length, `the next call has index ${index}`)
  insist(isText(id) && calls.every((other) => other.id !== id), 'a call without an id of its own')
  insist(isText(emitted.name), 'a call without a name')
  calls.push({ id, tool, name: emitted.name, words })
}

function readLogprobs(answer: ChatAnswer, logprobs: unknown): void {
  if (logprobs === null) return
  insist(isObject(logprobs) && Array.isArray(logprobs.content), 'logprobs without a list')
  for (const entry of logprobs.content) {
    insist(isObject(entry) && typeof entry.token === 'string', 'a token that is none')
    answer.tokens.push(entry.token)
  }
}
