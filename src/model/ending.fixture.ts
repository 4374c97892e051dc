import type { Ending } from './ending.ts'
import type { NanoUsd } from './money.ts'

export const settlement = (cost: bigint, output = 2): Ending => ({
  outcome: 'completed',
  owed: {
    usage: { uncachedInput: 10, cachedInput: 0, cacheWrite: 0, output, reasoning: 0, estimated: false },
    tier: 0,
    cost: cost as NanoUsd,
  },
  lane: 'demo/demo',
  attempts: [{ lane: 'demo/demo', outcome: 'finished', status: 200, ms: 2 }],
  firstByteMs: 1,
  totalMs: 2,
  compaction: undefined,
  kept: false,
})

export const GIVEN_BACK: Ending = { ...settlement(0n), outcome: 'upstream_failed', owed: undefined }
