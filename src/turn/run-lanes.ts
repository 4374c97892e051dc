import type { Lane } from '../catalog/catalog.ts'
import type { Attempt } from '../ledger/ledger.ts'
import type { Problem } from '../model/problem.ts'
import { commonProblem, failed } from './provider-refusal.ts'
import type { Run } from './run.ts'
import { type LaneDeps, type RunnableTurn, tryLane } from './try-lane.ts'

/** Trying every lane of a long list would keep the client waiting for longer than it waits. */
const ATTEMPTS_MAX = 3

/**
 * Tries lane after lane until one has answered or none is left. A failure before the first content moves on to the next
 * lane; after it there is no other lane any more.
 */
export async function runLanes(deps: LaneDeps, work: RunnableTurn, lanes: readonly Lane[]): Promise<Run> {
  const attempts: Attempt[] = []
  const problems: Problem[] = []
  let firstContentAt: number | undefined
  const onFirstContent = () => {
    firstContentAt = deps.ticks()
  }
  const tried = lanes.slice(0, ATTEMPTS_MAX)
  for (const lane of tried) {
    const startedAt = deps.ticks()
    const { fate, status, outcome } = await tryLane(deps, work, lane, onFirstContent)
    attempts.push({ lane: lane.id, outcome, status, ms: msBetween(startedAt, deps.ticks()) })
    if (fate.kind === 'finished') firstContentAt ??= deps.ticks()
    if (fate.kind !== 'failed' || fate.sameElsewhere) return { fate, lane, attempts, firstContentAt }
    problems.push(fate.problem)
  }
  return { fate: failed(commonProblem(problems)), lane: tried.at(-1), attempts, firstContentAt }
}

export const msBetween = (fromTicks: number, toTicks: number): number => Math.round((toTicks - fromTicks) / 1000)
