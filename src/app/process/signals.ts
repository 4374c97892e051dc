/** Counts the wishes to stop; from the moment it exists they no longer end the process by themselves. */
export interface Signals {
  next(): Promise<void>
  /** SIGHUP is the wish to read the configuration again. */
  onReload(listener: () => void): void
  close(): void
}

export function createSignals(source: Pick<NodeJS.Process, 'on' | 'off'>): Signals {
  let waiting: (() => void)[] = []
  let reload: (() => void) | undefined
  const onHangUp = () => reload?.()
  const onSignal = () => {
    const due = waiting
    waiting = []
    for (const resolve of due) resolve()
  }
  source.on('SIGINT', onSignal)
  source.on('SIGTERM', onSignal)
  source.on('SIGHUP', onHangUp)
  return {
    next: () => new Promise((resolve) => waiting.push(resolve)),
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
