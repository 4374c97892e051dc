import type { Hiding } from '../../metering/lane-rates.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { isUntouched, readBeginning, readRetryAfter, type UpstreamAnswer } from '../../upstream/upstream-answer.ts'
import type { LaneDialect } from '../../wire/codecs.ts'
import { pauseAfter } from '../../wire/json/piece-turns.ts'
import { classifyRefusal, type RefusalClass } from '../../wire/refusals/classify-refusal.ts'
import { type ProviderError, readProviderError } from '../../wire/refusals/provider-error.ts'
import type { RunningTurn } from '../running-turn.ts'
import { goingPolicyOf, type StopReason } from '../turn-stop.ts'
import { ignoredFieldsHeader } from './announced-names.ts'
import { carryJson } from './carry-json.ts'
import { carryStream } from './carry-stream.ts'
import { laneCap } from './lane-cap.ts'
import type { LaneDeps, LaneTry, TriedLane } from './lane-try.ts'
import { failed, faultOfFailure, refused } from './provider-refusal.ts'
import type { RoadBack } from './road.ts'
import { roadTo } from './roads.ts'
import { NOTHING_PRODUCED, type Produced, type RunFate } from './run.ts'

/** How a lane is asked: as its dialect says, without what it has turned out not to take. */
export interface Manner {
  /** How many fields it has refused, and was asked again without. */
  readonly lessonsTaken: number
  /** What it does not take as this turn has it. */
  readonly withoutFields: readonly string[]
  /** It does not take back what was sealed. */
  readonly withoutSeals: boolean
  /** It was asked to make the conversation short in its own way, and has not. */
  readonly withoutNativeCompaction: boolean
  /** The same request is sent once more, after the model slipped. */
  readonly onceMore: boolean
}

export interface AskedLane {
  readonly tried: TriedLane
  readonly road: RoadBack
  /** The provider's no, where it has said one by its status. */
  readonly refusal?: { readonly error: ProviderError; readonly kind: RefusalClass }
}

interface Asking {
  readonly dialect: LaneDialect
  readonly manner: Manner
}

/** Asks one lane once, and carries what comes to the client. */
export async function askLane(deps: LaneDeps, turn: RunningTurn, on: LaneTry, asking: Asking): Promise<AskedLane> {
  const { stop } = turn
  const { lane } = on
  const policy = goingPolicyOf(lane)
  on.hiding = hidingOf(asking.dialect, turn)
  // A stream without a head is nothing that anybody owes for; a JSON answer gets its head when it has been made.
  stop.follow(turn.request.delivery === 'json' ? policy : 'cut')
  const { road, answered } = await setOut(deps, turn, on, asking)
  const outcome = await answered
  if (outcome.kind === 'failed') {
    // A JSON answer gets its head when it has been made: silence says nothing there.
    if (stop.calledOff === 'client-gone' && road.delivery === 'stream') on.leftWithoutHead()
    // A provider that was never reached has made nothing, however long that took.
    const used = isUntouched(outcome) ? NOTHING_PRODUCED : workOn(on, road)
    if (stop.calledOff) return { tried: stopped(stop.calledOff, undefined, used), road }
    const fate = { ...failed(faultOfFailure(outcome)), mayBeBilled: !isUntouched(outcome) }
    return { tried: { fate, status: undefined, outcome: outcome.expired ?? outcome.reason }, road }
  }
  on.headCame()
  if (outcome.status < 400) {
    stop.follow(policy)
    const fate = await carryBack(deps, turn, on, { road, body: outcome.body })
    return { tried: { fate, status: outcome.status, outcome: fate.kind }, road }
  }
  const error = readProviderError(outcome.status, await readBeginning(outcome.body))
  if (stop.calledOff) return { tried: stopped(stop.calledOff, outcome.status), road }
  const kind = classifyRefusal(error)
  const fate = refused(error, turn.request, readRetryAfter(outcome.headers, deps.now()))
  return { tried: { fate, status: outcome.status, outcome: kind }, road, refusal: { error, kind } }
}

/** What was written for the lane is let go of here: it need not stay in memory for as long as its answer streams. */
async function setOut({ mint, send }: LaneDeps, turn: RunningTurn, { lane }: LaneTry, { dialect, manner }: Asking) {
  const { request, voice, callSeals, cacheSalt, entry, effort, admitRequest, stop } = turn
  const { model } = entry
  const cap = laneCap(turn, lane)
  const outputCap = capWithin(model.contextTokens, { cap, input: admitRequest.inputEstimate, request })
  const journey = { request, voice, mint, callSeals, cacheSalt, model, effort, outputCap }
  await pauseAfter(request.body.bytes)
  const { sent, ...road } = await roadTo(lane, dialect, { ...journey, ...manner })
  turn.sink.announce(ignoredFieldsHeader(sent.leftOut, request.body))
  const { delivery } = road
  const call = { upstream: lane.upstream, model: lane.model, body: sent.body, delivery, signal: stop.signal }
  return { road, answered: send(call) }
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
  readonly road: RoadBack
  readonly body: UpstreamAnswer['body']
}

function carryBack({ bounds }: LaneDeps, turn: RunningTurn, on: LaneTry, answering: AnsweringLane): Promise<RunFate> {
  const { road, body } = answering
  if (road.delivery === 'json' && road.carryReply) {
    return carryJson({ body, on, request: turn.request, stop: turn.stop, carry: road.carryReply, bounds })
  }
  return carryStream({ turn, on, body, carrier: road.carrier(), frameBytesMax: bounds.frameBytesMax })
}

/** A JSON answer has no head before it is made: only its time tells that it was worked on. */
const workOn = (on: LaneTry, { delivery }: RoadBack): Produced =>
  delivery === 'json' ? { ...NOTHING_PRODUCED, wholeMs: on.askedMs() } : NOTHING_PRODUCED

/** A model without efforts does not reason, and one that was asked for `none` does not either. */
function hidingOf({ hidesReasoning }: LaneDialect, { entry, effort }: RunningTurn): Hiding {
  if (entry.model.efforts?.length === 0 || String(effort) === 'none') return 'no'
  return hidesReasoning ? 'known' : 'unknown'
}

export function stopped(reason: StopReason, status: number | undefined, used = NOTHING_PRODUCED): TriedLane {
  const fate: RunFate = { kind: 'stopped', reason, accepted: false, used }
  return { fate, status, outcome: reason }
}
