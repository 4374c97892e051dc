import { type Fields, isObject } from '../../lib/types.ts'
import type { FinishReason, TurnEvent } from '../../model/event.ts'
import type { InputUsage, Usage } from '../../model/price.ts'
import { restoreNumbersIn } from '../json/exact-numbers.ts'
import { isError, readError } from '../refusals/provider-error.ts'
import { CALLS_MAX, type EventReader, type ReaderOptions } from '../shared/codec-types.ts'
import { countOf, newStreamState, recordUsage, type StreamState } from '../shared/stream-state.ts'
import { markedData, nameOfFrame, parseFrameData } from '../sse/frames.ts'
import { CONTENT_AFTER_END, NAMELESS_CALL, NO_CALLS, TOO_MANY_CALLS } from '../tools/tool-names.ts'
import type { AnthropicDialect } from './dialects.ts'

export const createEventReader = (options: ReaderOptions<AnthropicDialect>): EventReader =>
  new AnthropicEventReader(options)

/** Reads the stream of an Anthropic lane as events. */
class AnthropicEventReader implements EventReader {
  readonly state = newStreamState()
  readonly #blocks: BlockReader
  #counts: Fields = {}
  #usage: Usage | undefined
  #hasBegun = false
  #isDelta = false

  constructor(options: ReaderOptions<AnthropicDialect>) {
    this.#blocks = new BlockReader(options)
  }

  read(bytes: Buffer): readonly TurnEvent[] {
    const { state } = this
    if (state.done || state.invalid !== undefined || state.error) return []
    const frame = this.#parse(bytes)
    this.#isDelta = frame?.type === 'content_block_delta'
    if (frame === undefined) return []
    const blocks = this.#blocks
    const events = this.#readFrame(frame)
    if (blocks.textBytes > state.outputBytes) state.contentFrames += 1
    state.outputBytes = blocks.textBytes
    state.calls = blocks.calls
    recordUsage(state, this.#usage)
    state.invalid ??= blocks.fault ?? (blocks.calls > CALLS_MAX ? TOO_MANY_CALLS : undefined)
    return events
  }

  /** Only behind a delta: a block that begins with its text begins once. */
  get repeatText() {
    return this.#isDelta ? this.#repeatText : undefined
  }

  readonly #repeatText = (text: string): void => {
    const { state } = this
    const bytes = Buffer.byteLength(text)
    this.#blocks.textBytes += bytes
    // Added: a layer above adds bytes of its own.
    state.outputBytes += bytes
    state.contentFrames += 1
  }

  #parse(bytes: Buffer): Fields | undefined {
    const data = parseFrameData(this.state, bytes)
    if (data === undefined) return undefined
    const isNamed = data.type !== undefined
    if (data.type === 'error' || (!isNamed && isError(data.error))) {
      this.state.error = readError(data.error)
      return undefined
    }
    const frame = isNamed ? data : { ...data, type: nameOfFrame(bytes) }
    return frame.type === 'content_block_start' ? withExactInput(frame, bytes) : frame
  }

  #readFrame(frame: Fields): readonly TurnEvent[] {
    const { state } = this
    switch (frame.type) {
      case 'message_start':
        if (this.#hasBegun) state.invalid = 'a second message_start'
        this.#hasBegun = true
        if (isObject(frame.message)) {
          this.#counts = mergeUsage(this.#counts, promptCounts(frame.message.usage))
          readServed(state, frame.message.usage)
        }
        state.inputCounted = readInput(this.#counts)
        return []
      case 'content_block_start':
      case 'content_block_delta':
      case 'content_block_stop':
        if (!state.finished) return this.#blocks.read(frame)
        if (frame.type !== 'content_block_stop') state.invalid = CONTENT_AFTER_END
        return []
      case 'message_delta': {
        this.#counts = mergeUsage(this.#counts, frame.usage)
        this.#usage = readUsage(this.#counts) ?? this.#usage
        readServed(state, frame.usage)
        const reason = isObject(frame.delta) ? frame.delta.stop_reason : undefined
        return reason === undefined || reason === null ? [] : this.#finish(reason)
      }
      case 'message_stop':
        state.done = true
        if (!state.finished) state.invalid = 'message_stop without a stop_reason'
        return []
      default:
        return []
    }
  }

  #finish(stopReason: unknown): readonly TurnEvent[] {
    const { state } = this
    const hasCalls = this.#blocks.calls > 0
    if (state.finished) return []
    if (stopReason === 'tool_use' && !hasCalls) {
      state.invalid = NO_CALLS
      return []
    }
    state.finished = true
    state.finishReason = typeof stopReason === 'string' ? stopReason : undefined
    const reason = FINISH_REASONS.get(stopReason) ?? (hasCalls ? 'tool-calls' : 'stop')
    return [...this.#blocks.endAll(reason), { type: 'turn-end', reason }]
  }
}

/** Stop reasons that do not depend on whether the answer has calls. */
const FINISH_REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content-filter'],
])

/** The numbers of a call's input keep their digits. */
function withExactInput(frame: Fields, bytes: Buffer): Fields {
  const { content_block: block } = frame
  const exact = isObject(block) && isObject(block.input) ? markedData(bytes)?.content_block : undefined
  return isObject(block) && isObject(exact) ? { ...frame, content_block: { ...block, input: exact.input } } : frame
}

interface TextBlock {
  readonly kind: 'text'
  readonly index: unknown
}
interface ThinkingBlock {
  readonly kind: 'thinking'
  readonly index: unknown
  thinking: string
  signature: string
}
/** A block of an unknown kind. */
interface IgnoredBlock {
  readonly kind: 'ignored'
  readonly index: unknown
}
interface ToolBlock {
  readonly call: number
  /** Servers that do not stream arguments give them with the start. */
  readonly whole: string | undefined
  hasArguments: boolean
}

/** No answer has more; each is remembered. */
const BLOCKS_MAX = 10_000
const KNOWN_BLOCKS: ReadonlySet<unknown> = new Set(['text', 'thinking', 'tool_use'])
/** For all signatures of one answer, which no output cap bounds: a hundred times what the longest have. */
const SEALED_BYTES_MAX = 8 * 1024 * 1024

/** The member that has the text of a delta, by its type. */
const TEXT_MEMBERS: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['input_json_delta', 'partial_json'],
])

/** Reads the blocks of an answer, one after the other. */
class BlockReader {
  readonly #mint: ReaderOptions<AnthropicDialect>['mint']
  readonly #origin: string
  /** Of text and of calls. */
  textBytes = 0
  calls = 0
  /** What is wrong with the blocks; undefined for nothing. */
  fault: string | undefined
  #sealedBytes = 0
  #events: TurnEvent[] = []
  #open: TextBlock | ThinkingBlock | IgnoredBlock | undefined
  /** Calls that have not ended, by their index. */
  readonly #tools = new Map<unknown, ToolBlock>()
  /** The blocks that were started, by their index. */
  readonly #started = new Map<unknown, 'ignored' | 'open' | 'ended'>()

  constructor({ mint, origin }: ReaderOptions<AnthropicDialect>) {
    this.#mint = mint
    this.#origin = origin
  }

  /** Reads one frame of a block: its start, a delta, or its end. */
  read(frame: Fields): readonly TurnEvent[] {
    if (frame.type === 'content_block_start') this.#startBlock(frame)
    else if (frame.type === 'content_block_delta') this.#readDelta(frame)
    else this.#stopBlock(frame.index)
    return this.#takeEvents()
  }

  /** Ends all blocks: no more frames come. */
  endAll(reason: FinishReason): readonly TurnEvent[] {
    this.#endOpen()
    for (const tool of this.#tools.values()) this.#endTool(tool, reason)
    this.#tools.clear()
    return this.#takeEvents()
  }

  #takeEvents(): readonly TurnEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  #startBlock({ index, content_block }: Fields): void {
    if (!isObject(content_block) || typeof content_block.type !== 'string') return
    if (typeof index === 'number' && this.#started.has(index)) {
      this.fault ??= 'a block that begins twice'
      return
    }
    const { type, name, data } = content_block
    const isKnown = KNOWN_BLOCKS.has(type)
    if (this.#started.size < BLOCKS_MAX) this.#started.set(index, isKnown ? 'open' : 'ignored')
    else if (isKnown) {
      this.fault ??= 'too many blocks'
      return
    }
    if (type === 'text') {
      this.#openBlock({ kind: 'text', index })
      this.#addText(content_block.text)
    } else if (type === 'thinking') {
      this.#openBlock({ kind: 'thinking', index, thinking: '', signature: '' })
      this.#addThinking(content_block.thinking)
      this.#addSignature(content_block.signature)
    } else if (type === 'tool_use') {
      if (typeof name === 'string' && name !== '') this.#openTool(index, name, content_block.input)
      else this.fault ??= NAMELESS_CALL
    } else {
      this.#openBlock({ kind: 'ignored', index })
      // Only the server knows what such a block says.
      if (type !== 'redacted_thinking' || typeof data !== 'string' || !this.#isWithinBounds(data)) return
      this.#events.push({ type: 'reasoning-start' })
      this.#seal({ type, data })
    }
  }

  #openBlock(block: TextBlock | ThinkingBlock | IgnoredBlock): void {
    this.#endOpen()
    this.#open = block
  }

  #openTool(index: unknown, name: string, input: unknown): void {
    this.#endOpen()
    const previous = this.#tools.get(index)
    if (previous !== undefined) this.#endTool(previous, 'tool-calls')
    const whole = isObject(input) && Object.keys(input).length > 0 ? restoreNumbersIn(JSON.stringify(input)) : undefined
    const call = this.calls++
    this.#tools.set(index, { call, whole, hasArguments: false })
    this.textBytes += Buffer.byteLength(name)
    const callId = this.#mint.callId()
    this.#events.push({ type: 'tool-call-start', call, callId, name, namespace: undefined, tool: 'function' })
  }

  #readDelta({ index, delta }: Fields): void {
    if (!isObject(delta)) return
    if (delta.type === 'signature_delta') {
      this.#addSignature(delta.signature)
      return
    }
    const text = delta[TEXT_MEMBERS.get(delta.type) ?? '']
    if (typeof text !== 'string' || text === '') return
    if (typeof index === 'number' && this.#started.get(index) === 'ended') {
      this.fault ??= 'content after the end of its block'
    } else if (delta.type === 'text_delta') {
      // Text of a block that was not started is text all the same.
      if (this.#open?.kind !== 'text') this.#openBlock({ kind: 'text', index })
      this.#addText(text)
    } else if (delta.type === 'thinking_delta') {
      if (this.#open?.kind !== 'thinking') this.#openBlock({ kind: 'thinking', index, thinking: '', signature: '' })
      this.#addThinking(text)
    } else {
      const tool = this.#tools.get(index)
      if (tool !== undefined) this.#addArguments(tool, text)
      else if (this.#started.get(index) !== 'ignored') this.fault ??= 'arguments without a call'
    }
  }

  #addText(text: unknown): void {
    if (typeof text !== 'string' || text === '' || this.#open?.kind !== 'text') return
    this.textBytes += Buffer.byteLength(text)
    this.#events.push({ type: 'text-delta', text })
  }

  /** The server decides how much of the thinking it shows, so it is a summary. */
  #addThinking(text: unknown): void {
    const open = this.#open
    if (typeof text !== 'string' || text === '' || open?.kind !== 'thinking') return
    if (open.thinking === '') this.#events.push({ type: 'reasoning-start' }, { type: 'summary-start' })
    open.thinking += text
    this.textBytes += Buffer.byteLength(text)
    this.#events.push({ type: 'summary-delta', text })
  }

  #addSignature(signature: unknown): void {
    const open = this.#open
    if (typeof signature !== 'string' || open?.kind !== 'thinking' || !this.#isWithinBounds(signature)) return
    open.signature += signature
  }

  #isWithinBounds(sealed: string): boolean {
    this.#sealedBytes += sealed.length
    if (this.#sealedBytes > SEALED_BYTES_MAX) this.fault ??= 'signatures that are too long'
    return this.fault === undefined
  }

  #addArguments(tool: ToolBlock, text: string): void {
    tool.hasArguments = true
    this.textBytes += Buffer.byteLength(text)
    this.#events.push({ type: 'tool-call-delta', call: tool.call, text })
  }

  #stopBlock(index: unknown): void {
    if (this.#started.has(index)) this.#started.set(index, 'ended')
    const tool = this.#tools.get(index)
    if (tool !== undefined) {
      this.#tools.delete(index)
      this.#endTool(tool, 'tool-calls')
    } else if (this.#open?.index === index) this.#endOpen()
  }

  /** A call without arguments has none; those of a truncated call are unknown. */
  #endTool(tool: ToolBlock, reason: FinishReason): void {
    const { call, whole, hasArguments } = tool
    if (!hasArguments && (whole !== undefined || reason !== 'length')) this.#addArguments(tool, whole ?? '{}')
    this.#events.push({ type: 'tool-call-end', call })
  }

  /** Thinking goes back whole, so it is sealed whole; no server takes it back without a signature. */
  #endOpen(): void {
    const open = this.#open
    this.#open = undefined
    if (open?.kind !== 'thinking' || open.signature === '') return
    const { thinking, signature } = open
    if (thinking === '') this.#events.push({ type: 'reasoning-start' })
    this.#seal({ type: 'thinking', thinking, signature })
  }

  #seal(block: Fields): void {
    const opaque = { wire: 'anthropic', origin: this.#origin, data: JSON.stringify(block) } as const
    this.#events.push({ type: 'reasoning-seal', opaque })
  }
}

/** The counts that are read: a server may send any number of other names. */
const INPUT_COUNTS = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_creation']
const OUTPUT_COUNTS = ['output_tokens', 'output_tokens_details', 'iterations']

/** The counts so far: later ones replace earlier ones. Null and absent ones change nothing, and neither does an input of nothing but zeros. */
export function mergeUsage(known: Fields, usage: unknown): Fields {
  if (!isObject(usage)) return known
  const hasInput = INPUT_COUNTS.some((name) => usage[name] !== 0 && usage[name] !== null && usage[name] !== undefined)
  const merged = { ...known }
  for (const name of hasInput || !('input_tokens' in known) ? [...INPUT_COUNTS, ...OUTPUT_COUNTS] : OUTPUT_COUNTS)
    if (usage[name] !== null && usage[name] !== undefined) merged[name] = usage[name]
  return merged
}

/** Which capacity, speed and region have served the request. */
function readServed(state: StreamState, usage: unknown): void {
  if (!isObject(usage)) return
  state.serviceTier = usage.service_tier ?? state.serviceTier
  state.speed = usage.speed ?? state.speed
  state.inferenceGeo = usage.inference_geo ?? state.inferenceGeo
}

/** The counts before the answer: what they say of the output is not of this answer. */
function promptCounts(usage: unknown): Fields {
  const { output_tokens, output_tokens_details, iterations, ...counts } = isObject(usage) ? usage : {}
  return counts
}

/** The prompt in classes that do not overlap: uncached, read from a cache, written into one. */
function readInput(counts: Fields): InputUsage | undefined {
  const { input, cached = 0, written = 0 } = totalsOf(counts)
  return input === undefined ? undefined : { uncachedInput: input, cachedInput: cached, cacheWrite: written }
}

/** The output includes the thinking. */
export function readUsage(counts: Fields): Usage | undefined {
  const input = readInput(counts)
  const { output } = totalsOf(counts)
  if (input === undefined || output === undefined) return undefined
  const { thinking_tokens } = isObject(counts.output_tokens_details) ? counts.output_tokens_details : {}
  return { ...input, output, reasoning: Math.min(countOf(thinking_tokens) ?? 0, output) }
}

interface Totals {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cached: number | undefined
  readonly written: number | undefined
}

/**
 * A server that calls its model several times for one answer counts each iteration by itself, and at the top only the last
 * one; but where another model has continued for the first, the top counts all.
 */
function totalsOf(counts: Fields): Totals {
  const top = countsIn(counts)
  const iterations = Array.isArray(counts.iterations) ? counts.iterations.filter(isObject) : []
  const summed = iterations.filter(({ type }) => type === 'message' || type === 'compaction').map(countsIn)
  if (summed.length === 0 || iterations.some(({ type }) => type === 'fallback_message')) return top
  const total = (name: keyof Totals) => sumOf(summed.map((each) => each[name])) ?? top[name]
  return { input: total('input'), output: total('output'), cached: total('cached'), written: total('written') }
}

const countsIn = (counts: Fields): Totals => ({
  input: countOf(counts.input_tokens),
  output: countOf(counts.output_tokens),
  cached: countOf(counts.cache_read_input_tokens),
  written:
    countOf(counts.cache_creation_input_tokens) ??
    // By how long it is kept.
    (isObject(counts.cache_creation) ? sumOf(Object.values(counts.cache_creation).map(countOf)) : undefined),
})

/** Undefined where no count is known. */
function sumOf(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined)
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0)
}
