import { createBag } from '../../lib/bag.ts'
import type { StreamTimes } from '../edge-options.ts'

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

/** A tenth of the shortest wait is exact enough, and one second is never too often. */
export const beatFor = ({ headDelayMs, keepAliveMs }: StreamTimes): number =>
  Math.max(5, Math.min(1000, Math.floor(Math.min(headDelayMs, keepAliveMs) / 10)))
