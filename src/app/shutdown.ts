import { countOf } from '../cli/format.ts'

/** What the end of a server needs of its edge. */
export interface Drainable {
  /** `/readyz` says no from now on; requests are still served. */
  announceDrain(): void
  /** New requests are refused with `server_draining`, the listening socket closes. Resolves when the last connection has ended. */
  stopAccepting(): Promise<void>
  /** Resolves when no turn runs any more, those whose client has gone included. */
  turnsEnded(): Promise<void>
  /** Aborts every running turn; each ends in its protocol's words and is settled. */
  cutTurns(): void
  /** Breaks every connection that is left. */
  cutConnections(): void
  readonly turnsRunning: number
  readonly requestsServed: number
}

export interface ShutdownDeps {
  readonly edge: Drainable
  readonly drainMs: number
  readonly lingerMs: number
  /** How long turns that were cut have to say so, and then again to settle without their clients. */
  readonly settleMs: number
  readonly say: (message: string) => void
  /** Resolves at the next SIGINT or SIGTERM. */
  readonly nextSignal: () => Promise<void>
  /** Closes everything that was opened, in reverse. */
  readonly close: () => Promise<void>
}

interface ShutdownReport {
  readonly requests: number
  /** Turns that had not settled when the process gave up; recovery resolves them at the next start. */
  readonly lost: number
}

/** A client that reads at all has read the end of its answer by then. */
const LAST_WORDS_MS = 1000

/**
 * The one way a server ends: not ready, then deaf, then patient up to the drain time, then firm. A second signal is
 * firm at once, a third one does not even wait for the settling.
 */
export async function shutDown(deps: ShutdownDeps): Promise<ShutdownReport> {
  const { edge, say } = deps
  const second = deps.nextSignal()
  edge.announceDrain()
  if (deps.lingerMs > 0) await firstOf([second], deps.lingerMs)
  const ended = Promise.all([edge.stopAccepting(), edge.turnsEnded()])
  if (edge.turnsRunning > 0) {
    say(
      `Stopping: ${turns(edge.turnsRunning)}, waiting up to ${Math.ceil(deps.drainMs / 1000)} s (Ctrl+C again to cut).`,
    )
  }
  await firstOf([ended, second], deps.drainMs)
  if (edge.turnsRunning > 0) {
    say(`Cutting ${turns(edge.turnsRunning)}; what was delivered is settled.`)
    await endTurns(deps, ended)
  }
  edge.cutConnections()
  const lost = edge.turnsRunning
  await deps.close()
  const requests = edge.requestsServed
  say(`Stopped. ${countOf(requests, 'request')}, ${lost} lost.`)
  return { requests, lost }
}

/**
 * A turn whose client reads nothing cannot get its last words out: it settles once its connection is broken. The next
 * signal ends the waiting for both.
 */
async function endTurns({ edge, settleMs, nextSignal }: ShutdownDeps, ended: Promise<unknown>): Promise<void> {
  const third = nextSignal()
  edge.cutTurns()
  await firstOf([ended, third], Math.min(settleMs, LAST_WORDS_MS))
  edge.cutConnections()
  await firstOf([edge.turnsEnded(), third], settleMs)
}

const turns = (count: number): string => `${countOf(count, 'request')} open`

async function firstOf(events: readonly Promise<unknown>[], timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs)
  })
  await Promise.race([...events, timeout])
  clearTimeout(timer)
}
