import type { Catalog, Lane, Model } from '../catalog/catalog.ts'
import { type ResolvedModel, resolveModel } from '../catalog/resolve-model.ts'
import type { AdmittedTurn, Ledger } from '../ledger/ledger.ts'
import { limitHeaders } from '../limits/limit-headers.ts'
import type { ConfiguredLimits } from '../limits/limits-for-turn.ts'
import type { SeenPrefixes } from '../metering/seen-prefixes.ts'
import type { ChosenCapTerms } from '../model/hold-terms.ts'
import type { Problem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'
import { planLanes } from '../routing/plan-lanes.ts'
import type { StickyLanes } from '../routing/sticky-lanes.ts'
import type { CacheSaltOf } from '../seals/cache-salts.ts'
import { ableLanes } from './able-lanes.ts'
import { ignoredToolsHeader } from './announced-names.ts'
import type { CallSealMemory } from './call-seals.ts'
import { checkInputs } from './check-inputs.ts'
import { conversationNames } from './conversation-names.ts'
import { sayInternalError } from './deliver-end.ts'
import { endTurn, forgetAnswer } from './end-turn.ts'
import { createFirstWord } from './first-word.ts'
import { withGivenBack } from './given-back.ts'
import { openVoice, type VoiceDeps } from './open-voice.ts'
import { type AdmissionPlan, planAdmission } from './plan-admission.ts'
import { createRecordingSink } from './recording-sink.ts'
import { refusalProblem } from './refusals.ts'
import type { Run } from './run.ts'
import { msBetween, type RunDeps, runLanes } from './run-lanes.ts'
import { type StoreDeps, storeTurn } from './stored-turn.ts'
import { type AbortDeps, createTurnAbort } from './turn-abort.ts'
import type { TurnCall } from './turn-call.ts'
import { recordOfRefused, type TurnRecord } from './turn-record.ts'

export interface TurnDeps extends RunDeps, AbortDeps, StoreDeps, VoiceDeps {
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly limits: ConfiguredLimits
  readonly chosenCap: ChosenCapTerms
  readonly seen: SeenPrefixes
  readonly callSeals: CallSealMemory
  readonly sticky: StickyLanes
  readonly cacheSaltOf: CacheSaltOf
  readonly random: () => number
}

/**
 * The story of a turn: find the model, admit (limits and hold in one step), run it on a lane, and end it, which settles
 * before anything says that the answer is complete. The rules R1 to R3 are written in docs/architecture.md. A throw in here
 * is our own fault: the hold stays, and recovery resolves it; releasing it would give the answer away.
 */
export async function serveTurn(deps: TurnDeps, asked: TurnCall): Promise<TurnRecord> {
  const { caller, sink } = asked
  const resolved = resolveModel(deps.catalog, caller, asked.turn)
  if (resolved.kind === 'refused') return refuse(deps, asked, undefined, resolved.problem)
  const { model } = resolved.entry
  const unsuitable = checkInputs(model, asked.turn)
  if (unsuitable) return refuse(deps, asked, model, unsuitable)
  const lanes = ableLanes(model, asked.turn)
  if ('code' in lanes) return refuse(deps, asked, model, lanes)

  const turn = withGivenBack(asked.turn, lanes, deps.callSeals.of(caller.account))
  const call = { ...asked, turn }

  const plan = planAdmission(deps, call, model, resolved.price)
  const admission = await deps.ledger.admit(plan.request)
  sink.announce(limitHeaders(admission.standings))
  if (admission.kind === 'refused') return refuse(deps, call, model, refusalProblem(admission.refusal, turn))
  try {
    return await runAdmitted(deps, { call, resolved, lanes, plan, hold: admission })
  } finally {
    admission.leave()
  }
}

interface AdmittedCall {
  readonly call: TurnCall
  readonly resolved: ResolvedModel
  readonly lanes: readonly Lane[]
  readonly plan: AdmissionPlan
  readonly hold: AdmittedTurn
}

async function runAdmitted(deps: TurnDeps, { call, resolved, lanes, plan, hold }: AdmittedCall): Promise<TurnRecord> {
  const { turn } = call
  const { entry, effort, price } = resolved
  const firstWord = createFirstWord()
  const voice = openVoice(deps, call, resolved, firstWord)
  const stored = storeTurn(deps, call, voice)
  firstWord.waitFor(hold, stored)
  const sink = stored?.recording && !call.once ? createRecordingSink(call.sink, stored.recording, 'hears') : call.sink
  sink.onSilence(() => voice.keepAlive())
  sink.announce(turnHeaders(turn, hold))
  const abort = createTurnAbort(sink, deps)
  try {
    // Near any edge the provider is not asked before the hold is durable; far from it, only the first content waits (R1).
    const withheld = hold.overlap ? undefined : await firstWord.cleared()
    const { inputEstimate } = plan.request
    const callSeals = deps.callSeals.of(call.caller.account)
    const cacheSalt = deps.cacheSaltOf(call.caller.accountId)
    const work = { turn, voice, entry, effort, callSeals, cacheSalt, hold, firstWord, inputEstimate, sink, abort }
    // With one lane there is nothing to stay on.
    const names = lanes.length > 1 ? conversationNames(call, entry.model) : []
    const cameFrom = deps.sticky.find(names)
    const order = { random: deps.random, shareOf: deps.health.shareOf, origin: cameFrom }
    const run = withheld ? notAsked(withheld) : await runLanes(deps, work, planLanes(lanes, order))
    const way = { names, cameFrom }
    return await endTurn(deps, call, { voice, sink, stored, model: entry.model, price, plan, hold, run, way })
  } catch (error) {
    const wasQuiet = sink.phase === 'quiet'
    sayInternalError({ sink, voice }, call.requestId)
    if (wasQuiet) await forgetAnswer(call, stored)
    else await stored?.end('failed')
    throw error
  } finally {
    abort.release()
    stored?.leave()
  }
}

const notAsked = (problem: Problem): Run => ({
  fate: { kind: 'withheld', problem },
  lane: undefined,
  attempts: [],
  firstContentAt: undefined,
})

function turnHeaders(turn: TurnRequest, hold: AdmittedTurn): Record<string, string> {
  return {
    // A cap that we chose is announced; one that the client chose it knows.
    ...(turn.outputCap === undefined ? { 'x-millrace-max-output-tokens': String(hold.cap) } : {}),
    ...ignoredToolsHeader(turn.ignoredTools),
  }
}

function refuse(deps: TurnDeps, call: TurnCall, model: Model | undefined, said: Problem): TurnRecord {
  call.sink.refuse(said)
  return recordOfRefused(model, said, msBetween(call.startedAt, deps.ticks()))
}
