import type { Lane } from '../../catalog/catalog.ts'
import { wholeSeconds } from '../../lib/whole-seconds.ts'
import type { SeenPrefixes } from '../../metering/seen-prefixes.ts'
import type { Attempt } from '../../model/ending.ts'
import { type Problem, passingIn, passingProblem } from '../../model/problem.ts'
import type { LaneHealth } from '../../routing/lane-health.ts'
import type { RetryBudget } from '../../routing/retry-budget.ts'
import type { StickyLanes } from '../../routing/sticky-lanes.ts'
import { releaseBody } from '../request-memory.ts'
import type { RunningTurn } from '../running-turn.ts'
import { type LaneDeps, LaneTry } from './lane-try.ts'
import { commonProblem } from './provider-refusal.ts'
import type { FailedLane, Run, RunFate } from './run.ts'
import { tryLane } from './try-lane.ts'

export interface RunDeps extends LaneDeps {
  readonly health: LaneHealth
  readonly retries: RetryBudget
  readonly sticky: StickyLanes
  readonly seen: SeenPrefixes
}

/** Trying every lane of a long list would keep the client waiting for longer than it waits. */
const ATTEMPTS_MAX = 3
/** Each further lane may be billed for the same answer once more, and only one of them is charged to the client. */
const ATTEMPTS_AFTER_DOUBT_MAX = 1

interface FailedTry {
  readonly lane: Lane
  readonly fate: FailedLane
}

/**
 * Tries lane after lane until one has answered or none is left; those that are put aside are passed over. A failure before
 * the first content moves on to the next lane, but where a provider may have done the work unseen only to one more; after
 * the first content there is no other lane any more.
 */
export async function runLanes(deps: RunDeps, turn: RunningTurn, lanes: readonly Lane[]): Promise<Run> {
  const { model } = turn.entry
  const attempts: Attempt[] = []
  const failures: FailedTry[] = []
  let last: Lane | undefined
  let triesLeft = ATTEMPTS_MAX
  for (const lane of lanes) {
    if (triesLeft === 0) break
    const visit = deps.health.visit(lane)
    if (visit === undefined) continue
    if (isRetry(failures) && !deps.retries.take(model)) {
      visit.leave()
      // No more retries: the first failure is the answer.
      failures.length = 1
      break
    }
    triesLeft--
    last = lane
    // The next turn of the conversation may come before this one has ended.
    const onContent = () => {
      deps.sticky.remember(turn.names, { origin: lane.origin, cameFrom: turn.cameFrom })
      releaseBody(deps, turn)
    }
    const on = new LaneTry(lane, visit, { ticks: deps.ticks, onContent })
    const fate = await tryVisited(deps, turn, on)
    attempts.push(...on.attempts)
    if (fate.kind === 'finished') deps.retries.succeeded(model)
    if (fate.kind !== 'failed' || fate.sameElsewhere || turn.stop.calledOff) {
      return { fate, lane, attempts, firstContentAt: on.firstContentAt }
    }
    failures.push({ lane, fate })
    if (fate.mayBeBilled) triesLeft = Math.min(triesLeft, ATTEMPTS_AFTER_DOUBT_MAX)
  }
  return { fate: unanswered(problemOf(deps, lanes, failures)), lane: last, attempts, firstContentAt: undefined }
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

async function tryVisited(deps: LaneDeps, turn: RunningTurn, on: LaneTry): Promise<RunFate> {
  try {
    const fate = await tryLane(deps, turn, on)
    on.ended(fate)
    return fate
  } finally {
    on.leave()
  }
}

function problemOf(deps: RunDeps, lanes: readonly Lane[], failures: readonly FailedTry[]): Problem {
  const retryAfterSeconds = secondsUntilAsked(deps, lanes, failures)
  if (failures.length === 0) return nobodyToAsk(deps.health, lanes, retryAfterSeconds)
  return passingIn(commonProblem(failures.map(({ fate }) => fate.problem)), retryAfterSeconds)
}

const LONGEST_SECONDS = 600

/**
 * How soon one of the lanes is asked again. That of one which is put aside is known; what one that is not has said of itself
 * holds, and whoever was not asked may be at once.
 */
function secondsUntilAsked({ health, ticks }: RunDeps, lanes: readonly Lane[], failures: readonly FailedTry[]): number {
  const now = ticks()
  const waits = lanes.map((lane) => {
    const aside = health.asideOf(lane)
    // Who tries a lane whose time is over is soon back with an answer.
    if (aside) return wholeSeconds((aside.until - now) / 1000)
    return failures.find((failure) => failure.lane === lane)?.fate.problem.retryAfterSeconds ?? 1
  })
  return Math.min(...waits, LONGEST_SECONDS)
}

/** What is said when every lane is put aside. */
function nobodyToAsk(health: LaneHealth, lanes: readonly Lane[], retryAfterSeconds: number): Problem {
  const asides = lanes.flatMap((lane) => health.asideOf(lane) ?? [])
  if (asides.length > 0 && asides.every(({ reason }) => reason === 'busy')) {
    const what = 'Every provider of this model limits requests at the moment.'
    return passingProblem('upstream_busy', what, { source: 'upstream', retryAfterSeconds })
  }
  const what = 'No provider can serve this model now: those that could have failed and are left alone for a while.'
  return passingProblem('no_lane_available', what, { retryAfterSeconds })
}
