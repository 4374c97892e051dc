/** Counts the wishes to stop; from the moment it exists they no longer end the process by themselves. */
export interface Signals {
  next(): Promise<void>
  close(): void
}

export function createSignals(source: Pick<NodeJS.Process, 'on' | 'off'>): Signals {
  let waiting: (() => void)[] = []
  const onSignal = () => {
    const due = waiting
    waiting = []
    for (const resolve of due) resolve()
  }
  source.on('SIGINT', onSignal)
  source.on('SIGTERM', onSignal)
  return {
    next: () => new Promise((resolve) => waiting.push(resolve)),
    close: () => {
      source.off('SIGINT', onSignal)
      source.off('SIGTERM', onSignal)
    },
  }
}
