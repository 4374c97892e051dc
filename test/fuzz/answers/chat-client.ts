import { type Fields, isObject } from '../../../src/lib/types.ts'
import {
  type Answer,
  type Finish,
  fieldsOf,
  isJson,
  listOf,
  type OutputCall,
  type OutputChoice,
  textOf,
} from './answer.ts'
import { type Delivered, insist } from './delivered.ts'
import { chatCounts } from './parse-chat.ts'

// A client of Chat Completions that takes nothing on trust. It knows no more of the gateway than the protocol promises.

interface Received {
  readonly model: string
  readonly choices: number
  readonly wantsUsage: boolean
}

interface Call {
  readonly id: string
  readonly tool: 'function' | 'custom'
  readonly name: string
  words: string
}

interface Choice {
  text: string
  refusal: string
  reasoning: string
  readonly calls: Call[]
  hasRole: boolean
  finish: Finish | undefined
}

const newChoice = (): Choice => ({
  ...{ text: '', refusal: '', reasoning: '', calls: [], hasRole: false, finish: undefined },
})

const FINISHES: Readonly<Record<string, Finish>> = {
  stop: 'stop',
  tool_calls: 'tool-calls',
  length: 'length',
  content_filter: 'content-filter',
}

/** A word that it does not know ends an answer as well as any: providers have some of their own. */
const finishOf = (word: unknown, { length }: readonly Call[]): Finish =>
  FINISHES[textOf(word)] ?? (length > 0 ? 'tool-calls' : 'stop')

/** Throws at the first thing that no client could make sense of. */
export function readChatStream(text: string, receivedRequest: Received): Delivered {
  const choices = Array.from({ length: receivedRequest.choices }, newChoice)
  let head: string | undefined
  let usage: Fields | undefined
  let error: Fields | undefined
  let isDone = false
  for (const data of dataIn(text)) {
    insist(!isDone && error === undefined, 'something follows the end')
    if (data === '[DONE]') {
      isDone = true
      continue
    }
    const chunk: unknown = isJson(data) ? JSON.parse(data) : undefined
    insist(isObject(chunk), 'the data is no object')
    if (isObject(chunk.error)) {
      error = chunk.error
      continue
    }
    insist(usage === undefined, 'something follows the usage')
    insist(
      chunk.object === 'chat.completion.chunk' && chunk.model === receivedRequest.model,
      'a chunk without its head',
    )
    head ??= JSON.stringify([chunk.id, chunk.created])
    insist(head === JSON.stringify([chunk.id, chunk.created]), 'the head of a chunk differs from the first')
    insist(Array.isArray(chunk.choices), 'a chunk without choices')
    if (chunk.choices.length === 0) {
      insist(isObject(chunk.usage), 'a chunk that says nothing')
      usage = chunk.usage
    } else insist(chunk.usage === undefined || chunk.usage === null, 'usage stands beside words')
    for (const choice of chunk.choices) readChoice(choices, fieldsOf(choice))
  }
  if (error !== undefined) return failedWith(error)
  insist(isDone, 'it ends without [DONE]')
  insist(
    (usage !== undefined) === receivedRequest.wantsUsage,
    'usage was asked for and is not there, or the other way round',
  )
  return { answer: { choices: choices.map(finished), counts: usage && countsIn(usage) } }
}

function failedWith({ message, code, type }: Fields): Delivered {
  for (const word of [message, code, type]) insist(textOf(word) !== '', 'an error without its words')
  return { failed: textOf(code) }
}

function dataIn(text: string): string[] {
  const frames = text.replaceAll('\r\n', '\n').split('\n\n')
  insist(frames.pop() === '', 'the last frame is not closed by an empty line')
  return frames.flatMap((frame) => {
    const lines = frame.split('\n').filter((line) => /^data(:|$)/.test(line))
    return lines.length === 0 ? [] : [lines.map((line) => line.replace(/^data:? ?/, '')).join('\n')]
  })
}

function readChoice(choices: readonly Choice[], { index, delta, finish_reason: finish }: Fields): void {
  const choice = choices[index as number]
  insist(choice !== undefined, `choice ${index} was not asked for`)
  insist(choice.finish === undefined, 'something follows the finish reason')
  const { role, content, refusal, reasoning_content: reasoning, tool_calls: calls } = fieldsOf(delta)
  insist(
    isObject(delta) && (choice.hasRole ? role === undefined || role === 'assistant' : role === 'assistant'),
    'its role',
  )
  choice.hasRole = true
  for (const words of [content, refusal, reasoning])
    insist(words === undefined || words === null || typeof words === 'string', 'words that are no text')
  choice.text += textOf(content)
  choice.refusal += textOf(refusal)
  choice.reasoning += textOf(reasoning)
  insist(calls === undefined || (Array.isArray(calls) && calls.length > 0), 'an empty list of calls')
  for (const fragment of listOf(calls)) readFragment(choice.calls, fieldsOf(fragment))
  if (finish === null || finish === undefined) return
  insist(textOf(finish) !== '', 'a finish reason that says nothing')
  choice.finish = finishOf(finish, choice.calls)
}

function readFragment(calls: Call[], fragment: Fields): void {
  const { index, id, type } = fragment
  const known = calls[index as number]
  const tool = known?.tool ?? type
  insist(tool === 'function' || tool === 'custom', 'a call of no known type')
  const called = fieldsOf(fragment[tool])
  const words = tool === 'custom' ? called.input : called.arguments
  insist(words === undefined || typeof words === 'string', 'arguments that are no text')
  if (known !== undefined) {
    insist(id === undefined || id === null || id === known.id, 'a call changes its id')
    insist(textOf(called.name) === '', 'a call is named twice')
    known.words += textOf(words)
    return
  }
  insist(index === calls.length, `the next call has index ${index}`)
  insist(textOf(id) !== '' && calls.every((other) => other.id !== id), 'a call without an id of its own')
  insist(textOf(called.name) !== '', 'a call without a name')
  calls.push({ id: textOf(id), tool, name: textOf(called.name), words: textOf(words) })
}

function finished({ text, refusal, reasoning, calls, finish }: Choice): OutputChoice {
  insist(finish !== undefined, 'a choice without a finish reason')
  checkCalls(calls, finish)
  return { text, refusal, reasoning: [reasoning], calls: calls.map(({ id: _, ...call }) => call), finish }
}

/** What every client relies on. */
export function checkCalls(calls: readonly OutputCall[], finish: Finish): void {
  insist(finish !== 'tool-calls' || calls.length > 0, 'it ends with calls, and there are none')
  insist(finish !== 'stop' || calls.length === 0, 'it merely stops, and there are calls')
  const isCut = finish === 'length' || finish === 'content-filter'
  for (const [at, { tool, words }] of calls.entries())
    insist(tool === 'custom' || (isCut && at === calls.length - 1) || isJson(words ?? ''), 'arguments that are no JSON')
}

function countsIn(usage: Fields): Answer['counts'] {
  const counts = chatCounts(usage)
  insist(usage.total_tokens === counts.input + counts.output, 'the total is no sum')
  return counts
}

/** The same of a JSON answer. */
export function readChatReply(text: string, receivedRequest: Received): Delivered {
  const reply: unknown = isJson(text) ? JSON.parse(text) : undefined
  insist(isObject(reply) && reply.object === 'chat.completion' && textOf(reply.id) !== '', 'it is no answer')
  insist(reply.model === receivedRequest.model && isObject(reply.usage), 'an answer without its model or its usage')
  const choices = listOf(reply.choices).map(fieldsOf)
  insist(choices.length === receivedRequest.choices, `${choices.length} choices`)
  const indexes = new Set(choices.map(({ index }) => index))
  insist(
    choices.every((_, at) => indexes.has(at)),
    'the indexes of its choices',
  )
  const sorted = choices.sort((one, other) => Number(one.index) - Number(other.index))
  return { answer: { choices: sorted.map(choiceOf), counts: countsIn(reply.usage) } }
}

function choiceOf({ message, finish_reason: reason }: Fields): OutputChoice {
  insist(isObject(message) && message.role === 'assistant', 'a choice without a message')
  const { content, refusal, reasoning_content: reasoning, tool_calls } = message
  insist(content === null || typeof content === 'string', 'a content that is none')
  insist(tool_calls === undefined || (Array.isArray(tool_calls) && tool_calls.length > 0), 'an empty list of calls')
  insist(textOf(reason) !== '', 'a choice without a finish reason')
  const calls: Call[] = []
  for (const [index, call] of listOf(tool_calls).entries()) readFragment(calls, { ...fieldsOf(call), index })
  const finish = finishOf(reason, calls)
  checkCalls(calls, finish)
  const emitted = calls.map(({ id: _, ...call }) => call)
  return { text: textOf(content), refusal: textOf(refusal), reasoning: [textOf(reasoning)], calls: emitted, finish }
}
