import type { Lane } from '../catalog/catalog.ts'
import type { Attempt } from '../ledger/ledger.ts'
import type { Problem } from '../model/problem.ts'
import { commonProblem, failed } from './provider-refusal.ts'
import type { Run } from './run.ts'
import type { LaneDeps, RunnableTurn } from './runnable-turn.ts'
import { tryLane } from './try-lane.ts'

/** Trying every lane of a long list would keep the client waiting for longer than it waits. */
const ATTEMPTS_MAX = 3
/** Each further lane may be billed for the same answer once more, and only one of them is charged to the client. */
const ATTEMPTS_AFTER_DOUBT_MAX = 1

/**
 * Tries lane after lane until one has answered or none is left. A failure before the first content moves on to the next
 * lane, but where a provider may have done the work unseen only to one more; after the first content there is no other
 * lane any more.
 */
export async function runLanes(deps: LaneDeps, work: RunnableTurn, lanes: readonly Lane[]): Promise<Run> {
  const attempts: Attempt[] = []
  const problems: Problem[] = []
  let firstContentAt: number | undefined
  const onFirstContent = () => {
    firstContentAt = deps.ticks()
  }
  let last: Lane | undefined
  let triesLeft = ATTEMPTS_MAX
  for (const lane of lanes) {
    if (triesLeft === 0) break
    triesLeft--
    last = lane
    const startedAt = deps.ticks()
    const { fate, status, outcome } = await tryLane(deps, work, lane, onFirstContent)
    attempts.push({ lane: lane.id, outcome, status, ms: msBetween(startedAt, deps.ticks()) })
    if (fate.kind === 'finished') firstContentAt ??= deps.ticks()
    if (fate.kind !== 'failed' || fate.sameElsewhere || work.abort.reason)
      return { fate, lane, attempts, firstContentAt }
    problems.push(fate.problem)
    if (fate.mayBeBilled) triesLeft = Math.min(triesLeft, ATTEMPTS_AFTER_DOUBT_MAX)
  }
  return { fate: failed(commonProblem(problems)), lane: last, attempts, firstContentAt }
}

export const msBetween = (fromTicks: number, toTicks: number): number => Math.round((toTicks - fromTicks) / 1000)
