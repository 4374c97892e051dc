import type { Lane } from '../catalog/catalog.ts'
import { isUntouched, readBeginning, readRetryAfter, type UpstreamAnswer } from '../upstream/upstream-answer.ts'
import type { LaneDialect } from '../wire/codecs.ts'
import { classifyRefusal, type RefusalClass } from '../wire/refusals/classify-refusal.ts'
import { type ProviderError, readProviderError } from '../wire/refusals/provider-error.ts'
import { ignoredFieldsHeader } from './announced-names.ts'
import { whenClientGoes } from './client-gone.ts'
import { leastRoomFor } from './compaction-size.ts'
import { failed, problemOfFailure, refused } from './provider-refusal.ts'
import { relayJson } from './relay-json.ts'
import { relayStream } from './relay-stream.ts'
import type { RoadBack } from './road.ts'
import { roadTo } from './roads.ts'
import { NOTHING_PRODUCED, type RunFate } from './run.ts'
import type { LaneDeps, RunnableTurn } from './runnable-turn.ts'
import type { TurnAbort } from './turn-abort.ts'

export interface TriedLane {
  readonly fate: RunFate
  readonly status: number | undefined
  /** For the receipt: how this try ended, in a word. */
  readonly outcome: string
}

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
  readonly lane: Lane
  readonly dialect: LaneDialect
  readonly manner: Manner
}

/** Asks one lane once, and relays what comes. */
export async function askLane(
  deps: LaneDeps,
  work: RunnableTurn,
  { lane, dialect, manner }: Asking,
  onFirstContent: () => void,
): Promise<AskedLane> {
  const { turn, abort, entry, effort } = work
  const then = whenClientGoes(lane, dialect, { model: entry.model, effort })
  // A stream without a head is nothing that anybody owes for; a JSON answer gets its head when it has been made.
  abort.whenClientGoes(turn.delivery === 'json' ? then : 'cut')
  const { road, sent } = setOut(deps, work, { lane, dialect, manner })
  const outcome = await sent
  if (outcome.kind === 'failed') {
    if (abort.reason) return { tried: stopped(abort, undefined), road }
    const fate = { ...failed(problemOfFailure(outcome)), mayBeBilled: !isUntouched(outcome) }
    return { tried: { fate, status: undefined, outcome: outcome.expired ?? outcome.reason }, road }
  }
  if (outcome.status < 400) {
    abort.whenClientGoes(then)
    const fate = await relay(deps, work, { road, body: outcome.body }, onFirstContent)
    return { tried: { fate, status: outcome.status, outcome: fate.kind }, road }
  }
  const error = readProviderError(outcome.status, await readBeginning(outcome.body))
  if (abort.reason) return { tried: stopped(abort, outcome.status), road }
  const kind = classifyRefusal(error)
  const fate = refused(error, readRetryAfter(outcome.headers, deps.now()))
  return { tried: { fate, status: outcome.status, outcome: kind }, road, refusal: { error, kind } }
}

/** The request is let go of here: it need not stay in memory for as long as its answer streams. */
function setOut({ mint, send }: LaneDeps, work: RunnableTurn, { lane, dialect, manner }: Asking) {
  const { turn, voice, callSeals, cacheSalt, entry, effort, hold, abort, sink } = work
  const { model } = entry
  const room = Math.max(leastRoomFor(turn), model.contextTokens - work.inputEstimate)
  const outputCap = Math.min(hold.cap, room)
  const journey = { turn, voice, mint, callSeals, cacheSalt, model, effort, outputCap }
  const { request, ...road } = roadTo(lane, dialect, { ...journey, ...manner })
  sink.announce(ignoredFieldsHeader(request.leftOut, turn.body))
  const { upstream, model: name } = lane
  const sent = send({ upstream, model: name, body: request.body, delivery: road.delivery, signal: abort.signal })
  return { road, sent }
}

interface AnsweringLane {
  readonly road: RoadBack
  readonly body: UpstreamAnswer['body']
}

function relay(
  deps: LaneDeps,
  work: RunnableTurn,
  answering: AnsweringLane,
  onFirstContent: () => void,
): Promise<RunFate> {
  const { turn, entry, hold, sink, abort, firstWord } = work
  const { road, body } = answering
  if (road.delivery === 'json' && road.carryReply) {
    return relayJson({ body, abort, carry: road.carryReply, bounds: deps.bounds })
  }
  return relayStream({
    body,
    carrier: road.carrier(),
    sink,
    hold,
    abort,
    firstWord,
    choices: turn.choices,
    bytesPerToken: entry.model.bytesPerToken,
    frameBytesMax: deps.bounds.frameBytesMax,
    onFirstContent,
  })
}

export function stopped(abort: TurnAbort, status: number | undefined): TriedLane {
  const reason = abort.reason ?? 'client-gone'
  const fate: RunFate = { kind: 'stopped', reason, accepted: false, used: NOTHING_PRODUCED }
  return { fate, status, outcome: reason }
}
