import { isUtf8 } from 'node:buffer'
import { msBetween } from '../lib/clock.ts'
import { isObject } from '../lib/types.ts'
import type { RequestBody, TurnRequest } from '../model/turn.ts'
import { skipComments, tryParse } from '../protocols/json/bytes.ts'
import { PIECE_BYTES, passTurnstile, scanJson } from '../protocols/json/scan-json.ts'
import {
  classifyRefusal,
  type ProviderError,
  type RefusalClass,
  readProviderError,
} from '../protocols/refusals/provider-error.ts'
import { servedValues } from '../protocols/shared/stream-state.ts'
import type { LaneDialect } from '../protocols/wires.ts'
import {
  isUntouched,
  readBeginning,
  readRetryAfter,
  type UpstreamBody,
  UpstreamTimedOut,
} from '../providers/upstream-answer.ts'
import type { LaneVerdict } from '../routing/circuit-breaker.ts'
import {
  type AttemptOutcome,
  type AttemptResult,
  type LaneAttempt,
  NOTHING_PRODUCED,
  type Produced,
} from './attempt.ts'
import type { AbortReason } from './cancellation.ts'
import { comparePrefix } from './guard-prefix.ts'
import { type AnswerConversion, prepareCall } from './prepare-call.ts'
import { relayStream } from './stream.ts'
import type { Turn, TurnServices } from './turn.ts'
import {
  failedByAnswer,
  failedLane,
  faultOfFailure,
  overloadedFault,
  refusedByProvider,
  refusedInAnswer,
  timeoutFault,
} from './upstream-errors.ts'

/** How one call differs from a plain one, after the lane has refused something. */
export interface AttemptOptions {
  /** How often a refused field was left out. */
  readonly rulesApplied: number
  /** Fields that are left out of this turn only. */
  readonly withoutFields: readonly string[]
  /** Sealed reasoning is neither given back nor asked for. */
  readonly withoutSeals: boolean
  /** The lane writes a summary instead of using its own compaction. */
  readonly withoutNativeCompaction: boolean
}

export interface CalledLane {
  readonly result: AttemptResult
  readonly status: number | undefined
  readonly outcome: AttemptOutcome
  readonly conversion: AnswerConversion
  /** Set for a response with an error status. */
  readonly refusal?: { readonly error: ProviderError; readonly kind: RefusalClass }
}

interface CallTerms {
  readonly dialect: LaneDialect
  readonly options: AttemptOptions
}

const RESPONDED: LaneVerdict = { kind: 'responded' }
/** Provider heads arrive within a second or two: a client that waits this long and leaves has seen an unresponsive lane. */
const UNRESPONSIVE_MICROS = 10_000_000

/** Calls one lane once, and relays its answer to the client. */
export async function callLane(
  services: TurnServices,
  turn: Turn,
  attempt: LaneAttempt,
  terms: CallTerms,
): Promise<CalledLane> {
  const { cancellation, entry, effort, request } = turn
  const { permit } = attempt
  const { disconnectPolicy } = attempt.lane.upstream
  // A model without efforts does not reason, and neither does one that was asked for `none`.
  if (entry.model.efforts?.length === 0 || effort === 'none') attempt.hiddenReasoning = 'no'
  else attempt.hiddenReasoning = terms.dialect.hidesReasoning ? 'known' : 'unknown'
  // A stream without a head owes nothing, so it is cancelled; a JSON answer gets its head only when it is complete.
  cancellation.disconnectPolicy = request.delivery === 'json' ? disconnectPolicy : 'cancel'
  // An earlier lane has not completed the answer.
  cancellation.answerIsComplete = false
  const { conversion, answered } = await sendRequest(services, turn, attempt, terms)
  const called = await answered
  const { abortReason } = cancellation
  if (called.kind === 'failed') {
    const isJson = conversion.delivery === 'json'
    if (abortReason === 'client-gone' && !isJson && services.nowMicros() - attempt.calledAt >= UNRESPONSIVE_MICROS)
      permit.report({ kind: 'unresponsive' })
    const mayBeBilled = !isUntouched(called)
    if (abortReason) {
      // A JSON answer has no head before it is complete: only its time shows that the provider worked on it.
      const used: Produced =
        mayBeBilled && isJson
          ? { ...NOTHING_PRODUCED, jsonAnswerMs: msBetween(attempt.calledAt, services.nowMicros()) }
          : NOTHING_PRODUCED
      return { result: stopped(abortReason, used), status: undefined, outcome: abortReason, conversion }
    }
    const result = { ...failedLane(faultOfFailure(called)), mayBeBilled }
    return { result, status: undefined, outcome: called.expired ?? called.reason, conversion }
  }
  const { status, body } = called
  permit.report(RESPONDED)
  if (status < 400) {
    cancellation.disconnectPolicy = disconnectPolicy
    attempt.tierInHead = called.headers['x-gemini-service-tier']
    // Some servers stream although they were asked for JSON.
    const isStream = conversion.delivery === 'stream' || called.headers['content-type']?.startsWith('text/event-stream')
    const result =
      conversion.relayReply && !isStream
        ? await relayJson(services, turn, attempt, { body, relayReply: conversion.relayReply })
        : await relayStream(services, turn, attempt, { body, adapter: conversion.adapter(), wire: terms.dialect.wire })
    // The connection of a complete answer is kept for the next call; any other is closed, so that the provider stops working.
    if (result.kind === 'finished') body.release()
    else body.cancel()
    const outcome = result.kind === 'failed' && result.brokenArguments ? 'broken-arguments' : result.kind
    return { result, status, outcome, conversion }
  }
  const error = readProviderError(status, await readBeginning(body))
  const stoppedFor = cancellation.abortReason
  if (stoppedFor) return { result: stopped(stoppedFor), status, outcome: stoppedFor, conversion }
  const kind = classifyRefusal(error)
  const result = refusedByProvider(error, request, readRetryAfter(called.headers, services.now()))
  return { result, status, outcome: kind, conversion, refusal: { error, kind } }
}

/** A function of its own, so that the request body does not stay in memory while the answer streams. */
async function sendRequest(
  { mint, send, cacheSaltOf, callSeals, prefixGuard }: TurnServices,
  turn: Turn,
  { lane, outputCap: cap, attempts, trace }: LaneAttempt,
  { dialect, options }: CallTerms,
) {
  const { request, caller, encoder, entry, effort, admitRequest, cancellation } = turn
  const { model } = entry
  const outputCap = capWithin(model.contextTokens, { cap, input: admitRequest.inputEstimate, request })
  const cacheSalt = dialect.cacheSaltField === undefined ? undefined : cacheSaltOf(caller.accountId)
  if (request.body.bytes.length > PIECE_BYTES) await passTurnstile()
  const { account } = caller
  const preparing = prepareCall({
    lane,
    dialect,
    request,
    encoder,
    mint,
    callSeals,
    account,
    cacheSalt,
    model,
    effort,
    outputCap,
    options,
  })
  const { laneRequest, conversion } = preparing instanceof Promise ? await preparing : preparing
  // The header of an earlier call is replaced.
  if (laneRequest.leftOut.length > 0 || attempts.length > 0)
    turn.sink.announce(ignoredFieldsHeader(laneRequest.leftOut, request.body))
  if (turn.guarded !== undefined) {
    if (request.body.bytes.length > PIECE_BYTES) await passTurnstile()
    comparePrefix(prefixGuard, turn, { lane, dialect, options, body: laneRequest.body, guarded: turn.guarded })
  }
  const { delivery } = conversion
  const answered = send({
    upstream: lane.upstream,
    model: lane.model,
    body: laneRequest.body,
    delivery,
    signal: cancellation,
    traceHeaders: trace?.headers,
  })
  return { conversion, answered }
}

interface CapTerms {
  /** What the lane may write within the hold. */
  readonly cap: number
  /** The estimated input. */
  readonly input: number
  readonly request: TurnRequest
}

/**
 * Servers refuse a request whose input and cap together exceed their context, so a large cap is lowered to the room that the
 * estimated input leaves. If that is next to none, the estimate is too coarse: the cap stays, and the provider decides. The cap
 * of a summary, which is asked for when the context is nearly full, is always lowered.
 */
export function capWithin(contextTokens: number, { cap, input, request }: CapTerms): number {
  const room = contextTokens - input
  if (request.compacts !== undefined) return Math.min(cap, Math.max(room, SUMMARY_TOKENS))
  return room < Math.min(ANSWER_TOKENS, contextTokens / 16) ? cap : Math.min(cap, room)
}

/** The estimate may be wrong by this much, or by a sixteenth of a small context. */
const ANSWER_TOKENS = 1024
/** A refusal by the provider is better than a summary of three words. */
const SUMMARY_TOKENS = 2048

export const stopped = (reason: AbortReason, used: Produced = NOTHING_PRODUCED): AttemptResult => ({
  kind: 'stopped',
  reason,
  accepted: false,
  used,
})

interface JsonAnswer {
  readonly body: UpstreamBody
  readonly relayReply: NonNullable<AnswerConversion['relayReply']>
}

/** Larger than those of a request: the probabilities that a client may ask for are over a hundred values for each token. */
const ANSWER_BOUNDS = { valuesMax: 2_000_000, namesMax: 1_000_000 }

const NOTHING = Buffer.alloc(0)

/** Reads and checks a JSON answer, and encodes it in the client's protocol. */
async function relayJson(
  { bounds, nowMicros }: TurnServices,
  { request, cancellation, price }: Turn,
  attempt: LaneAttempt,
  { body, relayReply }: JsonAnswer,
): Promise<AttemptResult> {
  const whole = await readWhole(body, bounds.bodyBytesMax)
  const jsonAnswerMs = msBetween(attempt.calledAt, nowMicros())
  if (whole instanceof Error) {
    const { stoppedFor } = cancellation
    // Nothing of a JSON answer can be counted before it is complete.
    const used: Produced = { ...NOTHING_PRODUCED, jsonAnswerMs }
    if (stoppedFor) return { kind: 'stopped', reason: stoppedFor, accepted: true, used }
    if (whole instanceof UpstreamTimedOut) return failedLane(timeoutFault(whole.phase))
    return unusable('Connection error: the connection to the provider ended before its answer was complete.')
  }
  const bytes = skipComments(whole)
  const scanned = scanJson(bytes, { ...bounds, ...ANSWER_BOUNDS })
  const value = scanned.kind === 'scanned' ? tryParse(bytes.toString('utf8')) : undefined
  if (scanned.kind !== 'scanned' || value === undefined)
    return unusable('Server error: the provider answered with something that is not JSON.')
  const reply = relayReply({ body: { bytes, members: scanned.members }, value })
  switch (reply.kind) {
    case 'reply':
      return {
        kind: 'finished',
        answer: { unsent: NOTHING, close: reply.close },
        used: {
          ...{ usage: reply.usage, outputBytes: reply.outputBytes, jsonAnswerMs },
          served:
            price.multipliers || attempt.lane.cost?.multipliers ? servedValues(reply.served, undefined) : undefined,
          finishReasons: attempt.trace && readFinishReasons(value),
        },
        disconnectedEarly: cancellation.disconnectedEarly,
      }
    case 'error':
      // Some servers send errors with status 200.
      return refusedInAnswer(reply.error, request)
    case 'invalid':
      return failedByAnswer(reply.what)
  }
}

/** Of a JSON answer: one for each choice of Chat, the status of Responses. */
function readFinishReasons(answer: unknown): string[] {
  if (!isObject(answer)) return []
  const { choices, status } = answer
  const reasons = Array.isArray(choices) ? choices.map((choice) => isObject(choice) && choice.finish_reason) : [status]
  return reasons.filter((reason) => typeof reason === 'string')
}

const unusable = (message: string): AttemptResult => failedLane(overloadedFault(message))

/** Returns an expected failure as a value. */
async function readWhole(body: UpstreamBody, bytesMax: number): Promise<Buffer | Error> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for (let chunks = await body.read(); chunks.length > 0; chunks = await body.read()) {
      for (const chunk of chunks) size += chunk.length
      if (size > bytesMax) {
        body.cancel()
        return new RangeError(`over ${bytesMax} bytes`)
      }
      parts.push(...chunks)
    }
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
  const whole = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  // Strict clients throw at a byte that is not UTF-8: they get what lenient clients would read.
  return isUtf8(whole) ? whole : Buffer.from(whole.toString('utf8'))
}

const NAMED_MAX = 32
const NAME_LENGTH_MAX = 64
/** Items of an input, of which there may be more than fit into a header. */
const ITEM = /^input\.\d+\./

/** The client chose these names: only plain characters may stand in a header. */
const plainNames = (names: readonly string[]): string =>
  names
    .slice(0, NAMED_MAX)
    .map((name) => name.replace(/[^\w.-]/g, '?').slice(0, NAME_LENGTH_MAX))
    .join(', ')

/** Names the fields that the lane does not get. A null field counts as absent. */
export function ignoredFieldsHeader(fields: readonly string[], body: RequestBody): Record<string, string | undefined> {
  if (fields.length === 0) return NO_IGNORED_FIELDS
  const nulls = new Set<string>()
  // The body is JSON: no other value begins like null.
  for (const { name, valueStart } of body.members) if (body.bytes[valueStart] === LETTER_N) nulls.add(name)
  const missed = fields.filter((name) => !nulls.has(name))
  if (missed.length === 0) return NO_IGNORED_FIELDS
  const named = [...missed.filter((name) => !ITEM.test(name)), ...missed.filter((name) => ITEM.test(name))]
  return { 'x-millrace-ignored-fields': plainNames(named) }
}

const LETTER_N = 0x6e
const NO_IGNORED_FIELDS = { 'x-millrace-ignored-fields': undefined }

export const ignoredToolsHeader = (tools: readonly string[]): Record<string, string> => ({
  'x-millrace-ignored-tools': plainNames(tools),
})
