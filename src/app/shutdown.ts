import { countOf } from '../cli/format.ts'

/** The server, as its shutdown sees it. */
export interface Drainable {
  /** `/readyz` fails from now on. Requests are still served. */
  announceDrain(): void
  /** New requests get `server_draining`, and the listening socket closes. Resolves when the last connection has ended. */
  stopAccepting(): Promise<void>
  /** Resolves when no turn runs, including those whose client has disconnected. */
  turnsEnded(): Promise<void>
  /** Aborts every running turn. Each reports the end in its protocol and settles. */
  abortTurns(): void
  /** Closes every open connection. */
  closeAllConnections(): void
  readonly turnsRunning: number
  readonly requestsServed: number
}

export interface ShutdownOptions {
  readonly edge: Drainable
  readonly drainMs: number
  readonly lingerMs: number
  /** How long aborted turns have to report their end, and then again to settle without their clients. */
  readonly settleMs: number
  readonly report: (message: string) => void
  /** Resolves at the next SIGINT or SIGTERM. */
  readonly nextSignal: () => Promise<void>
  /** Closes in reverse order everything that was opened. */
  readonly close: () => Promise<void>
}

/** A client that reads at all has read the end of its answer after this time. */
const FINAL_READ_MS = 1000

/**
 * Ends a server: not ready, then no new requests, then waiting for turns up to the drain time, then aborting them. A second signal
 * aborts at once; a third does not wait for the settling.
 */
export async function shutDown(options: ShutdownOptions) {
  const { edge, report } = options
  const second = options.nextSignal()
  edge.announceDrain()
  if (options.lingerMs > 0) await firstOf([second], options.lingerMs)
  const ended = Promise.all([edge.stopAccepting(), edge.turnsEnded()])
  if (edge.turnsRunning > 0) {
    const seconds = Math.ceil(options.drainMs / 1000)
    report(`Stopping: ${countOf(edge.turnsRunning, 'request')} open, waiting up to ${seconds} s (Ctrl+C again to cut).`)
  }
  await firstOf([ended, second], options.drainMs)
  if (edge.turnsRunning > 0) {
    report(`Cutting ${countOf(edge.turnsRunning, 'request')} open; what was delivered is settled.`)
    await endTurns(options, ended)
  }
  edge.closeAllConnections()
  // Turns that have not settled are resolved by the recovery of the next start.
  const lost = edge.turnsRunning
  await options.close()
  const requests = edge.requestsServed
  report(`Stopped. ${countOf(requests, 'request')}, ${lost} lost.`)
  return { requests, lost }
}

/**
 * A turn whose client does not read cannot report its end: it settles once its connection is broken. The next signal ends both
 * waits.
 */
async function endTurns({ edge, settleMs, nextSignal }: ShutdownOptions, ended: Promise<unknown>): Promise<void> {
  const third = nextSignal()
  edge.abortTurns()
  await firstOf([ended, third], Math.min(settleMs, FINAL_READ_MS))
  edge.closeAllConnections()
  await firstOf([edge.turnsEnded(), third], settleMs)
}

async function firstOf(events: readonly Promise<unknown>[], timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs)
  })
  await Promise.race([...events, timeout])
  clearTimeout(timer)
}
