/**
 * Counts the wishes to stop; from the moment it exists they no longer end the process by themselves. One that comes before
 * anybody waits for it is kept for who asks next: a server that is told to stop while it announces itself stops.
 */
export interface Signals {
  next(): Promise<void>
  /** SIGHUP is the wish to read the configuration again. */
  onReload(listener: () => void): void
  close(): void
}

export function createSignals(source: Pick<NodeJS.Process, 'on' | 'off'>): Signals {
  let waiting: (() => void)[] = []
  let unheard = 0
  let reload: (() => void) | undefined
  const onHangUp = () => reload?.()
  const onSignal = () => {
    const due = waiting
    if (due.length === 0) unheard += 1
    waiting = []
    for (const resolve of due) resolve()
  }
  source.on('SIGINT', onSignal)
  source.on('SIGTERM', onSignal)
  source.on('SIGHUP', onHangUp)
  return {
    next: () => {
      if (unheard === 0) return new Promise((resolve) => waiting.push(resolve))
      unheard -= 1
      return Promise.resolve()
    },
    onReload: (listener) => {
      reload = listener
    },
    close: () => {
      source.off('SIGHUP', onHangUp)
      source.off('SIGINT', onSignal)
      source.off('SIGTERM', onSignal)
    },
  }
}
