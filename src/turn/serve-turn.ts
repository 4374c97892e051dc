import type { Catalog, Model } from '../catalog/catalog.ts'
import { type ResolvedModel, resolveModel } from '../catalog/resolve-model.ts'
import type { AdmittedTurn, Ending, Ledger, SettleOutcome } from '../ledger/ledger.ts'
import { limitHeaders } from '../limits/limit-headers.ts'
import type { ConfiguredLimits } from '../limits/limits-for-turn.ts'
import { priceUsage } from '../metering/price-usage.ts'
import type { SeenPrefixes } from '../metering/seen-prefixes.ts'
import type { ChosenCapTerms } from '../model/hold-terms.ts'
import type { Price } from '../model/price.ts'
import type { Problem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'
import { planLanes } from '../routing/plan-lanes.ts'
import { ignoredToolsHeader } from './announced-names.ts'
import { checkInputs } from './check-inputs.ts'
import { conversationOf } from './conversation.ts'
import { deliverEnd, sayInternalError } from './deliver-end.ts'
import { type Resolution, resolveEnding } from './ending.ts'
import { keepAnswer } from './keep-answer.ts'
import { type AdmissionPlan, planAdmission } from './plan-admission.ts'
import { ledgerUnavailable, refusalProblem } from './refusals.ts'
import type { Run } from './run.ts'
import { msBetween, runLanes } from './run-lanes.ts'
import type { LaneDeps } from './try-lane.ts'
import { type AbortDeps, createTurnAbort } from './turn-abort.ts'
import type { TurnCall } from './turn-call.ts'
import type { TurnRecord } from './turn-record.ts'

export interface TurnDeps extends LaneDeps, AbortDeps {
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly limits: ConfiguredLimits
  readonly chosenCap: ChosenCapTerms
  readonly seen: SeenPrefixes
  readonly random: () => number
}

/**
 * The story of a turn: find the model, admit (limits and hold in one step), run it on a lane, settle, and only then say
 * that the answer is complete. The rules R1 to R3 are written in docs/architecture.md. A throw in here is our own fault: the hold stays, and recovery resolves it; releasing it
 * would give the answer away.
 */
export async function serveTurn(deps: TurnDeps, call: TurnCall): Promise<TurnRecord> {
  const { turn, caller, sink } = call
  const resolved = resolveModel(deps.catalog, caller, turn)
  if (resolved.kind === 'refused') return refuse(deps, call, undefined, resolved.problem)
  const { model } = resolved.entry
  const unsuitable = checkInputs(model, turn)
  if (unsuitable) return refuse(deps, call, model, unsuitable)

  const plan = planAdmission(deps, call, model, resolved.price)
  const admission = await deps.ledger.admit(plan.request)
  if (admission.kind === 'refused') {
    sink.announce(limitHeaders(admission.standings))
    return refuse(deps, call, model, refusalProblem(admission.refusal, turn))
  }
  try {
    sink.announce(limitHeaders(admission.standings))
    return await runAdmitted(deps, call, resolved, plan, admission)
  } catch (error) {
    sayInternalError(call)
    throw error
  } finally {
    admission.leave()
  }
}

async function runAdmitted(
  deps: TurnDeps,
  call: TurnCall,
  resolved: ResolvedModel,
  plan: AdmissionPlan,
  hold: AdmittedTurn,
): Promise<TurnRecord> {
  const { turn, sink } = call
  const { entry, effort, price } = resolved
  // Near any edge the provider is not asked before the hold is durable; far from it, only the first content waits (R1).
  if (!hold.overlap && (await hold.durable) === 'lost') return refuse(deps, call, entry.model, ledgerUnavailable())

  sink.announce(turnHeaders(turn, hold))
  const abort = createTurnAbort(sink, deps)
  try {
    const lanes = planLanes(entry.model.lanes, deps.random)
    const run = await runLanes(
      deps,
      { turn, entry, effort, hold, inputEstimate: plan.request.inputEstimate, sink, abort },
      lanes,
    )
    return await endTurn(deps, call, { model: entry.model, price, plan, hold, run })
  } finally {
    abort.release()
  }
}

interface TurnAtItsEnd {
  readonly model: Model
  readonly price: Price
  readonly plan: AdmissionPlan
  readonly hold: AdmittedTurn
  readonly run: Run
}

async function endTurn(deps: TurnDeps, call: TurnCall, end: TurnAtItsEnd): Promise<TurnRecord> {
  const { model, price, plan, hold, run } = end
  const { turn, startedAt } = call
  const resolution = resolveEnding(run, {
    model,
    inputSize: turn.inputSize,
    inputBound: plan.inputBound,
    cachedEstimate: plan.request.cachedEstimate,
    outputBound: hold.cap * turn.choices,
    headGone: call.sink.phase !== 'quiet',
  })
  let ending: Ending = {
    outcome: resolution.outcome,
    lane: run.lane?.id,
    firstByteMs: run.firstContentAt === undefined ? undefined : msBetween(startedAt, run.firstContentAt),
    totalMs: msBetween(startedAt, deps.ticks()),
    attempts: run.attempts,
  }
  // Whatever was charged for was read by a provider, and is in its cache for a while.
  if (resolution.kind === 'charge' && price.cachedInput < price.input) deps.seen.remember(conversationOf(call, model))
  if (call.once) ending = await keepAnswer(call, call.once, { price, hold, run, resolution, ending })
  const settled = await settle(hold, ending, resolution, price)
  const said = deliverEnd(call, run.fate, { resolution, settled, price })
  // Whoever was told by its status that nothing came of it must not be charged for it by recovery.
  if (call.once && said?.code === 'ledger_unavailable') await call.once.forget()
  return recordOf(model, ending, resolution, settled, said)
}

/** The one place where a turn's money is resolved, whatever its ending was. */
function settle(hold: AdmittedTurn, ending: Ending, resolution: Resolution, price: Price): Promise<SettleOutcome> {
  if (resolution.kind === 'free') return hold.release(ending)
  return hold.settle({ ...ending, usage: resolution.usage, ...priceUsage(price, resolution.usage) })
}

function turnHeaders(turn: TurnRequest, hold: AdmittedTurn): Record<string, string> {
  return {
    // A cap that we chose is announced; one that the client chose it knows.
    ...(turn.outputCap === undefined ? { 'x-millrace-max-output-tokens': String(hold.cap) } : {}),
    ...ignoredToolsHeader(turn.ignoredTools),
  }
}

function refuse(deps: TurnDeps, call: TurnCall, model: Model | undefined, said: Problem): TurnRecord {
  call.sink.refuse(said)
  return {
    model: model?.id,
    lane: undefined,
    outcome: 'refused',
    problem: said.code,
    usage: undefined,
    charge: undefined,
    shortfall: undefined,
    firstByteMs: undefined,
    totalMs: msBetween(call.startedAt, deps.ticks()),
  }
}

function recordOf(
  model: Model,
  ending: Ending,
  resolution: Resolution,
  settled: SettleOutcome,
  said: Problem | undefined,
): TurnRecord {
  return {
    model: model.id,
    lane: ending.lane,
    outcome: ending.outcome,
    problem: said?.code,
    usage: resolution.kind === 'charge' ? resolution.usage : undefined,
    charge: settled.kind === 'settled' ? settled.charge : undefined,
    shortfall: settled.kind === 'settled' ? settled.shortfall : undefined,
    firstByteMs: ending.firstByteMs,
    totalMs: ending.totalMs,
  }
}
