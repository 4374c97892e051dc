import { chargeWithin } from '../books/close-turn.ts'
import type { Model } from '../catalog/catalog.ts'
import { callerProblem } from '../keys/caller-problem.ts'
import type { CallerFinder } from '../keys/find-caller.ts'
import type { Admission, AdmittedTurn, Ledger } from '../ledger/ledger.ts'
import { msBetween } from '../lib/clock.ts'
import { limitHeaders } from '../limits/limit-headers.ts'
import type { LaneRates } from '../metering/lane-rates.ts'
import type { Ending } from '../model/ending.ts'
import type { Problem } from '../model/problem.ts'
import { planLanes } from '../routing/plan-lanes.ts'
import { type PlanDeps, planTurn } from './admit/plan-turn.ts'
import { refusalProblem } from './admit/refusals.ts'
import { deliverEnd, sayInternalError } from './end/deliver-end.ts'
import { endingOf } from './end/ending-of.ts'
import { LastWords } from './end/last-words.ts'
import { learnFromTurn } from './end/learn-from-turn.ts'
import { boundsOf, resolveEnding } from './end/resolve-ending.ts'
import { recordOf, recordOfRefused, type TurnRecord } from './end/turn-record.ts'
import { FirstWord } from './first-word.ts'
import { type KeepDeps, Keeping } from './keep/keeping.ts'
import { ignoredToolsHeader } from './lane/announced-names.ts'
import type { Run } from './lane/run.ts'
import { type RunDeps, runLanes } from './lane/run-lanes.ts'
import { openVoice, type VoiceDeps } from './open-voice.ts'
import type { RunningTurn } from './running-turn.ts'
import type { AskedTurn, Turn } from './turn.ts'
import { type StopDeps, TurnStop } from './turn-stop.ts'

export interface TurnDeps extends PlanDeps, RunDeps, StopDeps, KeepDeps, VoiceDeps {
  readonly ledger: Pick<Ledger, 'admit' | 'limitStandings'>
  readonly rights: Pick<CallerFinder, 'findAgain' | 'changes'>
  readonly random: () => number
  readonly rates: LaneRates
}

/**
 * The story of a turn: judge the caller again, find the model, admit (limits and hold in one step), run it on a lane, and end
 * it, which settles before anything says that the answer is complete. The rules R1 to R3 are written in docs/architecture.md.
 * A throw in here is our own fault: the hold stays, and recovery resolves it; releasing it would give the answer away.
 */
export async function serveTurn(deps: TurnDeps, asked: AskedTurn): Promise<TurnRecord> {
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
  if (isRefused || turn.request.delivery === 'stream') turn.sink.announce(limitHeaders(admitted.standings))
  if (isRefused) {
    return refuse(deps, turn, turn.entry.model, refusalProblem(admitted.refusal, turn.request))
  }
  try {
    return await runTurn(deps, openTurn(deps, turn, admitted))
  } finally {
    admitted.leave()
  }
}

/** Everything that lives as long as the turn runs, and closes with it. */
function openTurn(deps: TurnDeps, turn: Turn, hold: AdmittedTurn): RunningTurn {
  const voice = openVoice(deps, turn, () => firstWord.isClear)
  const keeping = new Keeping(deps, turn, voice)
  const firstWord = new FirstWord(hold, keeping)
  const { sink } = keeping
  sink.onSilence(() => voice.keepAlive())
  sink.announce(turnHeaders(turn, hold))
  // Whoever repeats the request wants the answer whole, so nobody's going stops it.
  const stop = new TurnStop(deps, turn.caller.account, turn.claim === undefined ? sink : undefined)
  return { ...turn, sink, hold, voice, keeping, firstWord, stop }
}

async function runTurn(deps: TurnDeps, turn: RunningTurn): Promise<TurnRecord> {
  const { sink, keeping } = turn
  try {
    return await endTurn(deps, turn, await askLanes(deps, turn))
  } catch (error) {
    const wasQuiet = sink.phase === 'quiet'
    sayInternalError(turn)
    if (wasQuiet) await keeping.forget()
    else await keeping.end('internal_error')
    throw error
  } finally {
    turn.stop.release()
    keeping.leave()
  }
}

async function askLanes(deps: TurnDeps, turn: RunningTurn): Promise<Run> {
  const { lanes, hold, cameFrom } = turn
  // Near any edge the provider is not asked before the hold is durable; far from it, only the first content waits (R1).
  const withheld = hold.overlap ? undefined : await turn.firstWord.cleared()
  if (withheld) return notAsked(withheld)
  return runLanes(deps, turn, planLanes(lanes, { random: deps.random, shareOf: deps.health.shareOf, origin: cameFrom }))
}

/** What comes of a turn when its providers are done: what it means for the money, what is kept, the settle, the last words. */
async function endTurn(deps: TurnDeps, turn: RunningTurn, run: Run): Promise<TurnRecord> {
  const { sink, keeping } = turn
  const bounds = boundsOf(turn, run, deps.rates.of(run.lane?.id ?? ''))
  const resolution = resolveEnding(run, bounds)
  const estimateError = learnFromTurn(turn, run, resolution, bounds)
  if (resolution.owed) rememberConversation(deps, turn, run)
  const lastWords = new LastWords(turn, run.fate, resolution)
  const ending = await keepAnswer(turn, lastWords, endingOf(turn, run, resolution, deps.ticks()))
  const settled = await turn.hold.settle(ending)
  // A keep-alive may have opened the answer meanwhile.
  const wasQuiet = sink.phase === 'quiet'
  if (wasQuiet) sink.announce(limitHeaders(deps.ledger.limitStandings(turn.admitRequest.limits)))
  const said = deliverEnd(turn, lastWords, settled)
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
async function keepAnswer({ hold, keeping }: RunningTurn, lastWords: LastWords, ending: Ending): Promise<Ending> {
  const { fate } = lastWords
  const { owed } = ending
  const isWhole = fate.kind === 'finished' || fate.kind === 'broken-off'
  if (keeping.keepsNothing || !owed || !isWhole) return ending
  // R1: an answer that can be had by its id was given, and what has no hold cannot be charged after a crash.
  if ((await hold.durable) === 'lost') return ending
  const { charge } = chargeWithin(hold.amount, owed)
  const say = () => lastWords.say(fate.kind === 'finished' ? { charge, tier: owed.tier } : undefined)
  return keeping.keep(ending, { say, forget: () => lastWords.forget() })
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

function refuse(deps: TurnDeps, turn: AskedTurn, model: Model | undefined, said: Problem): TurnRecord {
  turn.sink.refuse(said)
  return recordOfRefused(model, said, msBetween(turn.startedAt, deps.ticks()))
}
