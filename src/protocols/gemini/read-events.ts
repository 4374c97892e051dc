import { type Fields, isObject } from '../../lib/types.ts'
import type { FinishReason, TokenLogprob, TurnEvent } from '../../model/event.ts'
import type { Usage } from '../../model/price.ts'
import { tryParse } from '../json/bytes.ts'
import { isMarkedNumber, restoreNumbersIn } from '../json/exact-numbers.ts'
import { isError, readError, type UpstreamError } from '../refusals/provider-error.ts'
import { CALLS_MAX, type EventReader, type ReaderOptions } from '../shared/codec-types.ts'
import { countOf, newStreamState, recordUsage, usageOfCounts } from '../shared/stream-state.ts'
import { firstOf, LOGPROBS_WAITING_MAX } from '../shared/texts.ts'
import { markedData, parseFrameData } from '../sse/frames.ts'
import { NAMELESS_CALL, TOO_MANY_CALLS } from '../tools/tool-names.ts'
import type { GeminiDialect } from './dialects.ts'
import { type SignedPart, writeSignature } from './write-contents.ts'

export const createEventReader = (options: ReaderOptions<GeminiDialect>): EventReader => new GeminiEventReader(options)

/**
 * Reads the stream of a lane that speaks generateContent as events. Only its first candidate counts. The end comes with the end of the
 * stream, because some servers send a finish reason with every chunk: the last one is right.
 */
class GeminiEventReader implements EventReader {
  readonly state = newStreamState()
  readonly #options: ReaderOptions<GeminiDialect>
  readonly #calls = new CallReader()
  #callCount = 0
  /** The last text was a thought: more thoughts belong to it. */
  #isThinking = false
  #emittedBytes = 0
  /** Of tokens that have brought no text yet. */
  #logprobs: TokenLogprob[] = []
  #counts = NO_COUNTS
  #bytesAtFinish = 0
  #hasBrokenCall = false
  #hasEnded = false
  #events: TurnEvent[] = []

  constructor(options: ReaderOptions<GeminiDialect>) {
    this.#options = options
  }

  read(frame: Buffer): readonly TurnEvent[] {
    const { state } = this
    if (state.done || state.invalid !== undefined || state.error) return []
    this.#events = []
    const chunk = this.#parse(frame)
    if (chunk === undefined) {
      if (state.done) this.#end()
      return this.#events
    }
    const bytesBefore = state.outputBytes
    if (!this.#hasEnded) this.#readAnswer(chunk)
    if (state.outputBytes > bytesBefore) state.contentFrames += 1
    state.calls = this.#callCount
    this.#readCounts(chunk)
    return this.#events
  }

  #end(): void {
    const reason = this.ending
    if (reason === undefined) return
    this.#hasEnded = true
    this.#events.push({ type: 'turn-end', reason })
  }

  get ending(): FinishReason | undefined {
    const { finished, finishReason } = this.state
    if (!finished || finishReason === undefined || this.#hasEnded) return undefined
    return finishReasonOf(finishReason, this.#callCount > 0)
  }

  /** The chunk in a frame; undefined, with what it means noted in the state, where there is none. */
  #parse(frame: Buffer): Fields | undefined {
    const chunk = parseFrameData(this.state, frame)
    if (chunk === undefined) {
      // A server that ignores `alt=sse` sends one list of all chunks.
      if (OPENING.has(frame[0])) this.state.invalid = 'a list of chunks instead of a stream'
      return undefined
    }
    if (!isError(chunk.error)) return withExactCalls(chunk, frame)
    this.state.error = readError(chunk.error)
    return undefined
  }

  #readAnswer(chunk: Fields): void {
    const { state } = this
    const candidate = firstOf(chunk.candidates)
    if (candidate === undefined) {
      // A blocked prompt gets no candidate.
      const { promptFeedback } = chunk
      if (isObject(promptFeedback) && typeof promptFeedback.blockReason === 'string') this.#finish('SAFETY')
      return
    }
    state.error = failureInFinish(candidate.finishReason)
    if (state.error) return
    for (const logprob of readLogprobs(candidate.logprobsResult)) {
      if (this.#logprobs.length < LOGPROBS_WAITING_MAX) this.#logprobs.push(logprob)
    }
    for (const part of partsOf(candidate)) this.#readPart(part)
    const { finishReason } = candidate
    // A usage that came with the finish reason did not count what follows.
    if (state.finished && this.#emittedBytes + this.#calls.waitingBytes > state.outputBytes) state.usageIsFinal = false
    // A second reason counts only where content came in between.
    const isNew = !state.finished || this.#emittedBytes > this.#bytesAtFinish
    if (state.invalid === undefined && typeof finishReason === 'string' && isNew) this.#finish(finishReason)
    state.heldBytes = this.#calls.waitingBytes
    // Arguments that came in pieces and then differently were produced all the same.
    state.outputBytes = Math.max(state.outputBytes, this.#emittedBytes + state.heldBytes)
  }

  /** Other kinds of parts belong to tools that the provider runs, or are not text: no client requests them. */
  #readPart(part: Fields): void {
    const { text, functionCall } = part
    if (isObject(functionCall)) {
      const calls = this.#calls.read(part, functionCall)
      if (calls === 'nameless') this.state.invalid = NAMELESS_CALL
      else for (const call of calls) this.#emitCall(call)
      return
    }
    if (typeof text !== 'string') return
    if (part.thought === true) {
      // A thought does not go back to the model, and neither does its signature.
      this.#emitThought(text)
      return
    }
    this.#emitText(text)
    const signature = signatureOf(part)
    if (signature !== undefined) this.#seal(signature, 'text')
  }

  #emitThought(text: string): void {
    if (text === '') return
    if (!this.#isThinking) this.#events.push({ type: 'reasoning-start' }, { type: 'summary-start' })
    this.#isThinking = true
    this.#emittedBytes += Buffer.byteLength(text)
    this.#events.push({ type: 'summary-delta', text })
  }

  #emitText(text: string): void {
    if (text === '') return
    this.#isThinking = false
    this.#emittedBytes += Buffer.byteLength(text)
    const logprobs = this.#logprobs
    this.#logprobs = []
    this.#events.push({ type: 'text-delta', text, ...(logprobs.length === 0 ? {} : { logprobs }) })
  }

  #emitCall({ name, args, signature }: ReadCall): void {
    if (args === undefined || this.#callCount === CALLS_MAX) {
      this.state.invalid = args === undefined ? 'arguments that cannot be written as JSON' : TOO_MANY_CALLS
      return
    }
    this.#hasBrokenCall ||= tryParse(args) === undefined
    // The seal stands in front of its call, where it is found again.
    if (signature !== undefined) this.#seal(signature, 'call')
    this.#isThinking = false
    this.#emittedBytes += Buffer.byteLength(name) + Buffer.byteLength(args)
    const call = this.#callCount++
    const callId = this.#options.mint.callId()
    this.#events.push({ type: 'tool-call-start', call, callId, name, namespace: undefined, tool: 'function' })
    this.#events.push({ type: 'tool-call-delta', call, text: args }, { type: 'tool-call-end', call })
  }

  #seal(signature: string, on: SignedPart): void {
    const opaque = { wire: 'gemini', origin: this.#options.origin, data: writeSignature({ signature, on }) } as const
    this.#events.push({ type: 'reasoning-seal', opaque })
  }

  #finish(reason: string): void {
    for (const call of this.#calls.rest()) this.#emitCall(call)
    this.#bytesAtFinish = this.#emittedBytes
    this.state.finished = true
    this.state.finishReason = reason
    // Broken arguments are judged at the end (`protocols/tools/restore-tools.ts`), and while another lane may still answer.
    if (this.#hasBrokenCall) this.#end()
  }

  #readCounts({ usageMetadata }: Fields): void {
    const { state } = this
    const counts = readCounts(this.#counts, usageMetadata)
    recordUsage(state, counts === this.#counts ? undefined : usageOf(counts, state.outputBytes > 0))
    this.#counts = counts
    if (isObject(usageMetadata) && usageMetadata.serviceTier !== undefined)
      state.serviceTier = usageMetadata.serviceTier
    const input = inputOf(counts)
    if (input === undefined) return
    const cachedInput = Math.min(counts.cached ?? 0, input)
    state.inputCounted = { uncachedInput: input - cachedInput, cachedInput, cacheWrite: 0 }
  }
}

const partsOf = ({ content }: Fields): Fields[] =>
  isObject(content) && Array.isArray(content.parts) ? content.parts.filter(isObject) : []

const FUNCTION_CALL = Buffer.from('"functionCall"')

/** The numbers in a call's arguments keep their digits; of other numbers only the value counts. */
function withExactCalls(chunk: Fields, frame: Buffer): Fields {
  const marked = frame.includes(FUNCTION_CALL) ? markedData(frame) : undefined
  const candidate = firstOf(chunk.candidates)
  if (marked === undefined || candidate === undefined) return chunk
  const exact = partsOf(firstOf(marked.candidates) ?? {})
  const parts = partsOf(candidate).map((part, at) => {
    const exactCall = exact[at]?.functionCall
    if (!isObject(part.functionCall) || !isObject(exactCall)) return part
    const { args, partialArgs } = exactCall
    return { ...part, functionCall: { ...part.functionCall, args, partialArgs } }
  })
  return { ...chunk, candidates: [{ ...candidate, content: { parts } }] }
}

const OPENING: ReadonlySet<number | undefined> = new Set(Buffer.from('[{'))

/** The model wrote a call that its own server could not parse. */
const MALFORMED_CALL = 'MALFORMED_FUNCTION_CALL'

/** The model has failed, not finished: a retry, or a fallback, may succeed. */
const FAILURES: ReadonlySet<unknown> = new Set([
  ...[MALFORMED_CALL, 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'],
  ...['MALFORMED_RESPONSE', 'MISSING_THOUGHT_SIGNATURE'],
])

/** CONTINUATION: a long answer breaks off, and its rest would need another request. */
const LENGTHS: ReadonlySet<string> = new Set(['MAX_TOKENS', 'CONTINUATION'])

const FILTERED = /^(?:SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|IMAGE_.*)$/

/** An unknown reason ends an answer like STOP, which is also sent where the model waits for the results of its calls. */
function finishReasonOf(reason: string, hasCalls: boolean): FinishReason {
  if (LENGTHS.has(reason)) return 'length'
  if (FILTERED.test(reason)) return 'content-filter'
  return hasCalls ? 'tool-calls' : 'stop'
}

const failureInFinish = (reason: unknown): UpstreamError | undefined =>
  FAILURES.has(reason)
    ? {
        message: `it ended with "${reason}"`,
        code: undefined,
        ...(reason === MALFORMED_CALL ? { malformedOutput: true } : {}),
      }
    : undefined

/** The chosen tokens, each with its alternatives; malformed entries are dropped. */
function readLogprobs(result: unknown): TokenLogprob[] {
  if (!isObject(result) || !Array.isArray(result.chosenCandidates)) return []
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : []
  return result.chosenCandidates.flatMap((chosen, at) => {
    const token = readToken(chosen)
    const candidates = isObject(tops[at]) && Array.isArray(tops[at].candidates) ? tops[at].candidates : []
    return token === undefined ? [] : [{ ...token, top: candidates.flatMap((each) => readToken(each) ?? []) }]
  })
}

function readToken(entry: unknown): Omit<TokenLogprob, 'top'> | undefined {
  if (!isObject(entry) || typeof entry.token !== 'string' || typeof entry.logProbability !== 'number') return undefined
  return { token: entry.token, logprob: entry.logProbability, bytes: undefined }
}

interface ReadCall {
  readonly name: string
  /** JSON, or whatever stood where it should. Undefined: it cannot be written as JSON. */
  readonly args: string | undefined
  readonly signature: string | undefined
}

/** Reads the calls of one answer. Most come whole; one that comes in pieces waits here until it is complete. */
class CallReader {
  #waiting: { readonly name: string; readonly args: Fields; signature: string | undefined; bytes: number } | undefined

  get waitingBytes(): number {
    return this.#waiting?.bytes ?? 0
  }

  /** The call that still waits, when nothing more comes. */
  rest(): readonly ReadCall[] {
    if (this.#waiting === undefined) return []
    const { name, args, signature } = this.#waiting
    this.#waiting = undefined
    return [{ name, args: textOf(args), signature }]
  }

  read(part: Fields, { name, args, partialArgs, willContinue }: Fields): readonly ReadCall[] | 'nameless' {
    const signature = signatureOf(part)
    const ended: ReadCall[] = []
    if (typeof name === 'string' && name !== '' && name !== this.#waiting?.name) {
      ended.push(...this.rest())
      if (willContinue !== true && !Array.isArray(partialArgs)) {
        return [...ended, { name, args: textOf(args ?? {}), signature }]
      }
      this.#waiting = { name, args: noArgs(), signature, bytes: Buffer.byteLength(name) }
    }
    const waiting = this.#waiting
    // Only the continuation of a call may lack a name.
    if (waiting === undefined) return 'nameless'
    waiting.signature ??= signature
    if (isObject(args)) {
      Object.assign(waiting.args, args)
      waiting.bytes += Buffer.byteLength(textOf(args) ?? '')
    }
    for (const arg of Array.isArray(partialArgs) ? partialArgs : []) {
      addPartialArg(waiting.args, arg)
      // Pieces that are not text count too, so that an endless series of them ends as well.
      waiting.bytes += isObject(arg) && typeof arg.stringValue === 'string' ? Buffer.byteLength(arg.stringValue) : 1
    }
    return willContinue === true ? ended : [...ended, ...this.rest()]
  }
}

const signatureOf = ({ thoughtSignature }: Fields): string | undefined =>
  typeof thoughtSignature === 'string' && thoughtSignature !== '' ? thoughtSignature : undefined

/** Undefined for arguments that are nested too deeply to be written. */
function textOf(args: unknown): string | undefined {
  if (typeof args === 'string' && !isMarkedNumber(args)) return args
  try {
    return restoreNumbersIn(JSON.stringify(args))
  } catch {
    return undefined
  }
}

/**
 * Adds a piece of the arguments, which has the path of its place (`$.city`, `$.days[0]['from']`): a text is appended to the text
 * that is there, any other value is put whole. No client requests pieces, and none can make the arguments grow beyond what was sent.
 */
export function addPartialArg(root: Fields, arg: unknown): void {
  if (!isObject(arg) || typeof arg.jsonPath !== 'string') return
  const value = pieceOf(arg)
  const steps = stepsOf(arg.jsonPath)
  if (value === undefined || steps === undefined) return
  let place: Container = root
  for (const [at, step] of steps.entries()) {
    // A list is appended to, and has no holes.
    const fits = Array.isArray(place) ? typeof step === 'number' && step <= place.length : typeof step === 'string'
    if (!fits) return
    // Inherited members do not count: a path must not lead out of the arguments.
    const known: unknown = Object.hasOwn(place, step) ? (place as Fields)[step] : undefined
    const next = steps[at + 1]
    if (next === undefined) {
      define(place, step, typeof known === 'string' && typeof value === 'string' ? known + value : value)
      return
    }
    const inner: unknown = known ?? (typeof next === 'number' ? [] : noArgs())
    if (typeof inner !== 'object' || inner === null) return
    if (inner !== known) define(place, step, inner)
    place = inner as Container
  }
}

/** Without a prototype, so that every name is only a name. */
export const noArgs = (): Fields => Object.create(null) as Fields

type Step = string | number
type Container = Fields | unknown[]

const define = (place: Container, step: Step, value: unknown): void => {
  Object.defineProperty(place, step, { value, enumerable: true, writable: true, configurable: true })
}

function pieceOf({
  stringValue,
  numberValue,
  boolValue,
  nullValue,
}: Fields): string | number | boolean | null | undefined {
  if (typeof stringValue === 'string') return stringValue
  if (typeof numberValue === 'number' || isMarkedNumber(numberValue)) return numberValue
  if (typeof boolValue === 'boolean') return boolValue
  return nullValue === undefined ? undefined : null
}

const STEP = /\.([^.[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y
const STEPS_MAX = 100

/** Undefined for what is no path into an object. */
function stepsOf(path: string): readonly Step[] | undefined {
  const steps: Step[] = []
  STEP.lastIndex = path.startsWith('$') ? 1 : 0
  while (STEP.lastIndex < path.length) {
    const found = STEP.exec(path)
    if (found === null || steps.length === STEPS_MAX) return undefined
    const [, name, index, quoted, other] = found
    steps.push(index === undefined ? (name ?? quoted ?? other ?? '').replace(/\\(.)/g, '$1') : Number(index))
  }
  return steps.length === 0 ? undefined : steps
}

/** The counts of an answer so far. They grow with it: the last value of each counts, and a chunk may leave some out. */
interface GeminiCounts {
  readonly prompt?: number | undefined
  readonly toolPrompt?: number | undefined
  readonly cached?: number | undefined
  readonly candidates?: number | undefined
  readonly thoughts?: number | undefined
  /** Only of the same chunk as the last counts: a sum of older ones means nothing. */
  readonly total?: number | undefined
}

export const NO_COUNTS: GeminiCounts = {}

export function readCounts(before: GeminiCounts, metadata: unknown): GeminiCounts {
  if (!isObject(metadata)) return before
  return {
    prompt: countOf(metadata.promptTokenCount) ?? before.prompt,
    toolPrompt: countOf(metadata.toolUsePromptTokenCount) ?? before.toolPrompt,
    cached: countOf(metadata.cachedContentTokenCount) ?? before.cached,
    candidates: countOf(metadata.candidatesTokenCount) ?? before.candidates,
    thoughts: countOf(metadata.thoughtsTokenCount) ?? before.thoughts,
    total: countOf(metadata.totalTokenCount),
  }
}

/**
 * The whole usage; undefined where the input, or the output of an answer with content, was not counted. The total is the
 * provider's own sum, and what it has beyond the input is the output: it covers a class that was left out, and one that was
 * counted in another too. Where no class was left out, a larger total is unexplained, and makes the counts doubtful. A total
 * that does not even cover the input is ignored.
 */
export function usageOf(counts: GeminiCounts, hasContent: boolean): Usage | undefined {
  const { candidates, thoughts, total, cached = 0 } = counts
  const classes = (candidates ?? 0) + (thoughts ?? 0)
  const input = inputOf(counts)
  if (input === undefined) return undefined
  const beyondInput = total === undefined || total < input ? undefined : total - input
  const isCounted = candidates !== undefined || thoughts !== undefined || (beyondInput ?? 0) > 0
  if (hasContent && !isCounted) return undefined
  const isUnexplained = candidates !== undefined && thoughts !== undefined && (beyondInput ?? 0) > classes
  return usageOfCounts({
    input,
    cached,
    cacheWrite: 0,
    reasoning: thoughts ?? 0,
    output: isUnexplained ? classes : (beyondInput ?? classes),
    doubtful: isUnexplained,
  })
}

/** What the provider's own tools have read is input too. Zero is left out of JSON, so one of both counts is enough. */
function inputOf({ prompt, toolPrompt, candidates, thoughts, total }: GeminiCounts): number | undefined {
  if (prompt !== undefined || toolPrompt !== undefined) return (prompt ?? 0) + (toolPrompt ?? 0)
  if (total === undefined || candidates === undefined) return undefined
  const rest = total - candidates - (thoughts ?? 0)
  return rest < 0 ? undefined : rest
}
