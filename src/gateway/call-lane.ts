import { isUtf8 } from 'node:buffer'
import type { RequestBody, TurnRequest } from '../model/turn.ts'
import type { LaneDialect } from '../protocols/codecs.ts'
import { isNullMember, skipComments, tryParse } from '../protocols/json/bytes.ts'
import { pauseAfter, scanJson } from '../protocols/json/scan-json.ts'
import {
  classifyRefusal,
  type ProviderError,
  type RefusalClass,
  readProviderError,
} from '../protocols/refusals/provider-error.ts'
import {
  isUntouched,
  readBeginning,
  readRetryAfter,
  type UpstreamBody,
  UpstreamTimedOut,
} from '../providers/upstream-answer.ts'
import {
  type AttemptResult,
  type LaneAttempt,
  laneCap,
  NOTHING_PRODUCED,
  type Produced,
  type RunFate,
} from './attempt.ts'
import { drainPolicyOf, type StopReason } from './cancellation.ts'
import { type ReturnRoute, routeTo } from './route-strategy.ts'
import { relayStream } from './stream.ts'
import type { Turn, TurnServices } from './turn.ts'
import {
  failed,
  faultOfFailure,
  invalidAnswer,
  overloaded,
  refused,
  refusedInside,
  timedOut,
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
  /** The same request is sent once more, after malformed output. */
  readonly repeated: boolean
}

export interface CalledLane {
  readonly result: AttemptResult
  readonly strategy: ReturnRoute
  /** Set for a response with an error status. */
  readonly refusal?: { readonly error: ProviderError; readonly kind: RefusalClass }
}

interface CallTerms {
  readonly dialect: LaneDialect
  readonly options: AttemptOptions
}

/** Calls one lane once, and relays its answer to the client. */
export async function callLane(
  services: TurnServices,
  turn: Turn,
  attempt: LaneAttempt,
  terms: CallTerms,
): Promise<CalledLane> {
  const { cancellation, entry, effort, request } = turn
  const policy = drainPolicyOf(attempt.lane)
  // A model without efforts does not reason, and neither does one that was asked for `none`.
  if (entry.model.efforts?.length === 0 || String(effort) === 'none') attempt.hiding = 'no'
  else attempt.hiding = terms.dialect.hidesReasoning ? 'known' : 'unknown'
  // A stream without a head owes nothing, so it is cut; a JSON answer gets its head only when it is complete.
  cancellation.follow(request.delivery === 'json' ? policy : 'cut')
  const { strategy, answered } = await sendRequest(services, turn, attempt, terms)
  const outcome = await answered
  if (outcome.kind === 'failed') {
    if (cancellation.abortReason === 'client-gone' && strategy.delivery === 'stream') attempt.onDisconnectBeforeHead()
    const isCertainlyFree = isUntouched(outcome)
    if (cancellation.abortReason) {
      // A JSON answer has no head before it is complete: only its time shows that the provider worked on it.
      const used =
        !isCertainlyFree && strategy.delivery === 'json'
          ? { ...NOTHING_PRODUCED, wholeMs: attempt.msSinceCall() }
          : NOTHING_PRODUCED
      return { result: stopped(cancellation.abortReason, undefined, used), strategy }
    }
    const fate = { ...failed(faultOfFailure(outcome)), mayBeBilled: !isCertainlyFree }
    return { result: { fate, status: undefined, outcome: outcome.expired ?? outcome.reason }, strategy }
  }
  const { status, body } = outcome
  attempt.onHead()
  if (status < 400) {
    cancellation.follow(policy)
    const fate =
      strategy.delivery === 'json' && strategy.relayReply
        ? await relayJson(services, turn, attempt, { body, relayReply: strategy.relayReply })
        : await relayStream(services, turn, attempt, { body, adapter: strategy.adapter() })
    return { result: { fate, status, outcome: fate.kind }, strategy }
  }
  const error = readProviderError(status, await readBeginning(body))
  if (cancellation.abortReason) return { result: stopped(cancellation.abortReason, status), strategy }
  const kind = classifyRefusal(error)
  const fate = refused(error, request, readRetryAfter(outcome.headers, services.now()))
  return { result: { fate, status, outcome: kind }, strategy, refusal: { error, kind } }
}

/** A function of its own, so that the request body does not stay in memory while the answer streams. */
async function sendRequest(
  { mint, send }: TurnServices,
  turn: Turn,
  { lane }: LaneAttempt,
  { dialect, options }: CallTerms,
) {
  const { request, encoder, callSeals, cacheSalt, entry, effort, admitRequest, cancellation } = turn
  const { model } = entry
  const outputCap = capWithin(model.contextTokens, {
    cap: laneCap(turn, lane),
    input: admitRequest.inputEstimate,
    request,
  })
  await pauseAfter(request.body.bytes)
  const route = { lane, dialect, request, encoder, mint, callSeals, cacheSalt, model, effort, outputCap, options }
  const { sent, strategy } = await routeTo(route)
  turn.sink.announce(ignoredFieldsHeader(sent.leftOut, request.body))
  const { delivery } = strategy
  const call = { upstream: lane.upstream, model: lane.model, body: sent.body, delivery, signal: cancellation.signal }
  return { strategy, answered: send(call) }
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

export const stopped = (
  reason: StopReason,
  status: number | undefined,
  used: Produced = NOTHING_PRODUCED,
): AttemptResult => ({ fate: { kind: 'stopped', reason, accepted: false, used }, status, outcome: reason })

interface JsonAnswer {
  readonly body: UpstreamBody
  readonly relayReply: NonNullable<ReturnRoute['relayReply']>
}

const NOTHING = Buffer.alloc(0)

/** Reads and checks a JSON answer, and encodes it in the client's protocol. */
async function relayJson(
  { bounds }: TurnServices,
  { request, cancellation }: Turn,
  attempt: LaneAttempt,
  { body, relayReply }: JsonAnswer,
): Promise<RunFate> {
  const whole = await readWhole(body, bounds.bodyBytesMax)
  if (whole instanceof Error) {
    const { stoppedFor } = cancellation
    // Nothing of a JSON answer can be counted before it is complete.
    const used = { ...NOTHING_PRODUCED, wholeMs: attempt.msSinceCall() }
    if (stoppedFor) return { kind: 'stopped', reason: stoppedFor, accepted: true, used }
    if (whole instanceof UpstreamTimedOut) return failed(timedOut(whole.phase))
    return unusable('Connection error: the connection to the provider ended before its answer was complete.')
  }
  const bytes = skipComments(whole)
  const scanned = scanJson(bytes, bounds)
  const value = scanned.kind === 'scanned' ? tryParse(bytes.toString('utf8')) : undefined
  if (scanned.kind !== 'scanned' || value === undefined)
    return unusable('Server error: the provider answered with something that is not JSON.')
  const reply = relayReply({ body: { bytes, members: scanned.members }, value })
  switch (reply.kind) {
    case 'reply':
      return {
        kind: 'finished',
        answer: { unsent: NOTHING, close: reply.close },
        used: { usage: reply.usage, outputBytes: reply.outputBytes, wholeMs: attempt.msSinceCall() },
        disconnectedEarly: cancellation.disconnectedEarly,
      }
    case 'error':
      // Some servers send errors with status 200.
      return refusedInside(reply.error, request)
    case 'invalid':
      return unusable(invalidAnswer(reply.what))
  }
}

const unusable = (message: string): RunFate => failed(overloaded(message))

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

/**
 * Names the fields that the lane does not get. A null field counts as absent. The header of an earlier lane of the turn is
 * replaced.
 */
export function ignoredFieldsHeader(fields: readonly string[], body: RequestBody): Record<string, string | undefined> {
  if (fields.length === 0) return NO_IGNORED_FIELDS
  const nulls = new Set(body.members.filter((member) => isNullMember(body, member)).map(({ name }) => name))
  const missed = fields.filter((name) => !nulls.has(name))
  if (missed.length === 0) return NO_IGNORED_FIELDS
  const named = [...missed.filter((name) => !ITEM.test(name)), ...missed.filter((name) => ITEM.test(name))]
  return { 'x-millrace-ignored-fields': plainNames(named) }
}

const NO_IGNORED_FIELDS = { 'x-millrace-ignored-fields': undefined }

export const ignoredToolsHeader = (tools: readonly string[]): Record<string, string> => ({
  'x-millrace-ignored-tools': plainNames(tools),
})
