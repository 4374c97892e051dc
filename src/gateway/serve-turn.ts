import { type CallerFinder, callerProblem } from '../auth/callers.ts'
import type { Model } from '../catalog/catalog.ts'
import type { Admission, AdmittedTurn, Ledger } from '../ledger/ledger.ts'
import { chargeWithin } from '../ledger/state/close-turn.ts'
import { msBetween } from '../lib/clock.ts'
import { limitHeaders } from '../limits/limits.ts'
import type { Ending } from '../model/ending.ts'
import type { Problem } from '../model/problem.ts'
import type { LaneRates } from '../pricing/lane-rates.ts'
import { planLanes } from '../routing/plan-lanes.ts'
import type { Run } from './attempt.ts'
import { attemptLanes, type RunDeps } from './attempt-lanes.ts'
import { ignoredToolsHeader } from './call-lane.ts'
import { Cancellation, type CancellationServices } from './cancellation.ts'
import {
  deliverEnd,
  FinalFrames,
  learnFromTurn,
  recordOf,
  recordOfRefused,
  sendInternalError,
  type TurnRecord,
} from './deliver-end.ts'
import { boundsOf, endingOf, resolveEnding } from './ending.ts'
import { type KeepDeps, Keeping } from './keep-answer.ts'
import { type PlanDeps, planTurn } from './plan-turn.ts'
import { refusalProblem } from './refusals.ts'
import {
  createEncoder,
  type EncoderServices,
  ReleaseGate,
  type RunningTurn,
  type Turn,
  type TurnInput,
} from './turn.ts'

export interface TurnDeps extends PlanDeps, RunDeps, CancellationServices, KeepDeps, EncoderServices {
  readonly ledger: Pick<Ledger, 'admit' | 'limitStatuses'>
  readonly rights: Pick<CallerFinder, 'findAgain' | 'changes'>
  readonly random: () => number
  readonly rates: LaneRates
}

/**
 * The story of a turn: judge the caller again, find the model, admit (limits and hold in one step), run it on a lane, and end
 * it, which settles before anything says that the answer is complete. The rules R1 to R3 are written in docs/architecture.md.
 * A throw in here is our own fault: the hold stays, and recovery resolves it; releasing it would give the answer away.
 */
export async function serveTurn(deps: TurnDeps, asked: TurnInput): Promise<TurnRecord> {
  for (let tries = 1; ; tries++) {
    // Read before the caller is judged: a change that comes later is noticed by admission.
    const judged = { rights: deps.rights, at: deps.rights.changes }
    const found = deps.rights.findAgain(asked.caller)
    const who = found instanceof Promise ? await found : found
    if (who.kind === 'refused') return refuse(deps, asked, undefined, callerProblem(who.reason))
    const planned = await planTurn(deps, who.caller === asked.caller ? asked : { ...asked, caller: who.caller })
    if (planned.kind === 'refused') return refuse(deps, asked, planned.model, planned.problem)
    const admitted = await deps.ledger.admit(planned.turn.admitRequest, judged)
    const changed = admitted.kind === 'refused' && admitted.refusal.kind === 'rights-changed'
    if (!changed || tries === JUDGED_MAX) return serveAdmitted(deps, planned.turn, admitted)
  }
}

/** Each further time needs another key or account to change while this one was being looked up. */
const JUDGED_MAX = 5

async function serveAdmitted(deps: TurnDeps, turn: Turn, admitted: Admission): Promise<TurnRecord> {
  const isRefused = admitted.kind === 'refused'
  // A JSON answer tells them at its end, when it is known what it used.
  if (isRefused || turn.request.delivery === 'stream') turn.sink.announce(limitHeaders(admitted.statuses))
  if (isRefused) {
    return refuse(deps, turn, turn.entry.model, refusalProblem(admitted.refusal, turn.request))
  }
  try {
    return await runTurn(deps, openTurn(deps, turn, admitted))
  } finally {
    admitted.detach()
  }
}

/** Everything that lives as long as the turn runs, and closes with it. */
function openTurn(deps: TurnDeps, turn: Turn, hold: AdmittedTurn): RunningTurn {
  const encoder = createEncoder(deps, turn, () => releaseGate.isOpen)
  const keeping = new Keeping(deps, turn, encoder)
  const releaseGate = new ReleaseGate(hold, keeping)
  const { sink } = keeping
  sink.onSilence(() => encoder.keepAlive())
  sink.announce(turnHeaders(turn, hold))
  // Whoever repeats the request wants the answer whole, so nobody's going stops it.
  const cancellation = new Cancellation(deps, turn.caller.account, turn.claim === undefined ? sink : undefined)
  return { ...turn, sink, hold, encoder, keeping, releaseGate, cancellation }
}

async function runTurn(deps: TurnDeps, turn: RunningTurn): Promise<TurnRecord> {
  const { sink, keeping } = turn
  try {
    return await endTurn(deps, turn, await askLanes(deps, turn))
  } catch (error) {
    const wasQuiet = sink.phase === 'quiet'
    sendInternalError(turn)
    if (wasQuiet) await keeping.forget()
    else await keeping.end('internal_error')
    throw error
  } finally {
    turn.cancellation.release()
    keeping.leave()
  }
}

async function askLanes(deps: TurnDeps, turn: RunningTurn): Promise<Run> {
  const { lanes, hold, cameFrom } = turn
  // Near any edge the provider is not asked before the hold is durable; far from it, only the first content waits (R1).
  const withheld = hold.overlap ? undefined : await turn.releaseGate.opened()
  if (withheld) return notAsked(withheld)
  return attemptLanes(
    deps,
    turn,
    planLanes(lanes, { random: deps.random, shareOf: deps.health.shareOf, origin: cameFrom }),
  )
}

/** What comes of a turn when its providers are done: what it means for the money, what is kept, the settle, the last words. */
async function endTurn(deps: TurnDeps, turn: RunningTurn, run: Run): Promise<TurnRecord> {
  const { sink, keeping } = turn
  const bounds = boundsOf(turn, run, deps.rates.of(run.lane?.id ?? ''))
  const resolution = resolveEnding(run, bounds)
  const estimateError = learnFromTurn(turn, run, resolution, bounds)
  if (resolution.owed) rememberConversation(deps, turn, run)
  const finalFrames = new FinalFrames(turn, run.fate, resolution)
  const ending = await keepAnswer(turn, finalFrames, endingOf(turn, run, resolution, deps.nowMicros()))
  const settled = await turn.hold.settle(ending)
  // A keep-alive may have opened the answer meanwhile.
  const wasQuiet = sink.phase === 'quiet'
  if (wasQuiet) sink.announce(limitHeaders(deps.ledger.limitStatuses(turn.admitRequest.limits)))
  const said = deliverEnd(turn, finalFrames, settled)
  // Whoever was told by its status that nothing came of it shall find nothing.
  if (said && wasQuiet) await keeping.forget()
  else await keeping.end(ending.outcome)
  return recordOf(turn.entry.model, ending, { settled, said, estimateError })
}

/** Whatever was charged for was read by a provider, and is in its cache for a while. */
function rememberConversation({ sticky, seen }: TurnDeps, turn: RunningTurn, { lane }: Run): void {
  const { names, cameFrom, prompt, price } = turn
  if (lane) sticky.remember(names, { origin: lane.origin, cameFrom })
  if (prompt && price.cachedInput < price.input) seen.remember(prompt)
}

/** The answer first, then its charge: what is kept already tells the charge that it will have. */
async function keepAnswer({ hold, keeping }: RunningTurn, finalFrames: FinalFrames, ending: Ending): Promise<Ending> {
  const { fate } = finalFrames
  const { owed } = ending
  const isWhole = fate.kind === 'finished' || fate.kind === 'broken-off'
  if (keeping.keepsNothing || !owed || !isWhole) return ending
  // R1: an answer that can be had by its id was given, and what has no hold cannot be charged after a crash.
  if ((await hold.durable) === 'lost') return ending
  const { charge } = chargeWithin(hold.amount, owed)
  const say = () => finalFrames.say(fate.kind === 'finished' ? { charge, tier: owed.tier } : undefined)
  return keeping.keep(ending, { say, forget: () => finalFrames.forget() })
}

const notAsked = (problem: Problem): Run => ({
  fate: { kind: 'withheld', problem },
  lane: undefined,
  attempts: [],
  firstContentAt: undefined,
})

function turnHeaders({ request }: Turn, hold: AdmittedTurn): Record<string, string> {
  return {
    // A cap that we chose is announced; one that the client chose it knows.
    ...(request.outputCap === undefined ? { 'x-millrace-max-output-tokens': String(hold.cap) } : {}),
    ...ignoredToolsHeader(request.ignoredTools),
  }
}

function refuse(deps: TurnDeps, turn: TurnInput, model: Model | undefined, said: Problem): TurnRecord {
  turn.sink.refuse(said)
  return recordOfRefused(model, said, msBetween(turn.startedAt, deps.nowMicros()))
}
