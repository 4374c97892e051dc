/** Whether the books in memory are what the file says. While they are not, nothing is decided. */
export interface LedgerGate {
  readonly open: boolean
  shut(): void
  reopen(): void
  /** True when it is open, or opens in time. */
  whenOpen(timeoutMs: number): Promise<boolean>
}

export function createLedgerGate(): LedgerGate {
  let open = true
  const waiting = new Set<() => void>()
  return {
    get open() {
      return open
    },
    shut() {
      open = false
    },
    reopen() {
      open = true
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
  }
}
