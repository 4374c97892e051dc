import { type Fields, isObject } from '../../lib/types.ts'
import type { FinishReason, TokenLogprob, TurnEvent } from '../../model/event.ts'
import { CALLS_MAX, type EventReader, type ReaderOptions } from '../shared/codec-types.ts'
import { newStreamState, recordUsage, type StreamState } from '../shared/stream-state.ts'
import { firstOf, readLogprobs } from '../shared/texts.ts'
import { BROKEN_ARGUMENTS, WORDS_BEHIND_END } from '../tools/tool-names.ts'
import {
  callsBegun,
  failureInFinish,
  faultInCalls,
  finishReasonFrom,
  joinChoices,
  parseChunk,
  plainContent,
  reasoningTextOf,
  saidBy,
  textBytesOf,
} from './chunk.ts'
import type { ChatDialect } from './dialects.ts'
import { ToolCallRepair } from './repair-chunk.ts'
import { createUsageListener, type UsageListener } from './usage.ts'

/** Reads the stream of a chat lane, with all the oddities of the servers that speak it, as events. Only its first choice counts. */
export function createEventReader(options: ReaderOptions<ChatDialect>): EventReader {
  const state = newStreamState()
  const reading: Reading = {
    options,
    state,
    usage: createUsageListener({ dialect: options.dialect, choices: 1 }),
    // Only tells calls apart: what the client sees is minted when a call begins.
    repairer: new ToolCallRepair(() => ''),
    begun: new Map(),
    wordsHandedOn: 0,
    logprobs: [],
    thought: '',
  }
  return {
    state,
    read(frame) {
      if (state.done || state.invalid !== undefined || state.error) return []
      const chunk = parseChunk(state, frame)
      if (chunk === undefined) return []
      const events: TurnEvent[] = []
      reading.usage.hear(chunk)
      const bytesBefore = state.outputBytes
      readChunk(reading, chunk, events)
      if (state.outputBytes > bytesBefore) state.contentFrames += 1
      recordUsage(state, reading.usage.usage())
      return events
    },
  }
}

interface Reading {
  readonly options: ReaderOptions<ChatDialect>
  readonly state: StreamState
  readonly usage: UsageListener
  readonly repairer: ToolCallRepair
  /** The calls that have begun, in that order, by the mender's number. */
  readonly begun: Map<number, number>
  wordsHandedOn: number
  /** Of tokens that have brought no text yet, as those that are a part of a character. */
  logprobs: TokenLogprob[]
  /** The reasoning since the last other words, where the server wants it back. */
  thought: string
}

function readChunk(reading: Reading, chunk: Fields, events: TurnEvent[]): void {
  const { state, repairer } = reading
  const { splitsChoices } = reading.options.dialect
  const choice = firstOf(
    splitsChoices && Array.isArray(chunk.choices) ? joinChoices(chunk.choices, 'delta') : chunk.choices,
  )
  if (choice === undefined) return
  if (state.finished) {
    const said = saidBy(choice)
    if (textBytesOf(said) > 0 || callsBegun(said) > 0) state.invalid = WORDS_BEHIND_END
    return
  }
  state.error = failureInFinish(choice)
  if (state.error) return
  readDelta(reading, saidBy(choice), choice.logprobs, events)
  state.heldBytes = repairer.waitingBytes()
  state.outputBytes = reading.wordsHandedOn + state.heldBytes
  state.calls = reading.begun.size
  state.finished = readFinish(reading, choice.finish_reason, events)
}

function readDelta(reading: Reading, raw: Fields, logprobs: unknown, events: TurnEvent[]): void {
  const delta = inPlainWords(reading, raw)
  reading.wordsHandedOn += textBytesOf(delta)
  const reasoning = reasoningTextOf(delta)
  if (reasoning !== '') think(reading, reasoning, events)
  for (const token of readLogprobs(isObject(logprobs) ? logprobs.content : undefined)) reading.logprobs.push(token)
  if (isWords(delta.content)) {
    sealThought(reading, events)
    events.push({ type: 'text-delta', text: delta.content, ...takeLogprobs(reading) })
  }
  if (isWords(delta.refusal)) {
    sealThought(reading, events)
    events.push({ type: 'refusal-delta', text: delta.refusal })
  }
  for (const fragment of delta.tool_calls as Fields[]) readFragment(reading, fragment, events)
}

function think(reading: Reading, text: string, events: TurnEvent[]): void {
  if (reading.options.dialect.reasoningBack) reading.thought += text
  events.push({ type: 'reasoning-delta', text })
}

/** A client that keeps nothing but what is sealed must be able to give a server back what it wants to see again. */
function sealThought(reading: Reading, events: TurnEvent[]): void {
  if (reading.thought === '') return
  events.push({
    type: 'reasoning-seal',
    opaque: { wire: 'chat', origin: reading.options.origin, data: reading.thought },
  })
  reading.thought = ''
}

/** The delta with strings for lists of parts, and every call in the fragments that clients know. */
function inPlainWords({ repairer }: Reading, raw: Fields): Fields {
  const { function_call: legacy, ...delta } = raw
  if (Array.isArray(raw.content)) {
    const { content, reasoning } = plainContent(raw.content)
    delta.content = content
    if (reasoning !== '') delta.reasoning_content = reasoning
  }
  const calls = Array.isArray(raw.tool_calls) ? raw.tool_calls : []
  // The older form knows one call, and begins to say its name with it.
  const fragments = calls.length === 0 && isObject(legacy) ? [{ index: 0, function: legacy }] : calls
  delta.tool_calls = repairer.repair(fragments) ?? fragments.filter(isObject)
  return delta
}

function takeLogprobs(reading: Reading): { logprobs?: readonly TokenLogprob[] } {
  const { logprobs } = reading
  if (logprobs.length === 0) return {}
  reading.logprobs = []
  return { logprobs }
}

function readFragment(reading: Reading, fragment: Fields, events: TurnEvent[]): void {
  const custom = isObject(fragment.custom) ? fragment.custom : undefined
  const said = custom ?? (isObject(fragment.function) ? fragment.function : {})
  const call = reading.begun.get(fragment.index as number) ?? reading.begun.size
  if (call === reading.begun.size) {
    if (!isWords(said.name)) return
    if (call === CALLS_MAX) reading.state.invalid = 'too many calls'
    if (reading.state.invalid !== undefined) return
    sealThought(reading, events)
    reading.begun.set(fragment.index as number, call)
    const callId = reading.options.mint.callId()
    const tool = custom ? 'custom' : 'function'
    events.push({ type: 'tool-call-start', call, callId, name: said.name, namespace: undefined, tool })
  }
  const text = custom ? said.input : said.arguments
  if (isWords(text)) events.push({ type: 'tool-call-delta', call, text })
}

function readFinish(reading: Reading, reason: unknown, events: TurnEvent[]): boolean {
  const calls = reading.begun.size
  const word = finishReasonFrom(reason, reading.repairer)
  if (word === null) return false
  // This call may be a custom tool of the client: `restore-tools.ts` knows, and checks the arguments.
  const fault = faultInCalls(word, reading.repairer)
  if (fault !== undefined && fault !== BROKEN_ARGUMENTS) {
    reading.state.invalid = fault
    return false
  }
  sealThought(reading, events)
  for (let call = 0; call < calls; call++) events.push({ type: 'tool-call-end', call })
  events.push({ type: 'turn-end', reason: finishReasonOf(word, calls > 0) })
  return true
}

function finishReasonOf(word: string, hasCalls: boolean): FinishReason {
  if (word === 'length') return 'length'
  if (word === 'content_filter') return 'content-filter'
  return hasCalls ? 'tool-calls' : 'stop'
}

const isWords = (value: unknown): value is string => typeof value === 'string' && value !== ''
