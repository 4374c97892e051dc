import { createBag } from '../../lib/bag.ts'
import type { Exchange } from '../exchange.ts'
import { onAnswerOver } from './answer-over.ts'

/** What a stream waits for: its first event, its next one, or a client that takes what was written already. */
export type Awaited = 'first-event' | 'next-event' | 'client'

export interface StreamSilence {
  /** Something was written, or the client has taken what there was: silence begins anew. */
  broken(): void
}

/**
 * Counts the beats in which nothing goes out on a stream: a comment breaks the silence of a model that thinks, and a
 * client that takes nothing for too long loses its connection. Ends by itself when the answer is over.
 */
export function watchSilence(
  exchange: Exchange,
  deps: { readonly awaited: () => Awaited; readonly comment: () => void },
): StreamSilence {
  const { request, response, edge } = exchange
  const { socket } = request
  const { headDelayMs, keepAliveMs, stallMs } = edge.options.stream
  const beatsIn = (ms: number) => Math.max(1, Math.ceil(ms / edge.heartbeat.beatMs))
  const beatsMax: Readonly<Record<Awaited, number>> = {
    'first-event': beatsIn(headDelayMs),
    'next-event': beatsIn(keepAliveMs),
    client: beatsIn(stallMs),
  }
  let beats = 0
  let taken = 0

  /** A response that is queued has no socket yet: that it is not taken tells nothing while the one before it goes on. */
  const isQueuedBehindLife = () => {
    if (response.socket) return false
    const before = taken
    taken = socket.bytesWritten - socket.writableLength
    return taken !== before || socket.writableLength === 0
  }

  const stop = edge.heartbeat.listen(() => {
    const awaited = deps.awaited()
    if (awaited === 'client' && isQueuedBehindLife()) beats = 0
    else beats += 1
    if (beats < beatsMax[awaited]) return
    if (awaited === 'client') socket.destroy()
    else deps.comment()
  })
  onAnswerOver(exchange, stop)

  return {
    broken() {
      beats = 0
    },
  }
}

/**
 * One timer for all open streams: each counts beats of silence for itself, so a write costs a store and not a timer.
 * It runs only while somebody listens and never keeps the process alive.
 */
export interface Heartbeat {
  readonly beatMs: number
  /** Calls back on every beat; returns how to stop. */
  listen(onBeat: () => void): () => void
}

export function createHeartbeat(beatMs: number): Heartbeat {
  const listeners = createBag<() => void>()
  let timer: NodeJS.Timeout | undefined

  const stopIfUnused = () => {
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    beatMs,
    listen(onBeat) {
      const forget = listeners.add(onBeat)
      timer ??= setInterval(() => {
        listeners.each((listener) => listener())
      }, beatMs).unref()
      return () => {
        forget()
        stopIfUnused()
      }
    },
  }
}
