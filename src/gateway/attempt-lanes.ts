import type { Lane } from '../catalog/catalog.ts'
import { wholeSeconds } from '../lib/clock.ts'
import type { Attempt } from '../model/ending.ts'
import { type Problem, problem, retryableProblem, withRetryAfter } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { SeenPrefixes } from '../pricing/seen-prefixes.ts'
import type { LaneDialect } from '../protocols/codecs.ts'
import { type RefusalClass, refusesTrigger } from '../protocols/refusals/provider-error.ts'
import type { LaneHealth, LanePermit } from '../routing/lane-health.ts'
import { type LearnedCapabilities, laneDialect } from '../routing/learned-capabilities.ts'
import type { StickyLanes } from '../routing/plan-lanes.ts'
import type { RetryAfter, RetryBudget } from '../routing/retry-budget.ts'
import { type FailedLane, LaneAttempt, type LaneServices, type Run, type RunFate } from './attempt.ts'
import { type AttemptOptions, type CalledLane, callLane, stopped } from './call-lane.ts'
import { releaseBody } from './request-memory.ts'
import type { RunningTurn } from './turn.ts'
import { commonProblem } from './upstream-errors.ts'

export interface RunDeps extends LaneServices {
  readonly health: LaneHealth
  readonly retries: RetryBudget
  readonly sticky: StickyLanes
  readonly seen: SeenPrefixes
  readonly patience: RetryAfter
}

/** Trying every lane of a long list would keep the client waiting for longer than it waits. */
const ATTEMPTS_MAX = 3
/** Each further lane may be billed for the same answer once more, and only one of them is charged to the client. */
const ATTEMPTS_AFTER_DOUBT_MAX = 1

interface FailedTry {
  readonly lane: Lane
  readonly fate: FailedLane
}

/** The progress of a turn through its lanes. */
interface Running {
  readonly attempts: Attempt[]
  /** In order. After a wait the same lane may be in it twice. */
  readonly failures: FailedTry[]
  last: Lane | undefined
  triesLeft: number
  /** Monotonic microseconds: it waits for no lane beyond this time. */
  readonly patientUntil: number
}

/**
 * Tries lane after lane until one has answered or none is left; those that are put aside are passed over. A failure before
 * the first content moves on to the next lane, but where a provider may have done the work unseen only to one more; after
 * the first content there is no other lane any more. Where every lane is put aside, a few requests at a time probe one that
 * fails, and the others wait a little for the lane that will be tried again first.
 */
export async function attemptLanes(deps: RunDeps, turn: RunningTurn, lanes: readonly Lane[]): Promise<Run> {
  const running: Running = {
    ...{ attempts: [], failures: [], last: undefined, triesLeft: ATTEMPTS_MAX },
    patientUntil: deps.nowMicros() + 1000 * deps.patience.mostMs(),
  }
  for (;;) {
    const answered = (await askInTurn(deps, turn, lanes, running)) ?? (await askProbe(deps, turn, lanes, running))
    if (answered) return answered
    if (!(await waitForLane(deps, turn, lanes, running))) break
  }
  const { attempts, last } = running
  const { abortReason } = turn.cancellation
  if (abortReason)
    return { fate: stopped(abortReason, undefined).fate, lane: last, attempts, firstContentAt: undefined }
  return { fate: unanswered(problemOf(deps, lanes, running.failures)), lane: last, attempts, firstContentAt: undefined }
}

/** Undefined: no lane has answered. */
async function askInTurn(
  deps: RunDeps,
  turn: RunningTurn,
  lanes: readonly Lane[],
  running: Running,
): Promise<Run | undefined> {
  for (const lane of lanes) {
    if (running.triesLeft === 0) return undefined
    const permit = deps.health.permit(lane, turn.caller.account)
    if (permit === undefined) continue
    if (!mayRetry(deps, turn, running)) {
      permit.release()
      return undefined
    }
    const answered = await ask(deps, turn, running, { lane, permit })
    if (answered) return answered
  }
  return undefined
}

/** No more retries: the first failure is the answer. */
function mayRetry(deps: RunDeps, turn: RunningTurn, running: Running): boolean {
  if (!isRetry(running.failures) || deps.retries.take(turn.entry.model)) return true
  running.failures.length = 1
  running.triesLeft = 0
  return false
}

/** Probes the first lane that admits a probe although it is put aside, but only if this turn has not failed on a lane yet. */
async function askProbe(
  deps: RunDeps,
  turn: RunningTurn,
  lanes: readonly Lane[],
  running: Running,
): Promise<Run | undefined> {
  if (running.failures.length > 0 || turn.cancellation.abortReason) return undefined
  for (const lane of lanes) {
    const permit = deps.health.probe(lane, turn.caller.account)
    if (permit !== undefined) return ask(deps, turn, running, { lane, permit })
  }
  return undefined
}

interface PermittedLane {
  readonly lane: Lane
  readonly permit: LanePermit
}

async function ask(
  deps: RunDeps,
  turn: RunningTurn,
  running: Running,
  { lane, permit }: PermittedLane,
): Promise<Run | undefined> {
  const { attempts } = running
  running.triesLeft--
  running.last = lane
  // The next turn of the conversation may come before this one has ended.
  const onContent = () => {
    deps.sticky.remember(turn.names, { origin: lane.origin, cameFrom: turn.cameFrom })
    releaseBody(deps, turn)
  }
  const on = new LaneAttempt(lane, permit, { nowMicros: deps.nowMicros, onContent })
  const fate = await tryPermitted(deps, turn, on)
  attempts.push(...on.attempts)
  if (fate.kind === 'finished') deps.retries.succeeded(turn.entry.model)
  if (fate.kind !== 'failed' || fate.sameElsewhere || turn.cancellation.abortReason) {
    return { fate, lane, attempts, firstContentAt: on.firstContentAt }
  }
  running.failures.push({ lane, fate })
  if (fate.mayBeBilled) running.triesLeft = Math.min(running.triesLeft, ATTEMPTS_AFTER_DOUBT_MAX)
  return undefined
}

/** The shortest wait: another request may be trying a lane, and its result is known soon. */
const TRIAL_MS = 200

/** Waits until the first of the lanes may be tried again. False: that is too far off, or no request may wait any more. */
async function waitForLane(
  { health, patience, nowMicros }: RunDeps,
  turn: RunningTurn,
  lanes: readonly Lane[],
  { triesLeft, patientUntil }: Running,
): Promise<boolean> {
  const asides = lanes.flatMap((lane) => health.openCircuitOf(lane) ?? [])
  if (triesLeft === 0 || turn.cancellation.abortReason || asides.length < lanes.length) return false
  // Waiting does not help where only the operator can fix it.
  if (asides.every(({ reason }) => reason === 'locked-out')) return false
  const now = nowMicros()
  const waitMs = Math.max(TRIAL_MS, (Math.min(...asides.map(({ until }) => until)) - now) / 1000)
  if (now + 1000 * waitMs > patientUntil) return false
  return patience.wait(waitMs, turn.caller.account, turn.cancellation.signal)
}

/** Nobody has answered, or nobody could be asked. What each lane did has been told of it. */
const unanswered = (problem: Problem): FailedLane => ({
  kind: 'failed',
  problem,
  sameElsewhere: false,
  mayBeBilled: false,
  verdict: undefined,
})

/** After what a lane did not take of this one request, the next is no second try. */
const isRetry = (failures: readonly FailedTry[]): boolean => failures.some(({ fate }) => fate.verdict !== undefined)

async function tryPermitted(deps: LaneServices, turn: RunningTurn, on: LaneAttempt): Promise<RunFate> {
  try {
    const fate = await tryLane(deps, turn, on)
    on.ended(fate)
    return fate
  } finally {
    on.release()
  }
}

function problemOf(deps: RunDeps, lanes: readonly Lane[], failures: readonly FailedTry[]): Problem {
  const retryAfterSeconds = secondsUntilAsked(deps, lanes, failures)
  if (failures.length === 0) return nobodyToAsk(deps.health, lanes, retryAfterSeconds)
  return withRetryAfter(commonProblem(failures.map(({ fate }) => fate.problem)), retryAfterSeconds)
}

const LONGEST_SECONDS = 600

/**
 * How soon one of the lanes is asked again. That of one which is put aside is known; what one that is not has said of itself
 * last holds, and whoever was not asked may be at once.
 */
function secondsUntilAsked(
  { health, nowMicros }: RunDeps,
  lanes: readonly Lane[],
  failures: readonly FailedTry[],
): number {
  const now = nowMicros()
  const waits = lanes.map((lane) => {
    const aside = health.openCircuitOf(lane)
    // Who tries a lane whose time is over is soon back with an answer.
    if (aside) return wholeSeconds((aside.until - now) / 1000)
    return failures.findLast((failure) => failure.lane === lane)?.fate.problem.retryAfterSeconds ?? 1
  })
  return Math.min(...waits, LONGEST_SECONDS)
}

const LOCKED_OUT =
  'Every provider of this model refuses the credential, the account or the model name of this server. Nothing was charged. Tell the operator of this server; requests for this model cannot be served until that is fixed.'

/** What is said when every lane is put aside. */
function nobodyToAsk(health: LaneHealth, lanes: readonly Lane[], retryAfterSeconds: number): Problem {
  const asides = lanes.flatMap((lane) => health.openCircuitOf(lane) ?? [])
  if (asides.length > 0 && asides.every(({ reason }) => reason === 'busy')) {
    const what = 'Every provider of this model limits requests at the moment.'
    return retryableProblem('upstream_busy', what, { source: 'upstream', retryAfterSeconds })
  }
  if (asides.length === lanes.length && asides.every(({ reason }) => reason === 'locked-out')) {
    return problem('provider_misconfigured', LOCKED_OUT, { source: 'upstream' })
  }
  const what =
    'The providers of this model are overloaded or failed with server errors, and are left alone for a while.'
  return retryableProblem('no_lane_available', what, { retryAfterSeconds })
}

const PLAINLY: AttemptOptions = {
  ...{ rulesApplied: 0, withoutFields: [], withoutSeals: false, withoutNativeCompaction: false, onceMore: false },
}

/**
 * Tries one lane, which may be asked more than once: what it does not take, and what the turn is worth without, it is not
 * asked for again.
 */
async function tryLane(deps: LaneServices, turn: RunningTurn, on: LaneAttempt): Promise<RunFate> {
  const { lane } = on
  for (let options = PLAINLY; ; ) {
    // Who has gone before anybody was asked has cost nothing.
    if (turn.cancellation.abortReason) return stopped(turn.cancellation.abortReason, undefined).fate
    const dialect = without(deps.capabilities.dialectOf(lane.id, laneDialect(lane)), options.withoutFields)
    const asked = await callLane(deps, turn, on, { dialect, options })
    on.answered(asked.tried)
    const { capabilities } = deps
    const isOnly = turn.entry.model.lanes.length === 1
    const other = anotherManner({
      capabilities,
      request: turn.request,
      laneId: lane.id,
      isOnly,
      dialect,
      options,
      asked,
    })
    if (other === undefined) return asked.tried.fate
    options = other
  }
}

const without = (dialect: LaneDialect, fields: readonly string[]): LaneDialect =>
  fields.length === 0 ? dialect : { ...dialect, withoutFields: [...dialect.withoutFields, ...fields] }

interface Answered {
  readonly capabilities: LearnedCapabilities
  readonly request: TurnRequest
  readonly laneId: string
  /** There is no other lane to ask. */
  readonly isOnly: boolean
  readonly dialect: LaneDialect
  readonly options: AttemptOptions
  readonly asked: CalledLane
}

/** Asks the same lane in another manner; undefined where that is no help. */
type RetryRule = (answered: Answered) => AttemptOptions | undefined

/** What a lane may not take, and how it is asked without that. The first that helps is tried. */
const CURES: readonly RetryRule[] = [withoutField, withoutSeals, withoutNativeCompaction, onceMore]

function anotherManner(answered: Answered): AttemptOptions | undefined {
  if (answered.asked.tried.fate.kind !== 'failed') return undefined
  for (const retryRule of CURES) {
    const options = retryRule(answered)
    if (options) return options
  }
  return undefined
}

/** A server that refuses a field is asked again without it; one that refuses many is not our server. */
const LESSONS_A_TURN_MAX = 3

/** A field that we write is learned, one of the client's is left out of its one turn. */
function withoutField({
  capabilities,
  laneId,
  dialect,
  options,
  asked: { refusal },
}: Answered): AttemptOptions | undefined {
  if (refusal?.kind !== 'unsupported-field' || options.rulesApplied >= LESSONS_A_TURN_MAX) return undefined
  const rulesApplied = options.rulesApplied + 1
  if (capabilities.learn(laneId, dialect, refusal.error)) return { ...options, rulesApplied }
  const passing = capabilities.passing(dialect, refusal.error)
  if (passing.length === 0) return undefined
  return { ...options, rulesApplied, withoutFields: [...options.withoutFields, ...passing] }
}

/** What a model has thought before is not worth a turn that fails. A relay gives nothing back but what its client has sent. */
function withoutSeals({ request, dialect, options, asked: { tried } }: Answered): AttemptOptions | undefined {
  if (tried.fate.kind !== 'failed' || !tried.fate.refusesSeals || options.withoutSeals) return undefined
  const mayGiveSeals = request.protocol === 'responses' ? request.sealed.size > 0 : dialect.wire !== 'chat'
  return mayGiveSeals ? { ...options, withoutSeals: true } : undefined
}

/** After a slip of the model, the only lane of a model gets the same request once more; otherwise the next lane gets it. */
function onceMore({ isOnly, options, asked: { tried } }: Answered): AttemptOptions | undefined {
  if (!isOnly || options.onceMore || tried.fate.kind !== 'failed' || !tried.fate.slipped) return undefined
  return { ...options, onceMore: true }
}

/** What a server may say that has never heard of compaction. */
const CANNOT_COMPACT: ReadonlySet<RefusalClass> = new Set(['rejected', 'unsupported-field', 'not-found'])

function withoutNativeCompaction({
  capabilities,
  laneId,
  options,
  asked: { strategy, refusal },
}: Answered): AttemptOptions | undefined {
  if (strategy.nativeCompaction === undefined) return undefined
  const hasNotCompacted = strategy.nativeCompaction.hasFailed()
  const refusesIt = refusal !== undefined && CANNOT_COMPACT.has(refusal.kind)
  if (!hasNotCompacted && !refusesIt) return undefined
  // What is wrong with one request must not be held against the server by everybody else's.
  if (hasNotCompacted || (refusal && refusesTrigger(refusal.error))) capabilities.learnNoCompaction(laneId)
  return { ...options, withoutNativeCompaction: true }
}
