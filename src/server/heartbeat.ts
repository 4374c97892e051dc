import { createBag } from '../lib/collections.ts'

export interface StreamTimes {
  /** The head goes out after this time even without a first event. */
  readonly headDelayMs: number
  readonly keepAliveMs: number
}

/** A stream that counts the beats in which it wrote nothing. */
interface BeatListener {
  onBeat(): void
}

/** One timer for all open streams. It runs only while there is one, and never keeps the process alive. */
export interface Heartbeat {
  /** Silent beats before the head goes out without a first event. */
  readonly beatsBeforeHead: number
  /** Silent beats before a keep-alive comment. */
  readonly beatsBeforeKeepAlive: number
  /** Returns how to remove the listener. */
  add(listener: BeatListener): () => void
}

export function createHeartbeat(times: StreamTimes): Heartbeat {
  const beatMs = beatFor(times)
  const beatsIn = (ms: number) => Math.max(1, Math.ceil(ms / beatMs))
  const listeners = createBag<BeatListener>()
  let timer: NodeJS.Timeout | undefined
  return {
    beatsBeforeHead: beatsIn(times.headDelayMs),
    beatsBeforeKeepAlive: beatsIn(times.keepAliveMs),
    add(listener) {
      const remove = listeners.add(listener)
      timer ??= setInterval(() => listeners.each((each) => each.onBeat()), beatMs).unref()
      return () => {
        remove()
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}

/** A tenth of the shortest wait is exact enough, and one second is never too often. */
const beatFor = ({ headDelayMs, keepAliveMs }: StreamTimes): number =>
  Math.max(5, Math.min(1000, Math.floor(Math.min(headDelayMs, keepAliveMs) / 10)))
