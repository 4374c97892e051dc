/** Open while the state in memory matches the file. While it is shut nothing is decided. */
export interface LedgerGate {
  readonly open: boolean
  shut(): void
  reopen(): void
  /** True when the gate is open, or opens in time. */
  whenOpen(timeoutMs: number): Promise<boolean>
  /** Calls back each time the gate stays shut for longer than running turns may go on. Returns how to stop listening. */
  onOutage(listener: () => void): () => void
}

/** A running answer may go on for this long without durable marks: a crash would forgive all of it. */
export const OUTAGE_GRACE_MS = 30_000

export function createLedgerGate(graceMs = OUTAGE_GRACE_MS): LedgerGate {
  let grace: NodeJS.Timeout | undefined
  const waiting = new Set<() => void>()
  const listeners = new Set<() => void>()
  const gate = {
    open: true,
    shut() {
      gate.open = false
      grace ??= setTimeout(() => {
        for (const listener of [...listeners]) listener()
      }, graceMs).unref()
    },
    reopen() {
      gate.open = true
      clearTimeout(grace)
      grace = undefined
      for (const wake of [...waiting]) wake()
    },
    whenOpen(timeoutMs: number) {
      if (gate.open) return Promise.resolve(true)
      return new Promise<boolean>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          waiting.delete(wake)
          resolve(gate.open)
        }
        const timer = setTimeout(wake, timeoutMs)
        waiting.add(wake)
      })
    },
    onOutage(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  return gate
}
