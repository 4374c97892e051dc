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

export function createHeartbeat({ headDelayMs, keepAliveMs }: StreamTimes): Heartbeat {
  // A tenth of the shortest wait is exact enough, and one second is never too often.
  const beatMs = Math.max(5, Math.min(1000, Math.floor(Math.min(headDelayMs, keepAliveMs) / 10)))
  const listeners = createBag<BeatListener>()
  let timer: NodeJS.Timeout | undefined
  const beat = () => {
    if (listeners.size > 0) return listeners.each((each) => each.onBeat())
    clearInterval(timer)
    timer = undefined
  }
  return {
    beatsBeforeHead: Math.max(1, Math.ceil(headDelayMs / beatMs)),
    beatsBeforeKeepAlive: Math.max(1, Math.ceil(keepAliveMs / beatMs)),
    add(listener) {
      timer ??= setInterval(beat, beatMs).unref()
      return listeners.add(listener)
    },
  }
}
