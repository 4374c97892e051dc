import type { HouseLog } from './house.ts'

interface SweeperDeps {
  readonly ledger: { sweep(): Promise<unknown> }
  readonly log: Pick<HouseLog, 'error'>
}

/** Sweeps every so often until it is stopped. One that fails is told of, and the next one tries again. */
export function startSweeper({ ledger, log }: SweeperDeps, intervalMs: number): () => void {
  const timer = setInterval(() => {
    ledger
      .sweep()
      .catch((error: unknown) => log.error({ error }, 'the books could not be swept; the next sweep tries again'))
  }, intervalMs).unref()
  return () => clearInterval(timer)
}
