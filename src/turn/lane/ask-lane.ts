import type { TurnRequest } from '../../model/turn.ts'
import { isUntouched, readBeginning, readRetryAfter, type UpstreamAnswer } from '../../upstream/upstream-answer.ts'
import type { LaneDialect } from '../../wire/codecs.ts'
import { classifyRefusal, type RefusalClass } from '../../wire/refusals/classify-refusal.ts'
import { type ProviderError, readProviderError } from '../../wire/refusals/provider-error.ts'
import type { RunningTurn } from '../running-turn.ts'
import { goingPolicyOf, type StopReason } from '../turn-stop.ts'
import { ignoredFieldsHeader } from './announced-names.ts'
import { carryJson } from './carry-json.ts'
import { carryStream } from './carry-stream.ts'
import type { LaneDeps, LaneTry, TriedLane } from './lane-try.ts'
import { failed, faultOfFailure, refused } from './provider-refusal.ts'
import type { RoadBack } from './road.ts'
import { roadTo } from './roads.ts'
import { NOTHING_PRODUCED, type RunFate } from './run.ts'

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
  const { stop, entry, effort } = turn
  const { lane } = on
  const policy = goingPolicyOf(lane, asking.dialect, { model: entry.model, effort })
  // A stream without a head is nothing that anybody owes for; a JSON answer gets its head when it has been made.
  stop.follow(turn.request.delivery === 'json' ? policy : 'cut')
  const { road, answered } = setOut(deps, turn, on, asking)
  const outcome = await answered
  if (outcome.kind === 'failed') {
    // A JSON answer gets its head when it has been made: silence says nothing there.
    if (stop.calledOff === 'client-gone' && road.delivery === 'stream') on.leftWithoutHead()
    if (stop.calledOff) return { tried: stopped(stop.calledOff, undefined), road }
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
  const fate = refused(error, readRetryAfter(outcome.headers, deps.now()))
  return { tried: { fate, status: outcome.status, outcome: kind }, road, refusal: { error, kind } }
}

/** What was written for the lane is let go of here: it need not stay in memory for as long as its answer streams. */
function setOut({ mint, send }: LaneDeps, turn: RunningTurn, { lane }: LaneTry, { dialect, manner }: Asking) {
  const { request, voice, callSeals, cacheSalt, entry, effort, hold, admitRequest, stop } = turn
  const { model } = entry
  const room = model.contextTokens - admitRequest.inputEstimate
  const outputCap = Math.min(hold.cap, Math.max(room, leastRoomFor(request)))
  const journey = { request, voice, mint, callSeals, cacheSalt, model, effort, outputCap }
  const { sent, ...road } = roadTo(lane, dialect, { ...journey, ...manner })
  turn.sink.announce(ignoredFieldsHeader(sent.leftOut, request.body))
  const { delivery } = road
  const call = { upstream: lane.upstream, model: lane.model, body: sent.body, delivery, signal: stop.signal }
  return { road, answered: send(call) }
}

/**
 * The tokens that an answer is given room for at least. A summary is asked for when the context is nearly full: better that
 * a provider refuses than that it writes three words.
 */
const leastRoomFor = ({ compacts }: TurnRequest): number => (compacts === undefined ? 1 : SUMMARY_TOKENS)

const SUMMARY_TOKENS = 2048

interface AnsweringLane {
  readonly road: RoadBack
  readonly body: UpstreamAnswer['body']
}

function carryBack({ bounds }: LaneDeps, turn: RunningTurn, on: LaneTry, answering: AnsweringLane): Promise<RunFate> {
  const { road, body } = answering
  if (road.delivery === 'json' && road.carryReply) {
    return carryJson({ body, stop: turn.stop, carry: road.carryReply, bounds })
  }
  return carryStream({ turn, on, body, carrier: road.carrier(), frameBytesMax: bounds.frameBytesMax })
}

export function stopped(reason: StopReason, status: number | undefined): TriedLane {
  const fate: RunFate = { kind: 'stopped', reason, accepted: false, used: NOTHING_PRODUCED }
  return { fate, status, outcome: reason }
}
