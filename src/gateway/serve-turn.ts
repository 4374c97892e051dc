import { callerProblem } from '../auth/callers.ts'
import type { Catalog, Model } from '../catalog/catalog.ts'
import { visibleModels } from '../catalog/resolve-model.ts'
import type { AdmittedTurn, Ledger } from '../ledger/ledger.ts'
import { chargeWithin } from '../ledger/state/turns.ts'
import { msBetween } from '../lib/clock.ts'
import { type ConfiguredLimits, limitHeaders, limitsOfCaller } from '../limits/limits.ts'
import type { Caller } from '../model/caller.ts'
import type { Effort } from '../model/effort.ts'
import type { Ending } from '../model/ending.ts'
import { isFree } from '../model/price.ts'
import { type Problem, problem, retryableProblem } from '../model/problem.ts'
import type { ResponsesRequest } from '../model/turn.ts'
import { createChatEncoder } from '../protocols/chat/encoder.ts'
import { ResponsesEncoder } from '../protocols/responses/encoder.ts'
import { planLanes } from '../routing/plan-lanes.ts'
import type { AttemptResult, ProviderRun } from './attempt.ts'
import { attemptLanes } from './attempt-lanes.ts'
import { ignoredToolsHeader } from './call-lane.ts'
import { Cancellation } from './cancellation.ts'
import { createKeptFrames, deliverEnd, type KeptFrames, sendInternalError, type TurnRecord } from './deliver-end.ts'
import { decideEnding } from './ending.ts'
import { AnswerKeeper } from './keep-answer.ts'
import { planTurn } from './plan-turn.ts'
import { ledgerUnavailable, rateLimitProblem, refusalProblem } from './refusals.ts'
import { runRequired } from './runs.ts'
import { envelopesOf } from './seals.ts'
import { admitOrStepDown } from './step-down.ts'
import type { PlannedTurn, ReleaseGate, Turn, TurnServices } from './turn.ts'
import type { TurnEncoder, TurnInput } from './turn-input.ts'

/**
 * One turn: check the caller again, plan, admit (limits and hold in one step), attempt lanes, stream, settle, and only then send
 * the end. The rules R1 to R3 are in docs/architecture.md. A throw in here is our own fault: the hold stays, and recovery
 * resolves it; releasing it would give the answer away.
 */
export async function serveTurn(services: TurnServices, input: TurnInput): Promise<TurnRecord> {
  const { callers, ledger } = services
  for (let tries = 1; ; tries++) {
    // Read before the caller is checked again: admission notices a later change.
    const check = { callers, changesBefore: callers.changes }
    const found = callers.findAgain(input.caller)
    const checked = found instanceof Promise ? await found : found
    if (checked.kind === 'refused') return refuseTurn(services, input, undefined, callerProblem(checked.reason))
    const { networks } = checked.caller
    // Authentication has judged the caller that it found.
    if (networks !== undefined && networks !== input.caller.networks) {
      const refusal = input.refuseAddress?.(networks)
      if (refusal !== undefined) return refuseTurn(services, input, undefined, refusal)
    }
    // The key has been given the rule since the head of the request came.
    if (checked.caller.run !== undefined && input.run === undefined)
      return refuseTurn(services, input, undefined, runRequired())
    const planned = await planTurn(services, input, checked.caller)
    if (planned.kind === 'refused') return refuseTurn(services, input, planned.model, planned.problem)
    const stepDown = checked.caller.stepDown ?? planned.turn.entry.model.stepDown
    const { turn, admission } =
      stepDown === undefined
        ? { turn: planned.turn, admission: await ledger.admit(planned.turn.admitRequest, check) }
        : await admitOrStepDown(services, input, { turn: planned.turn, caller: checked.caller, check }, stepDown)
    if (admission.kind === 'refused') {
      const { refusal, statuses } = admission
      if (refusal.kind === 'caller-changed' && tries < CALLER_CHECKS_MAX) continue
      input.sink.announce(limitHeaders(statuses))
      return refuseTurn(services, input, turn.entry.model, refusalProblem(refusal, input.request, input.run))
    }
    // A JSON answer gets these headers at its end, when its usage is known.
    if (input.request.delivery === 'stream') input.sink.announce(limitHeaders(admission.statuses))
    try {
      return await runTurn(services, turn, admission)
    } finally {
      admission.detach()
    }
  }
}

/** Each further try needs another key or account to change while the caller was being checked. */
const CALLER_CHECKS_MAX = 5

/** Adds what lives as long as the turn runs, and closes it when the turn has ended. */
async function runTurn(services: TurnServices, planned: PlannedTurn, hold: AdmittedTurn): Promise<TurnRecord> {
  const { request, requestId, claim, caller, entry, lanes, previousOrigin } = planned
  const { random, health, mint, now } = services
  const releaseGate: ReleaseGate = { isOpen: false, opened: undefined }
  const encoder: TurnEncoder =
    request.protocol === 'chat'
      ? createChatEncoder({
          request,
          model: entry.id,
          requestId,
          mint,
          now,
          holdsCalls: entry.model.retriesBrokenArguments,
        })
      : createResponsesEncoder(services, { ...planned, request }, () => releaseGate.isOpen)
  const isStored = request.protocol === 'responses' && request.storedInput !== undefined
  const keeper = claim !== undefined || isStored ? new AnswerKeeper(services, planned, encoder) : undefined
  releaseGate.opened = openReleaseGate(releaseGate, hold, keeper)
  const sink = keeper?.sink ?? planned.sink
  sink.onSilence(() => encoder.keepAlive())
  // A cap that the client chose is not announced, unless its run has less left.
  if (request.outputCap === undefined || hold.cap < (planned.admitRequest.clientCap ?? 0))
    sink.announce({ 'x-millrace-max-output-tokens': String(hold.cap) })
  if (request.ignoredTools.length > 0) sink.announce(ignoredToolsHeader(request.ignoredTools))
  const inBackground = request.protocol === 'responses' && request.inBackground
  // With an idempotency key the client may fetch the answer later, so a disconnect does not stop the turn.
  const stopsWithClient = claim === undefined && !inBackground
  const cancellation = new Cancellation(services, caller.account, stopsWithClient ? sink : undefined)
  const turn: Turn = Object.assign(planned, {
    ...{ sink, hold, encoder, keeper, releaseGate, cancellation },
    streamedTokens: 0,
  })
  keeper?.watch(services.running, {
    // A mark of nothing would charge the input after a crash.
    onFollowed: () => void (turn.streamedTokens > 0 && hold.mark(turn.streamedTokens)),
    cancel: inBackground ? () => cancellation.cancel() : undefined,
  })
  try {
    // Near the edge of any balance or limit the hold must be durable before the provider is called; else only before content.
    const mayCallAtOnce = hold.mayCallBeforeDurable && !inBackground
    if (!mayCallAtOnce) hold.hurry()
    const problem = mayCallAtOnce ? undefined : await releaseGate.opened
    if (problem === undefined && inBackground && encoder.protocol === 'responses' && request.delivery === 'json')
      sink.accept(Buffer.from(encoder.withoutItems('in_progress')))
    const run: ProviderRun = problem
      ? { result: { kind: 'withheld', problem }, lane: undefined, attempts: [], firstContentAt: undefined }
      : await attemptLanes(
          services,
          turn,
          lanes.length === 1 ? lanes : planLanes(lanes, { random, shareOf: health.shareOf, origin: previousOrigin }),
        )
    return await endTurn(services, turn, run)
  } catch (error) {
    const wasQuiet = sink.phase === 'quiet'
    sendInternalError(turn)
    if (keeper) await (wasQuiet ? keeper.forget() : keeper.end('internal_error'))
    throw error
  } finally {
    cancellation.release()
    keeper?.release()
  }
}

/** `mayOpen` is false while a response that the encoder opens could not be fetched by its id. */
export function createResponsesEncoder(
  { mint, now, seals }: Pick<TurnServices, 'mint' | 'now' | 'seals'>,
  turn: Omit<TurnInput, 'request' | 'sink' | 'startedAt'> & {
    readonly request: ResponsesRequest
    readonly entry: { readonly id: string; readonly model: Pick<Model, 'retriesBrokenArguments'> }
    readonly effort: Effort | undefined
  },
  mayOpen: () => boolean,
): ResponsesEncoder {
  const { request, requestId, caller, program, entry, effort } = turn
  const { sealReasoning, sealCompaction } = envelopesOf(seals, caller.accountId)
  return new ResponsesEncoder({
    request,
    model: entry.id,
    effort,
    requestId,
    mint,
    now,
    mayOpen,
    program,
    responseId: mint.responseId(),
    sealReasoning,
    sealCompaction,
    holdsCalls: entry.model.retriesBrokenArguments,
    createdAt: Math.floor(now() / 1000),
  })
}

/** R1: the hold is durable, and so is the row of a response that may be fetched by its id. */
async function openReleaseGate(
  gate: ReleaseGate,
  hold: AdmittedTurn,
  keeper: AnswerKeeper | undefined,
): Promise<Problem | undefined> {
  if ((await hold.durable) !== 'durable') return ledgerUnavailable()
  const begun = keeper?.begun
  if (begun !== undefined && !(await begun)) {
    const what =
      'The response cannot be stored at the moment; to run the request without storing it, set "store": false.'
    return retryableProblem('server_is_overloaded', what, { retryAfterSeconds: 2 })
  }
  gate.isOpen = true
  return undefined
}

const NOTHING_CACHED = { cachedInput: 0, cacheWrite: 0 }

/** After the provider: what the turn costs, the kept answer, the settle, the final frames. */
async function endTurn(services: TurnServices, turn: Turn, run: ProviderRun): Promise<TurnRecord> {
  const { sink, keeper, prompt, price, conversationKeys, previousOrigin, guarded } = turn
  const { sticky, seenPrefixes, prefixGuard, ledger } = services
  const decided = decideEnding(turn, run, services.estimators.of(run.lane?.id ?? ''), services.nowMicros())
  let { ending } = decided
  if (ending.owed) {
    // A provider has read the conversation, and has it in its cache for a while.
    if (run.lane && conversationKeys)
      sticky.remember(conversationKeys, { origin: run.lane.origin, previousOrigin: previousOrigin })
    if (prompt && price.cachedInput < price.input) seenPrefixes.remember(prompt)
    // An estimate of what the provider had in its cache is no count of it.
    if (guarded) prefixGuard.remember(guarded, ending.owed.usage.estimated ? NOTHING_CACHED : ending.owed.usage)
  }
  const keptFrames = keeper && createKeptFrames(turn, run.result, ending.owed)
  if (keptFrames) ending = await keepAnswer(turn, run.result, ending, keptFrames)
  const settled = await turn.hold.settle(ending)
  // A keep-alive may have sent the head meanwhile.
  const wasQuiet = sink.phase === 'quiet'
  if (wasQuiet) sink.announce(limitHeaders(ledger.limitStatuses(turn.admitRequest.limits)))
  const sentProblem = deliverEnd(turn, { result: run.result, owed: ending.owed, keptFrames }, settled)
  // After an error status the client must find nothing, and neither where another node has released the turn. Recovery charges for the
  // other turns that it has ended, or will.
  const isForgotten = settled.kind === 'not-ours' ? settled.isReleased : sentProblem && wasQuiet
  if (keeper) await (isForgotten ? keeper.forget() : keeper.end(ending.outcome))
  const isSettled = settled.kind === 'settled'
  const isUncharged = settled.kind === 'not-ours' || settled.kind === 'lost'
  return {
    model: turn.entry.model.id,
    lane: ending.lane,
    attempts: ending.attempts,
    // A complete answer whose charge is not known to be recorded was not sent as one (deliver-end.ts).
    outcome: isUncharged && ending.outcome === 'completed' ? 'ledger_unavailable' : ending.outcome,
    problem: sentProblem?.code,
    usage: ending.owed?.usage,
    compaction: ending.compaction,
    charge: isSettled ? settled.charge : undefined,
    shortfall: isSettled ? settled.shortfall : undefined,
    firstByteMs: ending.firstByteMs,
    totalMs: ending.totalMs,
    estimateError: decided.misses?.estimateError,
    inputEstimateError: decided.misses?.inputEstimateError,
    laneWork: decided.laneWork,
  }
}

/** Keeps a complete answer before its charge, which it already states. */
async function keepAnswer(
  { hold, keeper, releaseGate }: Turn,
  result: AttemptResult,
  ending: Ending,
  keptFrames: KeptFrames,
): Promise<Ending> {
  const { owed } = ending
  if (!keeper || !owed || (result.kind !== 'finished' && result.kind !== 'broken-off')) return ending
  // R1: an answer that may be fetched counts as delivered, and without a hold it could not be charged after a crash.
  if (!releaseGate.isOpen) hold.hurry()
  if ((await hold.durable) !== 'durable') return ending
  const { charge } = chargeWithin(hold.heldAmount, owed)
  const settled = result.kind === 'finished' ? { charge, tier: owed.tier } : undefined
  return keeper.keep(ending, { encode: () => keptFrames.encode(settled), forget: keptFrames.forget })
}

function refuseTurn(
  services: TurnServices,
  { sink, startedAt }: TurnInput,
  model: Model | undefined,
  problem: Problem,
): TurnRecord {
  sink.refuse(problem)
  const totalMs = msBetween(startedAt, services.nowMicros())
  return { model: model?.id, outcome: 'refused', problem: problem.code, totalMs }
}

interface EarlyRefusalServices {
  readonly ledger: Pick<Ledger, 'gate' | 'limitRefusal' | 'isWalletEmpty'>
  readonly catalog: Catalog
  readonly limits: ConfiguredLimits
}

/**
 * Refuses before the body is read: for an empty wallet, unless the key may call a free model, and for a limit on requests of its
 * key or account. Nothing is taken from a limit here. Limits on tokens and models need the body.
 */
export async function earlyRefusal(
  { ledger, catalog, limits }: EarlyRefusalServices,
  caller: Caller,
): Promise<Problem | undefined> {
  if (!ledger.gate.open) return undefined
  if (caller.kind === 'wallet') {
    const looked = ledger.isWalletEmpty(caller.account)
    const isEmpty = looked instanceof Promise ? await looked : looked
    if (isEmpty && !visibleModels(catalog, caller).some(({ model: { price } }) => price && isFree(price))) {
      const message = 'The wallet is empty. Add funds to the account, then send the request again.'
      return problem('insufficient_balance', message)
    }
  }
  // Admission refuses a Builder key without a plan: waiting for a limit would not help.
  if (caller.kind === 'builder' && caller.plan === undefined) return undefined
  const limited = ledger.limitRefusal(limitsOfCaller(limits, caller).withoutTokens)
  return limited && rateLimitProblem(limited)
}
