import { Stopper, type StopSignal } from '../lib/stop-signal.ts'
import type { WhenClientGoes } from './client-gone.ts'
import type { Drains } from './drains.ts'
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
  /** The first that came, whether the provider was stopped for it or is read on. */
  readonly reason: StopReason | undefined
  /** The client went before its answer was whole. */
  readonly leftEarly: boolean
  /** Of the lane that is asked from here on, until it is said anew. A provider is cut unless something else was said. */
  whenClientGoes(then: WhenClientGoes): void
  /** From the finish reason on the usage is awaited even when the client is gone: it has already been produced. */
  letItFinish(): void
  release(): void
}

/** Tells running turns that they have to end; returns how to stop listening. */
export type OnCut = (listener: (why: CutReason) => void) => () => void

export interface AbortDeps {
  readonly onCut: OnCut
  readonly drains: Pick<Drains, 'begin'>
}

export function createTurnAbort(sink: Pick<Sink, 'onGone'>, { onCut, drains }: AbortDeps): TurnAbort {
  const signal = new Stopper()
  let then: WhenClientGoes = 'cut'
  let finishing = false
  let endDrain: (() => void) | undefined
  const clientGone = () => {
    abort.reason ??= 'client-gone'
    if (finishing) return
    abort.leftEarly = true
    if (then === 'drain' && !signal.stopped) endDrain = drains.begin(() => signal.stop())
    if (endDrain === undefined) signal.stop()
  }
  const cut = (why: CutReason) => {
    abort.reason ??= why
    signal.stop()
  }
  const abort = {
    signal,
    reason: undefined as StopReason | undefined,
    leftEarly: false,
    whenClientGoes(means: WhenClientGoes) {
      then = means
      // Said of another lane: one that had ended has not given the answer.
      finishing = false
    },
    letItFinish() {
      if (!abort.leftEarly) finishing = true
    },
    release() {
      forgetClient()
      forgetCut()
      endDrain?.()
    },
  }
  const forgetClient = sink.onGone(clientGone)
  const forgetCut = onCut(cut)
  return abort
}
