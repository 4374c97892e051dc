import { Stopper, type StopSignal } from '../lib/stop-signal.ts'
import type { Sink } from './sink.ts'

/** Why a turn was stopped from outside. */
export type StopReason = 'client-gone' | 'draining'

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

/** Tells running turns that the server stops; returns how to stop listening. */
export type OnShutdown = (listener: () => void) => () => void

export function createTurnAbort(sink: Sink, onShutdown: OnShutdown): TurnAbort {
  const signal = new Stopper()
  let finishing = false
  const stop = (why: StopReason) => {
    abort.reason ??= why
    if (!finishing || why === 'draining') signal.stop()
  }
  const abort = {
    signal,
    reason: undefined as StopReason | undefined,
    letItFinish() {
      finishing = true
    },
    release() {
      forgetClient()
      forgetShutdown()
    },
  }
  const forgetClient = sink.onGone(() => stop('client-gone'))
  const forgetShutdown = onShutdown(() => stop('draining'))
  return abort
}
