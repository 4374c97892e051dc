import { type Fields, isObject } from '../../lib/types.ts'
import type { FinishReason, TokenLogprob, TurnEvent } from '../../model/event.ts'
import type { Usage } from '../../model/price.ts'
import { isMarkedNumber, restoreNumbersIn } from '../json/exact-numbers.ts'
import { isError, readError, type UpstreamError } from '../refusals/provider-error.ts'
import { CALLS_MAX, type EventReader, type ReaderOptions } from '../shared/codec-types.ts'
import { countOf, newStreamState, recordUsage, type StreamState, usageOfCounts } from '../shared/stream-state.ts'
import { firstOf } from '../shared/texts.ts'
import { markedData, parseFrameData } from '../sse/frames.ts'
import { NAMELESS_CALL, CONTENT_AFTER_END } from '../tools/tool-names.ts'
import type { GeminiDialect } from './dialects.ts'
import { type SignedPart, writeSignature } from './write-contents.ts'

/** Reads the stream of a lane that speaks generateContent as events. Only its first candidate counts. */
export function createEventReader(options: ReaderOptions<GeminiDialect>): EventReader {
  const state = newStreamState()
  const reading: Reading = {
    options,
    state,
    calls: createCallReader(),
    callCount: 0,
    isThinking: false,
    wordsHandedOn: 0,
    logprobs: [],
    counts: NO_COUNTS,
  }
  return {
    state,
    read(frame) {
      if (state.done || state.invalid !== undefined || state.error) return []
      const chunk = parseChunk(state, frame)
      if (chunk === undefined) return []
      const events: TurnEvent[] = []
      const bytesBefore = state.outputBytes
      if (!state.finished) readAnswer(reading, chunk, events)
      else if (saysMore(chunk)) state.invalid = CONTENT_AFTER_END
      if (state.outputBytes > bytesBefore) state.contentFrames += 1
      state.calls = reading.callCount
      hearCounts(reading, chunk)
      return events
    },
    // No two chunks differ in their words alone: each has the counts so far.
  }
}

interface Reading {
  readonly options: ReaderOptions<GeminiDialect>
  readonly state: StreamState
  readonly calls: CallReader
  callCount: number
  /** The last words were a thought: more of them belong to it. */
  isThinking: boolean
  wordsHandedOn: number
  /** Of tokens that have brought no text yet. */
  logprobs: TokenLogprob[]
  counts: GeminiCounts
}

function readAnswer(reading: Reading, chunk: Fields, events: TurnEvent[]): void {
  const { state } = reading
  const candidate = firstOf(chunk.candidates)
  if (candidate === undefined) {
    if (isBlocked(chunk)) finish(reading, 'SAFETY', events)
    return
  }
  state.error = failureInFinish(candidate.finishReason)
  if (state.error) return
  for (const logprob of readLogprobs(candidate.logprobsResult)) {
    if (reading.logprobs.length < LOGPROBS_WAITING_MAX) reading.logprobs.push(logprob)
  }
  for (const part of partsOf(candidate)) readPart(reading, part, events)
  if (state.invalid === undefined && typeof candidate.finishReason === 'string')
    finish(reading, candidate.finishReason, events)
  state.heldBytes = reading.calls.waitingBytes()
  // What was told in pieces and then told otherwise was produced all the same.
  state.outputBytes = Math.max(state.outputBytes, reading.wordsHandedOn + state.heldBytes)
}

const partsOf = ({ content }: Fields): Fields[] =>
  isObject(content) && Array.isArray(content.parts) ? content.parts.filter(isObject) : []

/** Only usage and the last signature may follow the end. */
const saysMore = ({ candidates }: Fields): boolean =>
  partsOf(firstOf(candidates) ?? {}).some(
    ({ text, functionCall }) => isObject(functionCall) || (typeof text === 'string' && text !== ''),
  )

/** For a text that may never come. */
const LOGPROBS_WAITING_MAX = 10_000

/** A prompt that is not answered: the request was right, and what it said was not welcome. */
const isBlocked = ({ promptFeedback }: Fields): boolean =>
  isObject(promptFeedback) && typeof promptFeedback.blockReason === 'string'

/** Parts of other kinds are of tools that the provider runs, or no text: nobody has asked for them. */
function readPart(reading: Reading, part: Fields, events: TurnEvent[]): void {
  const { text, functionCall } = part
  if (isObject(functionCall)) {
    const calls = reading.calls.read(part, functionCall)
    if (calls === 'nameless') reading.state.invalid = NAMELESS_CALL
    else for (const call of calls) tellCall(reading, call, events)
    return
  }
  if (typeof text !== 'string') return
  // A thought goes nowhere again, and so does what signs it.
  if (part.thought === true) think(reading, text, events)
  else say(reading, text, events)
  const signature = part.thought === true ? undefined : signatureOf(part)
  if (signature !== undefined) seal(reading, signature, 'text', events)
}

function think(reading: Reading, text: string, events: TurnEvent[]): void {
  if (text === '') return
  if (!reading.isThinking) events.push({ type: 'reasoning-start' }, { type: 'summary-start' })
  reading.isThinking = true
  reading.wordsHandedOn += Buffer.byteLength(text)
  events.push({ type: 'summary-delta', text })
}

function say(reading: Reading, text: string, events: TurnEvent[]): void {
  if (text === '') return
  reading.isThinking = false
  reading.wordsHandedOn += Buffer.byteLength(text)
  const { logprobs } = reading
  reading.logprobs = []
  events.push(logprobs.length === 0 ? { type: 'text-delta', text } : { type: 'text-delta', text, logprobs })
}

function tellCall(reading: Reading, { name, args, signature }: ReadCall, events: TurnEvent[]): void {
  if (args === undefined || reading.callCount === CALLS_MAX) {
    reading.state.invalid = args === undefined ? 'arguments that cannot be written as JSON' : 'too many calls'
    return
  }
  // In front of its call it is found again: what else led to it is told already.
  if (signature !== undefined) seal(reading, signature, 'call', events)
  reading.isThinking = false
  reading.wordsHandedOn += Buffer.byteLength(name) + Buffer.byteLength(args)
  const call = reading.callCount++
  const callId = reading.options.mint.callId()
  events.push({ type: 'tool-call-start', call, callId, name, namespace: undefined, tool: 'function' })
  events.push({ type: 'tool-call-delta', call, text: args }, { type: 'tool-call-end', call })
}

function seal({ options }: Reading, signature: string, on: SignedPart, events: TurnEvent[]): void {
  const data = writeSignature({ signature, on })
  events.push({ type: 'reasoning-seal', opaque: { wire: 'gemini', origin: options.origin, data } })
}

function finish(reading: Reading, word: string, events: TurnEvent[]): void {
  for (const call of reading.calls.rest()) tellCall(reading, call, events)
  reading.state.finished = true
  events.push({ type: 'turn-end', reason: finishReasonOf(word, reading.callCount > 0) })
}

function hearCounts(reading: Reading, { usageMetadata }: Fields): void {
  const { state } = reading
  const told = readCounts(reading.counts, usageMetadata)
  recordUsage(state, told === reading.counts ? undefined : usageOf(told, state.outputBytes > 0))
  reading.counts = told
  const input = inputOf(reading.counts)
  if (input === undefined) return
  const cachedInput = Math.min(reading.counts.cached ?? 0, input)
  state.inputCounted = { uncachedInput: input - cachedInput, cachedInput, cacheWrite: 0 }
}

/** The chunk in a frame; undefined, with what it means noted, where there is none. */
function parseChunk(state: StreamState, frame: Buffer): Fields | undefined {
  const chunk = parseFrameData(state, frame)
  // Who overlooks that events are asked for answers with one list of all chunks.
  if (chunk === undefined && OPENING.has(frame[0])) state.invalid = 'a list of chunks instead of a stream'
  if (chunk === undefined) return undefined
  if (!isError(chunk.error)) return withExactCalls(chunk, frame)
  state.error = readError(chunk.error)
  return undefined
}

const FUNCTION_CALL = Buffer.from('"functionCall"')

/** The numbers in a call's arguments keep their digits; of other numbers only the value counts. */
function withExactCalls(chunk: Fields, frame: Buffer): Fields {
  const marked = frame.includes(FUNCTION_CALL) ? markedData(frame) : undefined
  const candidate = firstOf(chunk.candidates)
  if (marked === undefined || candidate === undefined) return chunk
  const exact = partsOf(firstOf(marked.candidates) ?? {})
  const parts = partsOf(candidate).map((part, at) => withExactArgs(part, exact[at]?.functionCall))
  return { ...chunk, candidates: [{ ...candidate, content: { parts } }] }
}

function withExactArgs(part: Fields, exact: unknown): Fields {
  if (!isObject(part.functionCall) || !isObject(exact)) return part
  const { args, partialArgs } = exact
  return { ...part, functionCall: { ...part.functionCall, args, partialArgs } }
}

const OPENING: ReadonlySet<number | undefined> = new Set(Buffer.from('[{'))

/** The model wrote a call that its own server could not parse. */
const MALFORMED_CALL = 'MALFORMED_FUNCTION_CALL'

/** The model has failed, not finished: asked again, or asked of another, the same may go well. */
const FAILURES: ReadonlySet<unknown> = new Set([
  ...[MALFORMED_CALL, 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'],
  ...['MALFORMED_RESPONSE', 'MISSING_THOUGHT_SIGNATURE'],
])

/** A continuation is what a long answer breaks off for: nobody asks for the rest of it here. */
const LENGTHS: ReadonlySet<string> = new Set(['MAX_TOKENS', 'CONTINUATION'])

const FILTERED = /^(?:SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|IMAGE_.*)$/

/** Why an answer ends. A word that nobody knows ends it as well as any. */
function finishReasonOf(word: string, hasCalls: boolean): FinishReason {
  if (LENGTHS.has(word)) return 'length'
  if (FILTERED.test(word)) return 'content-filter'
  // STOP, also where the model waits for the results of its calls.
  return hasCalls ? 'tool-calls' : 'stop'
}

const failureInFinish = (word: unknown): UpstreamError | undefined =>
  FAILURES.has(word)
    ? { message: `it ended with "${word}"`, code: undefined, ...(word === MALFORMED_CALL ? { slipped: true } : {}) }
    : undefined

type Token = Omit<TokenLogprob, 'top'>

/** The tokens that were chosen, each with those that could have been; what is not one is not there. */
function readLogprobs(result: unknown): TokenLogprob[] {
  if (!isObject(result) || !Array.isArray(result.chosenCandidates)) return []
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : []
  return result.chosenCandidates.flatMap((chosen, at) => {
    const token = readToken(chosen)
    return token === undefined ? [] : [{ ...token, top: readTop(tops[at]) }]
  })
}

function readTop(top: unknown): Token[] {
  if (!isObject(top) || !Array.isArray(top.candidates)) return []
  return top.candidates.flatMap((candidate) => readToken(candidate) ?? [])
}

/** Its bytes are not told. */
function readToken(entry: unknown): Token | undefined {
  if (!isObject(entry) || typeof entry.token !== 'string' || typeof entry.logProbability !== 'number') return undefined
  return { token: entry.token, logprob: entry.logProbability, bytes: undefined }
}

/** A call as the model has made it. */
export interface ReadCall {
  readonly name: string
  /** JSON, or whatever stood where it should. Undefined: nobody can write it down again. */
  readonly args: string | undefined
  readonly signature: string | undefined
}

/** Reads the calls of one answer. They come whole; one that is told in pieces waits here until it is. */
export interface CallReader {
  read(part: Fields, functionCall: Fields): readonly ReadCall[] | 'nameless'
  /** What still waits, when nothing more comes. */
  rest(): readonly ReadCall[]
  waitingBytes(): number
}

interface Waiting {
  readonly name: string
  readonly args: Fields
  signature: string | undefined
  bytes: number
}

export function createCallReader(): CallReader {
  let waiting: Waiting | undefined
  const rest = (): readonly ReadCall[] => {
    if (waiting === undefined) return []
    const { name, args, signature } = waiting
    waiting = undefined
    return [{ name, args: textOf(args), signature }]
  }
  return {
    rest,
    waitingBytes: () => waiting?.bytes ?? 0,
    read(part, functionCall) {
      const { name, args, partialArgs } = functionCall
      const goesOn = functionCall.willContinue === true
      const signature = signatureOf(part)
      const ended: ReadCall[] = []
      if (typeof name === 'string' && name !== '' && name !== waiting?.name) {
        ended.push(...rest())
        if (!goesOn && !Array.isArray(partialArgs)) return [...ended, { name, args: textOf(args ?? {}), signature }]
        waiting = { name, args: noArgs(), signature, bytes: Buffer.byteLength(name) }
      }
      // Only the continuation of a call may lack a name.
      if (waiting === undefined) return 'nameless'
      waiting.signature ??= signature
      add(waiting, args, partialArgs)
      return goesOn ? ended : [...ended, ...rest()]
    },
  }
}

export const signatureOf = ({ thoughtSignature }: Fields): string | undefined =>
  typeof thoughtSignature === 'string' && thoughtSignature !== '' ? thoughtSignature : undefined

function add(waiting: Waiting, args: unknown, partialArgs: unknown): void {
  if (isObject(args)) {
    Object.assign(waiting.args, args)
    waiting.bytes += Buffer.byteLength(textOf(args) ?? '')
  }
  for (const arg of Array.isArray(partialArgs) ? partialArgs : []) {
    addPartialArg(waiting.args, arg)
    waiting.bytes += bytesOf(arg)
  }
}

/** A piece that is no text counts too: who sends numbers without end shall be cut off as well. */
const bytesOf = (arg: unknown): number =>
  isObject(arg) && typeof arg.stringValue === 'string' ? Buffer.byteLength(arg.stringValue) : 1

/** What is nested too deeply for being written cannot be handed on. */
function textOf(args: unknown): string | undefined {
  if (typeof args === 'string' && !isMarkedNumber(args)) return args
  try {
    return restoreNumbersIn(JSON.stringify(args))
  } catch {
    return undefined
  }
}

/**
 * Arguments that come in pieces, each with the path of what it belongs to (`$.city`, `$.days[0]['from']`): a text goes on
 * where it was, anything else stands whole. It is not asked for, and nothing that comes can make it grow beyond what was sent.
 */
export function addPartialArg(root: Fields, arg: unknown): void {
  if (!isObject(arg) || typeof arg.jsonPath !== 'string') return
  const value = pieceOf(arg)
  const steps = stepsOf(arg.jsonPath)
  if (value === undefined || steps === undefined) return
  let place: Container = root
  for (const [at, step] of steps.entries()) {
    if (!fits(place, step)) return
    const next = steps[at + 1]
    if (next === undefined) put(place, step, value)
    else {
      const inner: unknown = memberOf(place, step) ?? open(place, step, next)
      if (!isContainer(inner)) return
      place = inner
    }
  }
}

/** Without a prototype, so that every name is only a name. */
export const noArgs = (): Fields => Object.create(null) as Fields

type Step = string | number
type Container = Fields | unknown[]
type Piece = string | number | boolean | null

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null

function pieceOf({ stringValue, numberValue, boolValue, nullValue }: Fields): Piece | undefined {
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

/** A list goes on where it ends, and has no holes. */
const fits = (place: Container, step: Step): boolean =>
  Array.isArray(place) ? typeof step === 'number' && step <= place.length : typeof step === 'string'

/** What every object inherits is no member of it: what came whole is an ordinary object, and a path must not lead out of it. */
const memberOf = (place: Container, step: Step): unknown =>
  Object.hasOwn(place, step) ? (place as Fields)[step] : undefined

const define = (place: Container, step: Step, value: unknown): void => {
  Object.defineProperty(place, step, { value, enumerable: true, writable: true, configurable: true })
}

function open(place: Container, step: Step, next: Step): Container {
  const inner: Container = typeof next === 'number' ? [] : noArgs()
  define(place, step, inner)
  return inner
}

function put(place: Container, step: Step, value: Piece): void {
  const before = memberOf(place, step)
  const goesOn = typeof before === 'string' && typeof value === 'string'
  define(place, step, goesOn ? before + value : value)
}

/** The counts of an answer so far. They grow with it: of each the last one counts, and a chunk may leave some of them out. */
export interface GeminiCounts {
  readonly prompt: number | undefined
  readonly toolPrompt: number | undefined
  readonly cached: number | undefined
  readonly candidates: number | undefined
  readonly thoughts: number | undefined
  /** Only ever of the same chunk as the last count: a sum of older ones says nothing. */
  readonly total: number | undefined
}

export const NO_COUNTS: GeminiCounts = {
  prompt: undefined,
  toolPrompt: undefined,
  cached: undefined,
  candidates: undefined,
  thoughts: undefined,
  total: undefined,
}

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
 * The whole usage; undefined where the input, or the output of an answer that has said something, was not counted. The total
 * is the provider's own sum, and what it has beyond the input is the output: it covers a class that was left out, and one
 * that was counted in another too. Where no class was left out, what the total has more is explained by nothing, and makes
 * the counts doubtful. A total that does not even cover the input is none.
 */
export function usageOf(counts: GeminiCounts, hasSpoken: boolean): Usage | undefined {
  const { candidates, thoughts, total, cached = 0 } = counts
  const classes = (candidates ?? 0) + (thoughts ?? 0)
  const input = inputOf(counts)
  if (input === undefined) return undefined
  const beyondInput = total === undefined || total < input ? undefined : total - input
  const isCounted = candidates !== undefined || thoughts !== undefined || (beyondInput ?? 0) > 0
  if (hasSpoken && !isCounted) return undefined
  const isUnexplained = candidates !== undefined && thoughts !== undefined && (beyondInput ?? 0) > classes
  const told = { input, cached, cacheWrite: 0, reasoning: thoughts ?? 0 }
  return isUnexplained
    ? usageOfCounts({ ...told, output: classes, doubtful: true })
    : usageOfCounts({ ...told, output: beyondInput ?? classes })
}

/** What tools that the provider runs have read is input like the rest. Zero is left out of JSON, so one of both is enough. */
export function inputOf({ prompt, toolPrompt, candidates, thoughts, total }: GeminiCounts): number | undefined {
  if (prompt !== undefined || toolPrompt !== undefined) return (prompt ?? 0) + (toolPrompt ?? 0)
  if (total === undefined || candidates === undefined) return undefined
  const rest = total - candidates - (thoughts ?? 0)
  return rest < 0 ? undefined : rest
}
