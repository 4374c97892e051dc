import { type Fields, isObject } from '../../lib/is-object.ts'
import type { TokenLogprob, TurnEvent } from '../../model/event.ts'
import { CALLS_MAX, type EventReader, type ReaderOptions } from '../event-reader.ts'
import { firstOf } from '../first-of.ts'
import { type Heard, hearUsage, nothingHeard } from '../heard.ts'
import { isError, readError } from '../refusals/provider-error.ts'
import { hearData, markedData } from '../sse/frame-data.ts'
import { NAMELESS_CALL, WORDS_BEHIND_END } from '../tools/call-faults.ts'
import type { GeminiDialect } from './dialects.ts'
import { failureInFinish, finishReasonOf } from './finish-reason.ts'
import { type CallReader, createCallReader, type ReadCall, signatureOf } from './read-call.ts'
import { readLogprobs } from './read-logprobs.ts'
import { type GeminiCounts, inputOf, NO_COUNTS, readCounts, usageOf } from './read-usage.ts'
import { type SignedPart, writeSignature } from './thought-signatures.ts'

/** Reads the stream of a lane that speaks generateContent as events. Only its first candidate counts. */
export function createEventReader(options: ReaderOptions<GeminiDialect>): EventReader {
  const heard = nothingHeard()
  const reading: Reading = {
    options,
    heard,
    calls: createCallReader(),
    callCount: 0,
    isThinking: false,
    wordsHandedOn: 0,
    logprobs: [],
    counts: NO_COUNTS,
  }
  return {
    heard,
    read(frame) {
      if (heard.done || heard.invalid !== undefined || heard.error) return []
      const chunk = hearChunk(heard, frame)
      if (chunk === undefined) return []
      const events: TurnEvent[] = []
      const bytesBefore = heard.outputBytes
      if (!heard.finished) readAnswer(reading, chunk, events)
      else if (saysMore(chunk)) heard.invalid = WORDS_BEHIND_END
      if (heard.outputBytes > bytesBefore) heard.wordFrames += 1
      heard.calls = reading.callCount
      hearCounts(reading, chunk)
      return events
    },
    // No two chunks differ in their words alone: each has the counts so far.
    readAlike: () => undefined,
  }
}

interface Reading {
  readonly options: ReaderOptions<GeminiDialect>
  readonly heard: Heard
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
  const { heard } = reading
  const candidate = firstOf(chunk.candidates)
  if (candidate === undefined) {
    if (isBlocked(chunk)) finish(reading, 'SAFETY', events)
    return
  }
  heard.error = failureInFinish(candidate.finishReason)
  if (heard.error) return
  for (const logprob of readLogprobs(candidate.logprobsResult)) {
    if (reading.logprobs.length < LOGPROBS_WAITING_MAX) reading.logprobs.push(logprob)
  }
  for (const part of partsOf(candidate)) readPart(reading, part, events)
  if (heard.invalid === undefined && typeof candidate.finishReason === 'string')
    finish(reading, candidate.finishReason, events)
  heard.heldBytes = reading.calls.waitingBytes()
  // What was told in pieces and then told otherwise was produced all the same.
  heard.outputBytes = Math.max(heard.outputBytes, reading.wordsHandedOn + heard.heldBytes)
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
    if (calls === 'nameless') reading.heard.invalid = NAMELESS_CALL
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
    reading.heard.invalid = args === undefined ? 'arguments that cannot be written as JSON' : 'too many calls'
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
  reading.heard.finished = true
  events.push({ type: 'turn-end', reason: finishReasonOf(word, reading.callCount > 0) })
}

function hearCounts(reading: Reading, { usageMetadata }: Fields): void {
  const { heard } = reading
  const told = readCounts(reading.counts, usageMetadata)
  hearUsage(heard, told === reading.counts ? undefined : usageOf(told, heard.outputBytes > 0))
  reading.counts = told
  const input = inputOf(reading.counts)
  if (input === undefined) return
  const cachedInput = Math.min(reading.counts.cached ?? 0, input)
  heard.inputCounted = { uncachedInput: input - cachedInput, cachedInput, cacheWrite: 0 }
}

/** The chunk in a frame; undefined, with what it means noted, where there is none. */
function hearChunk(heard: Heard, frame: Buffer): Fields | undefined {
  const chunk = hearData(heard, frame)
  // Who overlooks that events are asked for answers with one list of all chunks.
  if (chunk === undefined && OPENING.has(frame[0])) heard.invalid = 'a list of chunks instead of a stream'
  if (chunk === undefined) return undefined
  if (!isError(chunk.error)) return withExactCalls(chunk, frame)
  heard.error = readError(chunk.error)
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
