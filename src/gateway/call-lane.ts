import { isUtf8 } from 'node:buffer'
import type { RequestBody, TurnRequest } from '../model/turn.ts'
import type { Hiding } from '../pricing/lane-rates.ts'
import type { LaneDialect } from '../protocols/codecs.ts'
import { pauseAfter, scanJson } from '../protocols/json/scan-json.ts'
import { isNullMember, skipComments, tryParse } from '../protocols/json/bytes.ts'
import { type ProviderError, type RefusalClass, classifyRefusal, readProviderError } from '../protocols/refusals/provider-error.ts'
import type { EncodedReply, ReceivedReply } from '../protocols/shared/codec-types.ts'
import { type UpstreamAnswer, type UpstreamBody, UpstreamTimedOut, isUntouched, readBeginning, readRetryAfter } from '../providers/upstream-answer.ts'
import { type AttemptResult, type LaneAttempt, type LaneServices, NOTHING_PRODUCED, type Produced, type RunFate, laneCap } from './attempt.ts'
import { type Cancellation, type StopReason, drainPolicyOf } from './cancellation.ts'
import { type ReturnRoute, routeTo } from './route-strategy.ts'
import { relayStream } from './stream.ts'
import type { RunningTurn } from './turn.ts'
import { type RequestFields, failed, faultOfFailure, invalidAnswer, overloaded, refused, refusedInside, timedOut } from './upstream-errors.ts'

/** How a lane is asked: as its dialect says, without what it has turned out not to take. */
export interface AttemptOptions {
  /** How many fields it has refused, and was asked again without. */
  readonly rulesApplied: number
  /** What it does not take as this turn has it. */
  readonly withoutFields: readonly string[]
  /** It does not take back what was sealed. */
  readonly withoutSeals: boolean
  /** It was asked to make the conversation short in its own way, and has not. */
  readonly withoutNativeCompaction: boolean
  /** The same request is sent once more, after the model slipped. */
  readonly onceMore: boolean
}

export interface CalledLane {
  readonly tried: AttemptResult
  readonly strategy: ReturnRoute
  /** The provider's no, where it has said one by its status. */
  readonly refusal?: { readonly error: ProviderError; readonly kind: RefusalClass }
}

interface Asking {
  readonly dialect: LaneDialect
  readonly options: AttemptOptions
}

/** Asks one lane once, and carries what comes to the client. */
export async function callLane(
  deps: LaneServices,
  turn: RunningTurn,
  on: LaneAttempt,
  asking: Asking,
): Promise<CalledLane> {
  const { cancellation } = turn
  const { lane } = on
  const policy = drainPolicyOf(lane)
  on.hiding = hidingOf(asking.dialect, turn)
  // A stream without a head is nothing that anybody owes for; a JSON answer gets its head when it has been made.
  cancellation.follow(turn.request.delivery === 'json' ? policy : 'cut')
  const { strategy, answered } = await setOut(deps, turn, on, asking)
  const outcome = await answered
  if (outcome.kind === 'failed') {
    // A JSON answer gets its head when it has been made: silence says nothing there.
    if (cancellation.abortReason === 'client-gone' && strategy.delivery === 'stream') on.leftWithoutHead()
    // A provider that was never reached has made nothing, however long that took.
    const used = isUntouched(outcome) ? NOTHING_PRODUCED : workOn(on, strategy)
    if (cancellation.abortReason) return { tried: stopped(cancellation.abortReason, undefined, used), strategy }
    const fate = { ...failed(faultOfFailure(outcome)), mayBeBilled: !isUntouched(outcome) }
    return { tried: { fate, status: undefined, outcome: outcome.expired ?? outcome.reason }, strategy }
  }
  on.headCame()
  if (outcome.status < 400) {
    cancellation.follow(policy)
    const fate = await carryBack(deps, turn, on, { strategy, body: outcome.body })
    return { tried: { fate, status: outcome.status, outcome: fate.kind }, strategy }
  }
  const error = readProviderError(outcome.status, await readBeginning(outcome.body))
  if (cancellation.abortReason) return { tried: stopped(cancellation.abortReason, outcome.status), strategy }
  const kind = classifyRefusal(error)
  const fate = refused(error, turn.request, readRetryAfter(outcome.headers, deps.now()))
  return { tried: { fate, status: outcome.status, outcome: kind }, strategy, refusal: { error, kind } }
}

/** What was written for the lane is let go of here: it need not stay in memory for as long as its answer streams. */
async function setOut(
  { mint, send }: LaneServices,
  turn: RunningTurn,
  { lane }: LaneAttempt,
  { dialect, options }: Asking,
) {
  const { request, encoder, callSeals, cacheSalt, entry, effort, admitRequest, cancellation } = turn
  const { model } = entry
  const cap = laneCap(turn, lane)
  const outputCap = capWithin(model.contextTokens, { cap, input: admitRequest.inputEstimate, request })
  const attemptInput = { request, encoder, mint, callSeals, cacheSalt, model, effort, outputCap }
  await pauseAfter(request.body.bytes)
  const { sent, ...strategy } = await routeTo(lane, dialect, { ...attemptInput, ...options })
  turn.sink.announce(ignoredFieldsHeader(sent.leftOut, request.body))
  const { delivery } = strategy
  const call = { upstream: lane.upstream, model: lane.model, body: sent.body, delivery, signal: cancellation.signal }
  return { strategy, answered: send(call) }
}

/** What the cap is fitted to. */
interface Fitted {
  /** What the lane may write, which the hold covers. */
  readonly cap: number
  /** An estimate: the input may be shorter, or longer. */
  readonly input: number
  readonly request: TurnRequest
}

/**
 * Servers refuse a request whose input and cap together exceed their context, so a large cap is lowered to the room that the
 * estimated input leaves. Where it leaves next to none, the estimate says nothing about the answer: the cap goes as the hold
 * covers it, and the provider decides. Only a summary, which is asked for when the context is nearly full, is always fitted in.
 */
export function capWithin(contextTokens: number, { cap, input, request }: Fitted): number {
  const room = contextTokens - input
  if (request.compacts !== undefined) return Math.min(cap, Math.max(room, SUMMARY_TOKENS))
  return room < Math.min(ANSWER_TOKENS, contextTokens / 16) ? cap : Math.min(cap, room)
}

/** Less room than this, or than a sixteenth of a small context, is less than the estimate may be wrong by. */
const ANSWER_TOKENS = 1024
/** Better that a provider refuses than that it writes three words. */
const SUMMARY_TOKENS = 2048

interface AnsweringLane {
  readonly strategy: ReturnRoute
  readonly body: UpstreamAnswer['body']
}

function carryBack(
  { bounds }: LaneServices,
  turn: RunningTurn,
  on: LaneAttempt,
  answering: AnsweringLane,
): Promise<RunFate> {
  const { strategy, body } = answering
  if (strategy.delivery === 'json' && strategy.carryReply) {
    return carryJson({ body, on, request: turn.request, stop: turn.cancellation, carry: strategy.carryReply, bounds })
  }
  return relayStream({ turn, on, body, adapter: strategy.adapter(), frameBytesMax: bounds.frameBytesMax })
}

/** A JSON answer has no head before it is made: only its time tells that it was worked on. */
const workOn = (on: LaneAttempt, { delivery }: ReturnRoute): Produced =>
  delivery === 'json' ? { ...NOTHING_PRODUCED, wholeMs: on.askedMs() } : NOTHING_PRODUCED

/** A model without efforts does not reason, and one that was asked for `none` does not either. */
function hidingOf({ hidesReasoning }: LaneDialect, { entry, effort }: RunningTurn): Hiding {
  if (entry.model.efforts?.length === 0 || String(effort) === 'none') return 'no'
  return hidesReasoning ? 'known' : 'unknown'
}

export function stopped(reason: StopReason, status: number | undefined, used = NOTHING_PRODUCED): AttemptResult {
  const fate: RunFate = { kind: 'stopped', reason, accepted: false, used }
  return { fate, status, outcome: reason }
}

interface RelayedJson {
  readonly body: UpstreamBody
  readonly stop: Cancellation
  readonly on: Pick<LaneAttempt, 'askedMs'>
  readonly request: RequestFields
  /** Reads the body as the lane's protocol, and says it in the client's. */
  carry(reply: ReceivedReply): EncodedReply
  readonly bounds: { readonly bodyBytesMax: number; readonly depthMax: number; readonly valuesMax: number }
}

const NOTHING = Buffer.alloc(0)

/** A whole answer at once: it is read, checked, and handed on as the client's protocol has it. */
async function carryJson(json: RelayedJson): Promise<RunFate> {
  const whole = await readWhole(json)
  if (whole instanceof Error) {
    const { stoppedFor } = json.stop
    // While it is read on for a client that has gone, it may fail by itself.
    if (stoppedFor) return { kind: 'stopped', reason: stoppedFor, accepted: true, used: madeFor(json) }
    if (whole instanceof UpstreamTimedOut) return failed(timedOut(whole.phase))
    return unusable('Connection error: the connection to the provider ended before its answer was complete.')
  }
  const bytes = skipComments(whole)
  const scanned = scanJson(bytes, json.bounds)
  const value = scanned.kind === 'scanned' ? tryParse(bytes.toString('utf8')) : undefined
  if (scanned.kind !== 'scanned' || value === undefined)
    return unusable('Server error: the provider answered with something that is not JSON.')
  const reply = json.carry({ body: { bytes, members: scanned.members }, value })
  switch (reply.kind) {
    case 'reply':
      return {
        kind: 'finished',
        answer: { unsent: NOTHING, close: reply.close },
        used: { usage: reply.usage, outputBytes: reply.outputBytes, wholeMs: json.on.askedMs() },
        unheard: json.stop.disconnectedEarly,
      }
    case 'error':
      // An error with status 200 is an error all the same.
      return refusedInside(reply.said, json.request)
    case 'invalid':
      return unusable(invalidAnswer(reply.what))
  }
}

/** Nothing of it can be counted before it is whole. */
const madeFor = ({ on }: RelayedJson): Produced => ({ ...NOTHING_PRODUCED, wholeMs: on.askedMs() })

const unusable = (message: string): RunFate => failed(overloaded(message))

/** How the body failed is a value here, because it is expected; so is one that is larger than any answer may be. */
async function readWhole({ body, bounds }: RelayedJson): Promise<Buffer | Error> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for (let chunks = await body.read(); chunks.length > 0; chunks = await body.read()) {
      for (const chunk of chunks) size += chunk.length
      if (size > bounds.bodyBytesMax) {
        body.cancel()
        return new RangeError(`over ${bounds.bodyBytesMax} bytes`)
      }
      parts.push(...chunks)
    }
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
  return asUtf8(parts.length === 1 ? parts[0]! : Buffer.concat(parts))
}

/** Clients that decode strictly throw at a byte that is not UTF-8: they get what lenient ones would read. */
const asUtf8 = (bytes: Buffer): Buffer => (isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('utf8')))

const NAMED_MAX = 32
const NAME_LENGTH_MAX = 64
const NONE: ReadonlySet<string> = new Set()

/** Names that the client chose: in a header only plain ones may stand. */
const plainNames = (names: readonly string[]): string =>
  names
    .slice(0, NAMED_MAX)
    .map((name) => name.replace(/[^\w.-]/g, '?').slice(0, NAME_LENGTH_MAX))
    .join(', ')

/**
 * Nothing is dropped in silence: what a lane does not get is named. Null is absent, and nobody misses it. What was said of a lane
 * that was asked before is said no more.
 */
export function ignoredFieldsHeader(fields: readonly string[], body: RequestBody): Record<string, string | undefined> {
  const nulls = fields.length === 0 ? NONE : nullsOf(body)
  const missed = fields.filter((name) => !nulls.has(name))
  // Of items there may be more than a header takes.
  const isItem = (name: string): boolean => ITEM.test(name)
  const named = [...missed.filter((name) => !isItem(name)), ...missed.filter(isItem)]
  return { 'x-millrace-ignored-fields': missed.length === 0 ? undefined : plainNames(named) }
}

const ITEM = /^input\.\d+\./

const nullsOf = (body: RequestBody): ReadonlySet<string> =>
  new Set(body.members.filter((member) => isNullMember(body, member)).map(({ name }) => name))

export const ignoredToolsHeader = (tools: readonly string[]): Record<string, string> =>
  tools.length === 0 ? {} : { 'x-millrace-ignored-tools': plainNames(tools) }
