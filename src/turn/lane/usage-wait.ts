import { afterLoopTurn } from '../../lib/loop-turn.ts'
import type { UpstreamBody } from '../../upstream/upstream-answer.ts'

/**
 * After the finish reason only the counts are missing. They come at once, or from a server that has forgotten them: then
 * its connection is ended, and the client is not kept waiting for its own end any longer.
 */
export interface UsageWait {
  begin(): void
  end(): void
}

/** Longer than any provider takes to add up what it has just written. */
const USAGE_WAIT_MS = 10_000

export function createUsageWait(body: Pick<UpstreamBody, 'cancel'>): UsageWait {
  let timer: NodeJS.Timeout | undefined
  let stop = () => clearTimeout(timer)
  return {
    begin() {
      timer ??= setTimeout(() => {
        // After the process was stopped the counts may have come, and wait to be read.
        stop = afterLoopTurn(() => body.cancel())
      }, USAGE_WAIT_MS)
    },
    end: () => stop(),
  }
}
