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
  mayGoOn,
  type OutputChoice,
  textOf,
} from './answer.ts'
import { checkNoError, type WireFrames } from './wire-frames.ts'

interface Call {
  id: string
  name: string
  readonly tool: 'function'
  words: string
}

interface Choice {
  text: string
  refusal: string
  reasoning: string
  readonly calls: Call[]
  readonly byIndex: Map<unknown, Call>
  finish: string | undefined
  /** Words have followed the last finish reason. */
  goesOn: boolean
}

const newChoice = (): Choice => ({
  text: '',
  refusal: '',
  reasoning: '',
  calls: [],
  byIndex: new Map(),
  finish: undefined,
  goesOn: false,
})

/** What a client hears that reads a Chat stream by the book. */
export function parseChatStream({ frames, doubts }: WireFrames, choicesAsked: number): Answer {
  const choices = Array.from({ length: choicesAsked }, newChoice)
  let counts: Counts | undefined
  let hasEnded = false
  for (const { emitted } of frames) {
    checkNoError(emitted.error)
    const isOver = choices.every(({ finish }) => finish !== undefined)
    if (!listOf(emitted.choices).some(isObject) && !isObject(emitted.usage)) doubts.add('a frame without an answer')
    if (isObject(emitted.usage)) counts = chatCounts(emitted.usage)
    for (const [at, choice] of listOf(emitted.choices).entries()) {
      if (!isObject(choice)) continue
      const state = choices[typeof choice.index === 'number' ? choice.index : at]
      if (state !== undefined) parseChoice(state, choice, { doubts, hasEnded })
    }
    // Counts behind the last finish reason are the end of the answer.
    hasEnded ||= isOver && counts !== undefined && choices.every(({ goesOn }) => !goesOn)
    // Counts that come before the end are no sum.
    if (!isOver && choices.some(({ finish }) => finish === undefined)) counts = undefined
  }
  for (const choice of choices) {
    if (choice.finish !== undefined) continue
    if (choice.calls.length === 0 || !choice.calls.every(({ words }) => isJson(words)))
      throw new Broken('a choice without an end')
    doubts.add('whole calls without an end')
    choice.finish = 'tool_calls'
  }
  return { choices: choices.map((choice) => finished(choice, doubts)), counts }
}

function parseChoice(
  state: Choice,
  choice: Fields,
  { doubts, hasEnded }: { readonly doubts: Set<string>; readonly hasEnded: boolean },
): void {
  const delta = fieldsOf(choice.delta)
  const { content, refusal, reasoning_content: reasoning, tool_calls: calls } = delta
  const words = textOf(content) + textOf(refusal) + textOf(reasoning)
  const isBehind = state.finish !== undefined
  const says = words !== '' || listOf(calls).some(saysSomething)
  if (isBehind && says) {
    if (hasEnded) throw new Broken('words behind the end')
    doubts.add('words behind a finish reason')
    state.goesOn = true
  }
  if (isBehind && !state.goesOn) return
  state.text += textOf(content)
  state.refusal += textOf(refusal)
  state.reasoning += textOf(reasoning)
  for (const fragment of listOf(calls)) if (isObject(fragment)) parseFragment(state, fragment, doubts)
  if (typeof choice.finish_reason !== 'string' || choice.finish_reason === '') return
  state.finish = choice.finish_reason
  state.goesOn = false
}

/** A fragment without a name and arguments is nothing to a client. */
function saysSomething(fragment: unknown): boolean {
  const { name, arguments: words } = fieldsOf(fieldsOf(fragment).function)
  return textOf(name) + textOf(words) !== ''
}

/** An index that comes again under another id is another call. */
function parseFragment({ calls, byIndex }: Choice, fragment: Fields, doubts: Set<string>): void {
  const called = fieldsOf(fragment.function)
  const id = textOf(fragment.id)
  const name = textOf(called.name)
  if (fragment.index === undefined) doubts.add('a fragment without its index')
  const known = fragment.index === undefined ? calls.at(-1) : byIndex.get(fragment.index)
  let call = known
  if (known === undefined || (id !== '' && name !== '' && id !== known.id)) {
    call = { id, name: '', tool: 'function', words: '' }
    calls.push(call)
    byIndex.set(fragment.index, call)
  }
  if (call === undefined) return
  if (name === '' && call.name === '') doubts.add('arguments before a name')
  call.name ||= name
  call.words += textOf(called.arguments)
}

const FINISHES: Readonly<Record<string, Finish>> = {
  stop: 'stop',
  tool_calls: 'tool-calls',
  length: 'length',
  content_filter: 'content-filter',
}

const FAILURES = new Set(['error', 'abort'])

function finished({ text, refusal, reasoning, calls, finish = '' }: Choice, doubts: Set<string>): OutputChoice {
  if (FAILURES.has(finish)) throw new Broken(`an end for ${finish}`)
  // An unknown finish reason ends the choice like any other.
  const emitted = FINISHES[finish] ?? 'stop'
  if (emitted === 'tool-calls' && calls.length === 0) throw new Broken('an end for calls without a call')
  // Some servers that were cut by their cap say in streams that they stop.
  const isCut =
    (emitted === 'stop' || emitted === 'tool-calls') &&
    mayGoOn(calls.at(-1)?.words ?? '{}') &&
    !isJson(calls.at(-1)?.words || '{}')
  if (isCut) doubts.add('arguments that are cut')
  const word = isCut ? 'length' : emitted === 'stop' && calls.length > 0 ? 'tool-calls' : emitted
  return { text, refusal, reasoning: [reasoning], calls: checkedCalls(calls, word), finish: word }
}

/** The same of a JSON answer. */
export function parseChatReply(reply: Fields, choicesAsked: number): Answer {
  if (isObject(reply.error)) throw new Broken('an error')
  const choices = Array.from({ length: choicesAsked }, newChoice)
  for (const [at, choice] of listOf(reply.choices).entries()) {
    if (!isObject(choice) || !isObject(choice.message)) throw new Broken('a choice without a message')
    const state = choices[typeof choice.index === 'number' ? choice.index : at]
    if (state === undefined || state.finish !== undefined) continue
    const fragments = listOf(choice.message.tool_calls).map((call, index) => ({ ...fieldsOf(call), index }))
    parseChoice(state, { delta: { ...choice.message, tool_calls: fragments } }, { doubts: new Set(), hasEnded: false })
    state.finish = textOf(choice.finish_reason) || 'stop'
  }
  if (choices.some(({ finish }) => finish === undefined)) throw new Broken('a choice that is not there')
  return {
    choices: choices.map((choice) => finished(choice, new Set())),
    counts: isObject(reply.usage) ? chatCounts(reply.usage) : undefined,
  }
}

export const chatCounts = (usage: Fields): Counts => ({
  input: countIn(usage, 'prompt_tokens'),
  cached: countIn(fieldsOf(usage.prompt_tokens_details), 'cached_tokens'),
  output: countIn(usage, 'completion_tokens'),
  thought: countIn(fieldsOf(usage.completion_tokens_details), 'reasoning_tokens'),
})
