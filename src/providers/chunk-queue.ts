import type { UpstreamBody } from './upstream-answer.ts'

/** Between what a provider pushes and what the turn pulls. Whoever pushes is told when to pause and when to go on. */
export interface ChunkQueue {
  readonly body: UpstreamBody
  push(chunk: Buffer): void
  end(): void
  fail(error: Error): void
}

/** Where the chunks come from. */
export interface ChunkSource {
  pause(): void
  resume(): void
  cancel(): void
  /** What still comes is dropped: the source may want to bound how long it goes on. */
  release?(): void
}

/**
 * How much may stand here. A reader that waits takes it in the same moment, so that its bound is the size of one read. What
 * comes while nobody waits stands behind a client that does not read, for as long as that lasts, and for each such client.
 */
interface QueueBounds {
  readonly awaitedMax: number
  readonly unawaitedMax: number
}

export function createChunkQueue(source: ChunkSource, bounds: QueueBounds): ChunkQueue {
  let chunks: Buffer[] = []
  let bytes = 0
  let paused = false
  let released = false
  let settling = false
  let state: 'open' | 'ended' | Error = 'open'
  let waiting: { resolve(chunks: readonly Buffer[]): void; reject(error: Error): void } | undefined

  const take = (): readonly Buffer[] => {
    const taken = chunks
    chunks = []
    bytes = 0
    if (paused) {
      paused = false
      source.resume()
    }
    return taken
  }
  const settleWaiting = () => {
    settling = false
    if (!waiting || (state === 'open' && chunks.length === 0)) return
    const { resolve, reject } = waiting
    waiting = undefined
    if (state instanceof Error && chunks.length === 0) reject(state)
    else resolve(take())
  }

  return {
    body: {
      read() {
        if (chunks.length > 0 || state === 'ended') return Promise.resolve(take())
        if (state instanceof Error) return Promise.reject(state)
        return new Promise((resolve, reject) => {
          waiting = { resolve, reject }
        })
      },
      cancel: () => source.cancel(),
      release() {
        released = true
        source.release?.()
        take()
      },
    },
    push(chunk) {
      if (state !== 'open' || released) return
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > (waiting ? bounds.awaitedMax : bounds.unawaitedMax) && !paused) {
        paused = true
        source.pause()
      }
      // After this turn of the parser: what else the same read of the socket holds is gathered first.
      if (waiting && !settling) {
        settling = true
        queueMicrotask(settleWaiting)
      }
    },
    end() {
      if (state !== 'open') return
      state = 'ended'
      settleWaiting()
    },
    fail(error) {
      if (state !== 'open') return
      state = error
      settleWaiting()
    },
  }
}
