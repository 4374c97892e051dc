import { Stopper, type StopSignal } from '../lib/stop-signal.ts'
import type { Sink } from './sink.ts'

/** Why a turn was stopped from outside. */
export type StopReason = 'client-gone' | CutReason

/** Why the server ends running turns: it stops, or its books could not be written for too long. */
export type CutReason = 'draining' | 'ledger-gone'

/**
 * One stopper per turn; its signal goes all the way down to the provider's socket. Its own listeners are taken off at the
 * end.
 */
export interface TurnAbort {
  readonly signal: StopSignal
  readonly reason: StopReason | undefined
  /** From the finish reason on the usage is awaited even when the client is gone: it has already been produced. */
  letItFinish(): void
  release(): void
}

/** Tells running turns that they have to end; returns how to stop listening. */
export type OnCut = (listener: (why: CutReason) => void) => () => void

export function createTurnAbort(sink: Sink, onCut: OnCut): TurnAbort {
  const signal = new Stopper()
  let finishing = false
  const stop = (why: StopReason) => {
    abort.reason ??= why
    if (!finishing || why !== 'client-gone') signal.stop()
  }
  const abort = {
    signal,
    reason: undefined as StopReason | undefined,
    letItFinish() {
      finishing = true
    },
    release() {
      forgetClient()
      forgetCut()
    },
  }
  const forgetClient = sink.onGone(() => stop('client-gone'))
  const forgetCut = onCut(stop)
  return abort
}
