import { msBetween } from '../../lib/clock.ts'
import { estimateInput, estimateTokens } from '../../metering/size-input.ts'
import type { Attempt, Ending } from '../../model/ending.ts'
import type { Run } from '../lane/run.ts'
import type { RunningTurn } from '../running-turn.ts'
import type { Resolution } from './resolve-ending.ts'

/** The ending of a turn whose money is resolved, but for whether its answer is kept. */
export function endingOf(turn: RunningTurn, run: Run, resolution: Resolution, nowTicks: number): Ending {
  const { startedAt } = turn
  const { lane, firstContentAt } = run
  return {
    outcome: resolution.outcome,
    owed: resolution.owed,
    lane: lane?.id,
    attempts: withCacheLost(turn, run, resolution),
    firstByteMs: firstContentAt === undefined ? undefined : msBetween(startedAt, firstContentAt),
    totalMs: msBetween(startedAt, nowTicks),
    compaction: compactionOf(turn, run, resolution),
    kept: false,
  }
}

/** What a conversation pays for as new, because it goes on where nobody has its beginning in a cache. */
function withCacheLost(
  { cameFrom, admitRequest }: RunningTurn,
  { attempts, lane }: Run,
  { owed }: Resolution,
): readonly Attempt[] {
  const last = attempts.at(-1)
  if (!owed || !last || cameFrom === undefined || lane?.origin === cameFrom) return attempts
  const cacheLost = admitRequest.cachedEstimate - owed.usage.cachedInput
  return cacheLost > 0 ? [...attempts.slice(0, -1), { ...last, cacheLost }] : attempts
}

/** How long the conversation was, and how long what stands in its place is: both by the catalogue's ratio. */
function compactionOf({ request, entry }: RunningTurn, { fate }: Run, { owed }: Resolution): Ending['compaction'] {
  const compacted = fate.kind === 'finished' ? fate.answer.compacted : undefined
  if (!compacted || !owed) return undefined
  const { model } = entry
  const sealedTokens = compacted.hasSealed ? owed.usage.output : 0
  return {
    tokensBefore: estimateInput(request, model),
    tokensAfter: estimateTokens(compacted.bytes, model.bytesPerToken) + sealedTokens,
  }
}
