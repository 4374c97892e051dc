import { type Fields, isObject } from '../../lib/types.ts'
import type { FinishReason, TurnEvent } from '../../model/event.ts'
import type { InputUsage, Usage } from '../../model/price.ts'
import { restoreNumbersIn } from '../json/exact-numbers.ts'
import { isError, readError } from '../refusals/provider-error.ts'
import { CALLS_MAX, type EventReader, type ReaderOptions } from '../shared/codec-types.ts'
import { countOf, newStreamState, recordUsage, type StreamState } from '../shared/stream-state.ts'
import { markedData, nameOfFrame, parseFrameData } from '../sse/frames.ts'
import { NAMELESS_CALL, NO_CALLS, CONTENT_AFTER_END } from '../tools/tool-names.ts'
import type { AnthropicDialect } from './dialects.ts'

/** Reads the stream of an Anthropic lane as events. */
export function createEventReader(options: ReaderOptions<AnthropicDialect>): EventReader {
  const state = newStreamState()
  const blocks = createBlockReader(options)
  const reading: Reading = { state, blocks, counts: {}, usage: undefined, hasBegun: false }
  return {
    state,
    read(bytes) {
      if (state.done || state.invalid !== undefined || state.error) return []
      const frame = hearFrame(state, bytes)
      if (frame === undefined) return []
      const events = readFrame(reading, frame)
      if (blocks.bytes() > state.outputBytes) state.contentFrames += 1
      state.outputBytes = blocks.bytes()
      state.calls = blocks.calls()
      recordUsage(state, reading.usage)
      state.invalid ??= blocks.fault() ?? (blocks.calls() > CALLS_MAX ? 'too many calls' : undefined)
      return events
    },
  }
}

interface Reading {
  readonly state: StreamState
  readonly blocks: BlockReader
  counts: Fields
  usage: Usage | undefined
  hasBegun: boolean
}

function readFrame(reading: Reading, frame: Fields): readonly TurnEvent[] {
  const { state, blocks } = reading
  switch (frame.type) {
    case 'message_start':
      if (reading.hasBegun) state.invalid = 'a second message_start'
      reading.hasBegun = true
      if (isObject(frame.message)) reading.counts = mergeUsage(reading.counts, promptCounts(frame.message.usage))
      state.inputCounted = readInput(reading.counts)
      return []
    case 'content_block_start':
    case 'content_block_delta':
    case 'content_block_stop':
      if (!state.finished) return blocks.read(frame)
      if (frame.type !== 'content_block_stop') state.invalid = CONTENT_AFTER_END
      return []
    case 'message_delta': {
      reading.counts = mergeUsage(reading.counts, frame.usage)
      reading.usage = readUsage(reading.counts) ?? reading.usage
      const reason = isObject(frame.delta) ? frame.delta.stop_reason : undefined
      return reason === undefined || reason === null ? [] : finish(reading, reason)
    }
    case 'message_stop':
      state.done = true
      if (!state.finished) state.invalid = 'message_stop without a stop_reason'
      return []
    default:
      return []
  }
}

function finish({ state, blocks }: Reading, stopReason: unknown): readonly TurnEvent[] {
  if (state.finished) return []
  if (stopReason === 'tool_use' && blocks.calls() === 0) {
    state.invalid = NO_CALLS
    return []
  }
  state.finished = true
  const reason = finishReasonOf(stopReason, blocks.calls() > 0)
  return [...blocks.endAll(reason), { type: 'turn-end', reason }]
}

function hearFrame(state: StreamState, bytes: Buffer): Fields | undefined {
  const data = parseFrameData(state, bytes)
  if (data === undefined) return undefined
  const isNamed = data.type !== undefined
  if (data.type !== 'error' && (isNamed || !isError(data.error))) {
    const frame = isNamed ? data : { ...data, type: nameOfFrame(bytes) }
    return frame.type === 'content_block_start' ? withExactInput(frame, bytes) : frame
  }
  state.error = readError(data.error)
  return undefined
}

/** The numbers of a call's input keep their digits. */
function withExactInput(frame: Fields, bytes: Buffer): Fields {
  const { content_block: block } = frame
  const exact = isObject(block) && isObject(block.input) ? markedData(bytes)?.content_block : undefined
  return isObject(block) && isObject(exact) ? { ...frame, content_block: { ...block, input: exact.input } } : frame
}

/** Why an answer ends, by the server's word for it. */
const STOP_REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['tool_use', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content-filter'],
])

function finishReasonOf(stopReason: unknown, hasCalls: boolean): FinishReason {
  const reason = STOP_REASONS.get(stopReason) ?? 'stop'
  return reason === 'stop' && hasCalls ? 'tool-calls' : reason
}

/** What an answer is made of, one block after the other. */
export interface BlockReader {
  /** One frame of a block: its start, a piece of it, or its end. */
  read(frame: Fields): readonly TurnEvent[]
  /** Nothing more comes. */
  endAll(reason: FinishReason): readonly TurnEvent[]
  /** Of words and of calls. */
  bytes(): number
  /** How many calls there were. */
  calls(): number
  /** What is wrong with the blocks; undefined for nothing. */
  fault(): string | undefined
}

/** Of all signatures of one answer, which no cap of tokens bounds: a hundred times what the longest have. */
const SEALED_BYTES_MAX = 8 * 1024 * 1024

export function createBlockReader({ mint, origin }: ReaderOptions<AnthropicDialect>): BlockReader {
  const state: State = {
    mint,
    origin,
    bytes: 0,
    sealedBytes: 0,
    fault: undefined,
    calls: 0,
    events: [],
    open: undefined,
    tools: new Map(),
    begun: new Map(),
  }
  const taken = (): readonly TurnEvent[] => {
    const { events } = state
    state.events = []
    return events
  }
  return {
    read(frame) {
      if (frame.type === 'content_block_start') startBlock(state, frame)
      else if (frame.type === 'content_block_delta') readDelta(state, frame)
      else stopBlock(state, frame.index)
      return taken()
    },
    endAll(reason) {
      endOpen(state)
      for (const tool of state.tools.values()) endTool(state, tool, reason)
      state.tools.clear()
      return taken()
    },
    bytes: () => state.bytes,
    calls: () => state.calls,
    fault: () => state.fault,
  }
}

interface State {
  readonly mint: ReaderOptions<AnthropicDialect>['mint']
  readonly origin: string
  bytes: number
  sealedBytes: number
  fault: string | undefined
  calls: number
  events: TurnEvent[]
  /** The block that is being told. */
  open: Text | Thinking | Ignored | undefined
  /** Calls that have not ended, by their index: what is told of one says so. */
  readonly tools: Map<unknown, Tool>
  /** The blocks that were announced, by their index. */
  readonly begun: Map<unknown, 'ignored' | 'open' | 'ended'>
}

interface Text {
  readonly kind: 'text'
  readonly index: unknown
}
interface Thinking {
  readonly kind: 'thinking'
  readonly index: unknown
  thinking: string
  signature: string
}
interface Tool {
  readonly kind: 'tool'
  readonly call: number
  /** Servers that do not stream arguments give them with the start. */
  readonly whole: string | undefined
  hasWords: boolean
}
/** A block of a kind that nobody knows. */
interface Ignored {
  readonly kind: 'ignored'
  readonly index: unknown
}

function startBlock(state: State, { index, content_block }: Fields): void {
  if (!isObject(content_block) || typeof content_block.type !== 'string') return
  if (typeof index === 'number' && state.begun.has(index)) {
    state.fault ??= 'a block that begins twice'
    return
  }
  const { type } = content_block
  const isKnown = KNOWN_BLOCKS.has(type)
  if (state.begun.size < BLOCKS_MAX) state.begun.set(index, isKnown ? 'open' : 'ignored')
  else if (isKnown) {
    state.fault ??= 'too many blocks'
    return
  }
  if (type === 'text') {
    openText(state, index)
    say(state, content_block.text)
  } else if (type === 'thinking') {
    openThinking(state, index)
    think(state, content_block.thinking)
    sign(state, content_block.signature)
  } else if (type === 'tool_use') {
    const { name } = content_block
    if (typeof name === 'string' && name !== '') openTool(state, index, { ...content_block, name })
    else state.fault ??= NAMELESS_CALL
  } else {
    endOpen(state)
    state.open = { kind: 'ignored', index }
    const { data } = content_block
    if (type === 'redacted_thinking' && typeof data === 'string' && isInBounds(state, data)) seal(state, content_block)
  }
}

/** No answer has more; each is remembered. */
const BLOCKS_MAX = 10_000

/** Of others nobody knows what is said in them. */
const KNOWN_BLOCKS: ReadonlySet<unknown> = new Set(['text', 'thinking', 'tool_use'])

function openText(state: State, index: unknown): void {
  endOpen(state)
  state.open = { kind: 'text', index }
}

function openThinking(state: State, index: unknown): void {
  endOpen(state)
  state.open = { kind: 'thinking', index, thinking: '', signature: '' }
}

function openTool(state: State, index: unknown, { name, input }: Fields & { readonly name: string }): void {
  endOpen(state)
  const standing = state.tools.get(index)
  if (standing !== undefined) endTool(state, standing, 'tool-calls')
  const whole = isObject(input) && Object.keys(input).length > 0 ? restoreNumbersIn(JSON.stringify(input)) : undefined
  const call = state.calls++
  const tool: Tool = { kind: 'tool', call, whole, hasWords: false }
  state.tools.set(index, tool)
  state.bytes += Buffer.byteLength(name)
  const callId = state.mint.callId()
  state.events.push({ type: 'tool-call-start', call, callId, name, namespace: undefined, tool: 'function' })
}

function readDelta(state: State, { index, delta }: Fields): void {
  if (!isObject(delta)) return
  const words = wordsIn(delta)
  const { open } = state
  if (typeof index === 'number' && state.begun.get(index) === 'ended' && words !== undefined && words !== '') {
    state.fault ??= 'content after the end of its block'
    return
  }
  if (delta.type === 'text_delta' && words !== undefined) {
    // Words of a block that was not announced are words all the same.
    if (open?.kind !== 'text') openText(state, index)
    say(state, words)
  } else if (delta.type === 'thinking_delta' && words !== undefined) {
    if (open?.kind !== 'thinking') openThinking(state, index)
    think(state, words)
  } else if (delta.type === 'signature_delta') {
    sign(state, delta.signature)
  } else if (delta.type === 'input_json_delta' && words !== undefined) {
    const tool = state.tools.get(index)
    if (tool !== undefined) write(state, tool, words)
    else if (state.begun.get(index) !== 'ignored' && words !== '') state.fault ??= 'arguments without a call'
  }
}

function say(state: State, text: unknown): void {
  if (typeof text !== 'string' || text === '' || state.open?.kind !== 'text') return
  state.bytes += Buffer.byteLength(text)
  state.events.push({ type: 'text-delta', text })
}

/** What is told of the thinking is what the server chooses to tell. */
function think(state: State, text: unknown): void {
  const { open } = state
  if (typeof text !== 'string' || text === '' || open?.kind !== 'thinking') return
  if (open.thinking === '') state.events.push({ type: 'reasoning-start' }, { type: 'summary-start' })
  open.thinking += text
  state.bytes += Buffer.byteLength(text)
  state.events.push({ type: 'summary-delta', text })
}

function sign(state: State, signature: unknown): void {
  const { open } = state
  if (typeof signature !== 'string' || open?.kind !== 'thinking' || !isInBounds(state, signature)) return
  open.signature += signature
}

function isInBounds(state: State, sealed: string): boolean {
  state.sealedBytes += sealed.length
  if (state.sealedBytes > SEALED_BYTES_MAX) state.fault ??= 'signatures that are too long'
  return state.fault === undefined
}

function write(state: State, tool: Tool, text: string): void {
  tool.hasWords = true
  state.bytes += Buffer.byteLength(text)
  state.events.push({ type: 'tool-call-delta', call: tool.call, text })
}

function stopBlock(state: State, index: unknown): void {
  if (state.begun.get(index) === 'open') state.begun.set(index, 'ended')
  const tool = state.tools.get(index)
  if (tool !== undefined) {
    state.tools.delete(index)
    endTool(state, tool, 'tool-calls')
  } else if (state.open?.index === index) {
    endOpen(state)
  }
}

/** Arguments that were never told are none; those of a call that was cut off are not known. */
function endTool(state: State, tool: Tool, reason: FinishReason): void {
  if (!tool.hasWords && (tool.whole !== undefined || reason !== 'length')) write(state, tool, tool.whole ?? '{}')
  state.events.push({ type: 'tool-call-end', call: tool.call })
}

/** Thinking goes back whole, so it is sealed whole; without a signature nobody takes it back. */
function endOpen(state: State): void {
  const { open } = state
  state.open = undefined
  if (open?.kind !== 'thinking' || open.signature === '') return
  const { thinking, signature } = open
  if (thinking === '') state.events.push({ type: 'reasoning-start' })
  pushSeal(state, { type: 'thinking', thinking, signature })
}

/** A block of which only the server knows what it says. */
function seal(state: State, { type, data }: Fields): void {
  state.events.push({ type: 'reasoning-start' })
  pushSeal(state, { type, data })
}

function pushSeal(state: State, block: Fields): void {
  const { origin } = state
  state.events.push({ type: 'reasoning-seal', opaque: { wire: 'anthropic', origin, data: JSON.stringify(block) } })
}

/** By the kind of a delta, where its words are. */
const WORDS_IN: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['input_json_delta', 'partial_json'],
])

/** The words of a delta; undefined where it has none. */
function wordsIn(delta: Fields): string | undefined {
  const member = WORDS_IN.get(delta.type)
  const words = member === undefined ? undefined : delta[member]
  return typeof words === 'string' && words !== '' ? words : undefined
}

/** What is known so far: later counts stand for earlier ones, those that are null or absent say nothing. */
export function mergeUsage(known: Fields, told: unknown): Fields {
  if (!isObject(told)) return known
  const counts = COUNTS.flatMap((name) => (told[name] === null || told[name] === undefined ? [] : [[name, told[name]]]))
  return { ...known, ...Object.fromEntries(counts) }
}

/** What of it means anything: there is no end to the names that a server may have for more. */
const COUNTS = [
  ...['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_creation'],
  ...['output_tokens', 'output_tokens_details', 'iterations'],
]

/** What is counted before the answer: whatever it says of the output is not of what will be said. */
export function promptCounts(told: unknown): Fields {
  const { output_tokens, output_tokens_details, iterations, ...counts } = isObject(told) ? told : {}
  return counts
}

/** The prompt alone: what was neither read from a cache nor written into one, and what was. */
export function readInput(counts: Fields): InputUsage | undefined {
  const { input, cached = 0, written = 0 } = totalsOf(counts)
  return input === undefined ? undefined : { uncachedInput: input, cachedInput: cached, cacheWrite: written }
}

/** The output includes what was thought. */
export function readUsage(counts: Fields): Usage | undefined {
  const input = readInput(counts)
  const { output } = totalsOf(counts)
  if (input === undefined || output === undefined) return undefined
  const { thinking_tokens } = isObject(counts.output_tokens_details) ? counts.output_tokens_details : {}
  return {
    ...input,
    output,
    reasoning: Math.min(countOf(thinking_tokens) ?? 0, output),
  }
}

interface Totals {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cached: number | undefined
  readonly written: number | undefined
}

/**
 * A server that has asked its model several times for one answer tells each time by itself, and at the top only the last
 * one; but where another model has gone on for the first, the top counts all.
 */
function totalsOf(counts: Fields): Totals {
  const top = countsIn(counts)
  const iterations = Array.isArray(counts.iterations) ? counts.iterations.filter(isObject) : []
  const summed = iterations.filter(({ type }) => type === 'message' || type === 'compaction').map(countsIn)
  if (summed.length === 0 || iterations.some(({ type }) => type === 'fallback_message')) return top
  const sum = (of: (each: Totals) => number | undefined): number | undefined => {
    const known = summed.flatMap((each) => of(each) ?? [])
    return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0)
  }
  return {
    input: sum(({ input }) => input) ?? top.input,
    output: sum(({ output }) => output) ?? top.output,
    cached: sum(({ cached }) => cached) ?? top.cached,
    written: sum(({ written }) => written) ?? top.written,
  }
}

const countsIn = (counts: Fields): Totals => ({
  input: countOf(counts.input_tokens),
  output: countOf(counts.output_tokens),
  cached: countOf(counts.cache_read_input_tokens),
  written: countOf(counts.cache_creation_input_tokens) ?? writtenInParts(counts.cache_creation),
})

/** By how long it is kept. */
function writtenInParts(creation: unknown): number | undefined {
  if (!isObject(creation)) return undefined
  const counts = Object.values(creation).flatMap((count) => countOf(count) ?? [])
  return counts.length === 0 ? undefined : counts.reduce((total, count) => total + count, 0)
}
