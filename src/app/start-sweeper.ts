import type { HouseLog } from './house.ts'

interface SweeperDeps {
  readonly sweep: () => Promise<unknown>
  /** What is swept, for the log. */
  readonly what: string
  readonly log: Pick<HouseLog, 'error'>
}

/** Sweeps every so often until it is stopped. One that fails is told of, and the next one tries again. */
export function startSweeper({ sweep, what, log }: SweeperDeps, intervalMs: number): () => void {
  const timer = setInterval(() => {
    sweep().catch((error: unknown) => log.error({ error }, `${what} could not be swept; the next sweep tries again`))
  }, intervalMs).unref()
  return () => clearInterval(timer)
}
