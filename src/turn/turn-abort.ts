import type { Sink } from './sink.ts'

/** Why a turn was stopped from outside. */
export type StopReason = 'client-gone' | 'draining'

/**
 * One controller per turn; its signal goes all the way down to the provider's socket. Its own listeners are taken off at
 * the end: combining long-lived signals instead leaks on the Node versions we support.
 */
export interface TurnAbort {
  readonly signal: AbortSignal
  readonly reason: StopReason | undefined
  /** From the finish reason on the usage is awaited even when the client is gone: it has already been produced. */
  letItFinish(): void
  release(): void
}

/** Tells running turns that the server stops; returns how to stop listening. */
export type OnShutdown = (listener: () => void) => () => void

export function createTurnAbort(sink: Sink, onShutdown: OnShutdown): TurnAbort {
  const controller = new AbortController()
  let reason: StopReason | undefined
  let finishing = false
  const stop = (why: StopReason) => {
    reason ??= why
    if (!finishing || why === 'draining') controller.abort(why)
  }
  const forgetClient = sink.onGone(() => stop('client-gone'))
  const forgetShutdown = onShutdown(() => stop('draining'))
  return {
    signal: controller.signal,
    get reason() {
      return reason
    },
    letItFinish() {
      finishing = true
    },
    release() {
      forgetClient()
      forgetShutdown()
    },
  }
}
