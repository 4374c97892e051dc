import type { Lane } from '../catalog/catalog.ts'
import type { Attempt } from '../ledger/ledger.ts'
import type { Problem } from '../model/problem.ts'
import type { LaneHealth, LaneVerdict, LaneVisit } from '../routing/lane-health.ts'
import type { RetryBudget } from '../routing/retry-budget.ts'
import type { TriedLane } from './ask-lane.ts'
import { nobodyToAsk } from './no-lane.ts'
import { commonProblem, failed } from './provider-refusal.ts'
import type { FailedLane, Run, RunFate } from './run.ts'
import type { LaneDeps, RunnableTurn } from './runnable-turn.ts'
import { tryLane } from './try-lane.ts'

export interface RunDeps extends LaneDeps {
  readonly health: LaneHealth
  readonly retries: RetryBudget
}

/** Trying every lane of a long list would keep the client waiting for longer than it waits. */
const ATTEMPTS_MAX = 3
/** Each further lane may be billed for the same answer once more, and only one of them is charged to the client. */
const ATTEMPTS_AFTER_DOUBT_MAX = 1

/**
 * Tries lane after lane until one has answered or none is left; those that are put aside are passed over. A failure before
 * the first content moves on to the next lane, but where a provider may have done the work unseen only to one more; after
 * the first content there is no other lane any more.
 */
export async function runLanes(deps: RunDeps, work: RunnableTurn, lanes: readonly Lane[]): Promise<Run> {
  const { model } = work.entry
  const attempts: Attempt[] = []
  const failures: FailedLane[] = []
  let firstContentAt: number | undefined
  let last: Lane | undefined
  let triesLeft = ATTEMPTS_MAX
  for (const lane of lanes) {
    if (triesLeft === 0) break
    const visit = deps.health.visit(lane)
    if (visit === undefined) continue
    if (isRetry(failures) && !deps.retries.take(model)) {
      visit.leave()
      failures.length = 1
      break
    }
    triesLeft--
    last = lane
    const startedAt = deps.ticks()
    const { fate, status, outcome } = await tryVisited(deps, work, lane, visit, () => {
      firstContentAt = deps.ticks()
    })
    attempts.push({ lane: lane.id, outcome, status, ms: msBetween(startedAt, deps.ticks()) })
    if (fate.kind === 'finished') {
      firstContentAt ??= deps.ticks()
      deps.retries.succeeded(model)
    }
    if (fate.kind !== 'failed' || fate.sameElsewhere || work.abort.reason)
      return { fate, lane, attempts, firstContentAt }
    failures.push(fate)
    if (fate.mayBeBilled) triesLeft = Math.min(triesLeft, ATTEMPTS_AFTER_DOUBT_MAX)
  }
  return { fate: failed(problemOf(deps, lanes, failures)), lane: last, attempts, firstContentAt }
}

/** After what a lane did not take of this one request, the next is no second try. */
const isRetry = (failures: readonly FailedLane[]): boolean => failures.some(({ verdict }) => verdict !== undefined)

function problemOf({ health, ticks }: RunDeps, lanes: readonly Lane[], failures: readonly FailedLane[]): Problem {
  if (failures.length === 0) return nobodyToAsk(health, lanes, ticks())
  return commonProblem(failures.map(({ problem }) => problem))
}

/** What the turn finds out about the lane is told as soon as it is known: others wait for it. */
async function tryVisited(
  deps: LaneDeps,
  work: RunnableTurn,
  lane: Lane,
  visit: LaneVisit,
  onFirstContent: () => void,
): Promise<TriedLane> {
  try {
    const tried = await tryLane(deps, work, lane, () => {
      onFirstContent()
      visit.tell(WELL)
    })
    const verdict = verdictOf(tried.fate)
    if (verdict) visit.tell(verdict)
    return tried
  } finally {
    visit.leave()
  }
}

const WELL: LaneVerdict = { kind: 'well' }

/** Who stops a turn from outside has nothing against its lane. */
function verdictOf(fate: RunFate): LaneVerdict | undefined {
  if (fate.kind === 'failed') return fate.verdict
  if (fate.kind === 'finished') return WELL
  return fate.kind === 'broken-off' ? { kind: 'failed' } : undefined
}

export const msBetween = (fromTicks: number, toTicks: number): number => Math.round((toTicks - fromTicks) / 1000)
