/** Whether the books in memory are what the file says. While they are not, nothing is decided. */
export interface LedgerGate {
  readonly open: boolean
  shut(): void
  reopen(): void
  /** True when it is open, or opens in time. */
  whenOpen(timeoutMs: number): Promise<boolean>
  /** Calls back whenever it has been shut for longer than running turns may go on; returns how to stop listening. */
  onOutage(listener: () => void): () => void
}

/** So long a running answer may go on without a mark of how far it has got: a crash would forgive all of it. */
export const OUTAGE_GRACE_MS = 30_000

export function createLedgerGate(graceMs = OUTAGE_GRACE_MS): LedgerGate {
  let open = true
  let grace: NodeJS.Timeout | undefined
  const waiting = new Set<() => void>()
  const outage = new Set<() => void>()
  return {
    get open() {
      return open
    },
    shut() {
      open = false
      grace ??= setTimeout(() => {
        for (const tell of [...outage]) tell()
      }, graceMs).unref()
    },
    reopen() {
      open = true
      clearTimeout(grace)
      grace = undefined
      for (const enter of [...waiting]) enter()
    },
    whenOpen(timeoutMs) {
      if (open) return Promise.resolve(true)
      return new Promise((resolve) => {
        const enter = () => {
          clearTimeout(timer)
          waiting.delete(enter)
          resolve(open)
        }
        const timer = setTimeout(enter, timeoutMs)
        waiting.add(enter)
      })
    },
    onOutage(listener) {
      outage.add(listener)
      return () => void outage.delete(listener)
    },
  }
}
