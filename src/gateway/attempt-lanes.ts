import type { Lane } from '../catalog/catalog.ts'
import { msBetween, wholeSeconds } from '../lib/clock.ts'
import type { Attempt } from '../model/ending.ts'
import { type Problem, problem, retryableProblem, withRetryAfter } from '../model/problem.ts'
import { type RefusalClass, refusesTrigger } from '../protocols/refusals/provider-error.ts'
import type { LaneDialect } from '../protocols/wires.ts'
import type { LanePermit, LaneVerdict } from '../routing/circuit-breaker.ts'
import { capOn } from '../routing/learned-capabilities.ts'
import type { CallTrace } from '../telemetry/tracing.ts'
import type { AttemptResult, FailedLane, LaneAttempt, ProviderRun } from './attempt.ts'
import { type AttemptOptions, type CalledLane, callLane, stopped } from './call-lane.ts'
import type { Turn, TurnServices } from './turn.ts'
import { commonProblem } from './upstream-errors.ts'

/** Clients wait no longer than a few attempts take. */
const ATTEMPTS_MAX = 3
/** Each further attempt may bill the operator again for one answer that the client pays once. */
const ATTEMPTS_AFTER_POSSIBLE_BILLING_MAX = 1

/** What a turn has tried so far. */
interface Progress {
  readonly attempts: Attempt[]
  /** In order. After a wait the same lane may be in it twice. */
  readonly failures: { readonly lane: Lane; readonly result: FailedLane }[]
  last: Lane | undefined
  attemptsLeft: number
  /** A call was repeated after a slip of the model, which happens once a turn. */
  hasRepeated: boolean
}

/**
 * Failover (fallbacks): calls one lane after another until one answers. Lanes with an open circuit are skipped. A failure
 * before the first content moves on to the next lane; if the provider may have done the work, to one more lane only. After
 * the first content there is no failover. If every circuit is open, a few requests at a time probe a failing lane, and the others wait a little
 * for the lane whose circuit will be half-open first.
 */
export async function attemptLanes(services: TurnServices, turn: Turn, lanes: readonly Lane[]): Promise<ProviderRun> {
  const { health, retryBudget, nowMicros } = services
  const { cancellation, caller } = turn
  const progress: Progress = {
    attempts: [],
    failures: [],
    last: undefined,
    attemptsLeft: ATTEMPTS_MAX,
    hasRepeated: false,
  }
  const beganAt = nowMicros()
  do {
    for (const lane of lanes) {
      if (progress.attemptsLeft === 0) break
      const permit = health.permit(lane, caller.account)
      if (permit === undefined) continue
      // A refusal that is only about this request uses no retry budget.
      const isRetry = progress.failures.some(({ result }) => result.verdict !== undefined)
      if (isRetry && !retryBudget.take(turn.entry.model)) {
        permit.release?.()
        // The first failure is the answer.
        progress.failures.length = 1
        progress.attemptsLeft = 0
        break
      }
      const run = await attemptLane(services, turn, progress, { lane, permit })
      if (run) return run
    }
    const run = await probeLane(services, turn, lanes, progress)
    if (run) return run
  } while (await waitForLane(services, turn, lanes, { progress, beganAt }))
  const { attempts, last } = progress
  const result: AttemptResult = cancellation.abortReason
    ? stopped(cancellation.abortReason)
    : {
        kind: 'failed',
        problem: problemOf(services, lanes, progress),
        failsOnEveryLane: false,
        mayBeBilled: false,
        verdict: undefined,
      }
  return { result, lane: last, attempts, firstContentAt: undefined }
}

interface PermittedLane {
  readonly lane: Lane
  readonly permit: LanePermit
}

const SUCCEEDED: LaneVerdict = { kind: 'succeeded' }

interface CappedTurn {
  readonly request: Pick<Turn['request'], 'outputCap'>
  readonly hold: Pick<Turn['hold'], 'cap'>
}

/** The output cap of one lane. The hold may cover more, for a lane of the turn whose minimum is above the client's cap. */
export const laneCap = ({ request: { outputCap }, hold }: CappedTurn, lane: Lane): number =>
  outputCap === undefined ? hold.cap : Math.min(capOn(lane, outputCap), hold.cap)

/**
 * Calls one lane, and again with other options while a retry rule applies to its refusal. Undefined: the lane failed, and another
 * one may be called.
 */
async function attemptLane(
  services: TurnServices,
  turn: Turn,
  progress: Progress,
  { lane, permit }: PermittedLane,
): Promise<ProviderRun | undefined> {
  const { capabilities, retryBudget, nowMicros } = services
  const { cancellation } = turn
  const { attempts, failures } = progress
  progress.attemptsLeft--
  progress.last = lane
  const attempt: LaneAttempt = {
    lane,
    permit,
    attempts,
    outputCap: laneCap(turn, lane),
    calledAt: nowMicros(),
    firstContentAt: undefined,
    trace: undefined,
    tierInHead: undefined,
    hiddenReasoning: 'no',
  }
  let calledAt = attempt.calledAt
  let result: AttemptResult
  try {
    const withoutFields = capabilities.refusedLately({ lane: lane.id, effort: turn.effort })
    let options: AttemptOptions | undefined =
      withoutFields.length === 0 ? DEFAULT_OPTIONS : { ...DEFAULT_OPTIONS, withoutFields }
    do {
      // A cancel before the call costs nothing.
      if (cancellation.abortReason) {
        result = stopped(cancellation.abortReason)
        break
      }
      let dialect = capabilities.dialectOf(lane)
      if (options.withoutFields.length > 0)
        dialect = { ...dialect, withoutFields: [...dialect.withoutFields, ...options.withoutFields] }
      attempt.trace = turn.trace?.startCall({
        ...{ lane, requestId: turn.requestId, outputCap: attempt.outputCap },
        isStream: turn.request.delivery === 'stream',
      })
      const called = await callLane(services, turn, attempt, { dialect, options })
      const { status, outcome } = called
      const now = nowMicros()
      calledAt = attempt.calledAt
      attempts.push({ lane: lane.id, outcome, status, ms: msBetween(calledAt, now) })
      attempt.calledAt = now
      if (attempt.trace) endCallTrace(attempt.trace, called, attempt.firstContentAt, calledAt)
      result = called.result
      options =
        result.kind === 'failed'
          ? retryOptions({ services, turn, progress, lane, dialect, options, result, called })
          : undefined
    } while (options !== undefined)
    // A turn that is stopped from outside says nothing about its lane.
    if (result.kind === 'finished') {
      attempt.firstContentAt ??= nowMicros()
      permit.report(SUCCEEDED)
      retryBudget.succeeded(turn.entry.model)
    } else if (result.kind === 'broken-off') {
      permit.report({ kind: 'failed' })
    } else if (result.kind === 'failed' && result.verdict !== undefined) {
      permit.report(result.verdict)
    }
  } finally {
    permit.release?.()
    attempt.trace?.close()
  }
  if (result.kind !== 'failed' || result.failsOnEveryLane || cancellation.abortReason) {
    const { firstContentAt } = attempt
    const laneFirstByteMs = firstContentAt === undefined ? undefined : msBetween(calledAt, firstContentAt)
    return { result, lane, attempts, firstContentAt, laneFirstByteMs }
  }
  failures.push({ lane, result })
  const attemptsMax = progress.hasRepeated ? 0 : ATTEMPTS_AFTER_POSSIBLE_BILLING_MAX
  if (result.mayBeBilled) progress.attemptsLeft = Math.min(progress.attemptsLeft, attemptsMax)
  return undefined
}

function endCallTrace(
  trace: CallTrace,
  { result, status, outcome }: CalledLane,
  ...[firstContentAt, calledAt]: [firstContentAt: number | undefined, calledAt: number]
): void {
  const used = result.kind === 'failed' || result.kind === 'withheld' ? undefined : result.used
  trace.end({
    ...{ outcome, status },
    usage: used?.usage ?? used?.usageSoFar,
    finishReasons: used?.finishReasons ?? [],
    firstContentMs: firstContentAt === undefined ? undefined : msBetween(calledAt, firstContentAt),
  })
}

/** Probes the first lane that admits a probe while its circuit is open, unless a lane has already failed this turn. */
async function probeLane(
  services: TurnServices,
  turn: Turn,
  lanes: readonly Lane[],
  progress: Progress,
): Promise<ProviderRun | undefined> {
  if (progress.failures.length > 0 || turn.cancellation.abortReason) return undefined
  for (const lane of lanes) {
    const permit = services.health.probe(lane, turn.caller.account)
    if (permit !== undefined) return attemptLane(services, turn, progress, { lane, permit })
  }
  return undefined
}

/** The shortest wait: another request may be on trial, and its result is known soon. */
const TRIAL_MS = 200

interface WaitTerms {
  readonly progress: Progress
  /** Monotonic microseconds. */
  readonly beganAt: number
}

/** Waits until the first lane may be called again. False: that is too far off, or too many requests wait. */
async function waitForLane(
  { health, retryWait, nowMicros }: TurnServices,
  { cancellation, caller }: Turn,
  lanes: readonly Lane[],
  { progress, beganAt }: WaitTerms,
): Promise<boolean> {
  const circuits = lanes.flatMap((lane) => health.openCircuitOf(lane) ?? [])
  if (progress.attemptsLeft === 0 || cancellation.abortReason || circuits.length < lanes.length) return false
  // Waiting does not help where only the operator can fix it.
  if (circuits.every(({ reason }) => reason === 'locked-out')) return false
  const now = nowMicros()
  const waitMs = Math.max(TRIAL_MS, (Math.min(...circuits.map(({ until }) => until)) - now) / 1000)
  if (now + 1000 * waitMs > beganAt + 1000 * retryWait.maxMs()) return false
  return retryWait.wait(waitMs, caller.account, cancellation)
}

function problemOf(services: TurnServices, lanes: readonly Lane[], { failures }: Progress): Problem {
  const { health } = services
  const retryAfterSeconds = secondsUntilRetry(services, lanes, failures)
  if (failures.length > 0) {
    return withRetryAfter(commonProblem(failures.map(({ result }) => result.problem)), retryAfterSeconds)
  }
  const circuits = lanes.flatMap((lane) => health.openCircuitOf(lane) ?? [])
  // Every lane has answered 429 lately.
  if (circuits.length > 0 && circuits.every(({ reason }) => reason === 'busy')) {
    const what = 'Every provider of this model is limiting requests at the moment (rate limit).'
    return retryableProblem('upstream_busy', what, { source: 'upstream', retryAfterSeconds })
  }
  if (circuits.length === lanes.length && circuits.every(({ reason }) => reason === 'locked-out')) {
    return problem('provider_misconfigured', LOCKED_OUT, { source: 'upstream' })
  }
  return retryableProblem('no_lane_available', NO_LANE, { retryAfterSeconds })
}

const LOCKED_OUT =
  'Every provider of this model refuses the credential, the account or the model name of this server. Nothing was charged. Tell the operator of this server; requests for this model cannot be served until that is fixed.'
const NO_LANE = 'All providers of this model are overloaded or failing with server errors.'

const RETRY_SECONDS_MAX = 600

/**
 * How soon a lane may be called again. The circuit of a lane tells, else the lane's last failure; a lane that was not called may
 * be called at once.
 */
function secondsUntilRetry(
  { health, nowMicros }: TurnServices,
  lanes: readonly Lane[],
  failures: Progress['failures'],
): number {
  const now = nowMicros()
  const waits = lanes.map((lane) => {
    const circuit = health.openCircuitOf(lane)
    // After the interval a trial is running, and its result is known soon.
    if (circuit) return wholeSeconds((circuit.until - now) / 1000)
    return failures.findLast((failure) => failure.lane === lane)?.result.problem.retryAfterSeconds ?? 1
  })
  return Math.min(...waits, RETRY_SECONDS_MAX)
}

const DEFAULT_OPTIONS: AttemptOptions = {
  rulesApplied: 0,
  withoutFields: [],
  withoutSeals: false,
  withoutNativeCompaction: false,
}

/** What a retry rule decides on: with which options the same lane is called again, if at all. */
interface FailedAttempt {
  readonly services: TurnServices
  readonly turn: Turn
  readonly progress: Progress
  readonly lane: Lane
  readonly dialect: LaneDialect
  readonly options: AttemptOptions
  readonly result: FailedLane
  readonly called: CalledLane
}

const retryOptions = (call: FailedAttempt): AttemptOptions | undefined =>
  retryWithoutField(call) ?? retryWithoutSeals(call) ?? retryWithoutNativeCompaction(call) ?? retryUnchanged(call)

/** A server that refuses more fields than these is not a server that we know. */
const RULES_A_TURN_MAX = 3

/** A field that we add is learned for all turns; one that the client sent is left out of this turn, and of like ones for a while. */
function retryWithoutField({
  services,
  turn,
  lane,
  dialect,
  options,
  called,
}: FailedAttempt): AttemptOptions | undefined {
  const { refusal } = called
  if (refusal?.kind !== 'unsupported-field' || options.rulesApplied >= RULES_A_TURN_MAX) return undefined
  const rulesApplied = options.rulesApplied + 1
  if (services.capabilities.learn(lane.id, dialect, refusal.error)) return { ...options, rulesApplied }
  const asked = { lane: lane.id, effort: turn.effort }
  const dropped = services.capabilities.droppedOnce(dialect, refusal.error, asked)
  if (dropped.length === 0) return undefined
  return { ...options, rulesApplied, withoutFields: [...options.withoutFields, ...dropped] }
}

/** Earlier reasoning is not worth a failed turn. A Chat relay gives back nothing but what its client sent. */
function retryWithoutSeals({ turn: { request }, dialect, options, result }: FailedAttempt): AttemptOptions | undefined {
  if (!result.refusesSeals || options.withoutSeals) return undefined
  const mayGiveSeals = request.protocol === 'responses' ? request.sealed.size > 0 : dialect.wire !== 'chat'
  return mayGiveSeals ? { ...options, withoutSeals: true } : undefined
}

/**
 * After a slip of the model the same request usually succeeds. After malformed output the next lane gets it, or the only lane
 * once more. After broken arguments the same lane gets it once more, where the entry of the model says so: that lane has
 * the prompt in its cache.
 */
function retryUnchanged({ services, turn, progress, options, result }: FailedAttempt): AttemptOptions | undefined {
  const { model } = turn.entry
  if (progress.hasRepeated) return undefined
  if (result.brokenArguments) {
    if (!model.retriesBrokenArguments || !services.retryBudget.take(model)) return undefined
  } else if (!result.malformedOutput || model.lanes.length !== 1) return undefined
  progress.hasRepeated = true
  progress.attemptsLeft = Math.min(progress.attemptsLeft, ATTEMPTS_AFTER_POSSIBLE_BILLING_MAX)
  return options
}

/** How a server may refuse that does not know compaction. */
const CANNOT_COMPACT: ReadonlySet<RefusalClass> = new Set(['rejected', 'unsupported-field', 'not-found'])

function retryWithoutNativeCompaction({ services, lane, options, called }: FailedAttempt): AttemptOptions | undefined {
  const { conversion, refusal } = called
  if (conversion.nativeCompaction === undefined) return undefined
  const hasFailed = conversion.nativeCompaction.hasFailed()
  if (!hasFailed && !(refusal !== undefined && CANNOT_COMPACT.has(refusal.kind))) return undefined
  // A fault of one request must not change the requests of other clients.
  if (hasFailed || (refusal && refusesTrigger(refusal.error))) services.capabilities.learnNoCompaction(lane.id)
  return { ...options, withoutNativeCompaction: true }
}
