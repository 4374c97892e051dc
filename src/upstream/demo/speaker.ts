import type { StopSignal } from '../../lib/stop-signal.ts'
import { type ChunkQueue, createChunkQueue } from '../chunk-queue.ts'

interface Speech {
  readonly chunks: Iterator<Buffer>
  readonly pauseMs: number
  readonly headStartMs: number
  readonly signal: StopSignal
}

/** What is said ahead of its reader. Beyond it the speech stands still, not yet composed. */
const QUEUE_BYTES_MAX = 64 * 1024

/** Says one chunk after another until all are said, it is cancelled, or nobody takes them any more. */
export function createSpeaker({ chunks, pauseMs, headStartMs, signal }: Speech): ChunkQueue {
  let timer: NodeJS.Timeout | undefined
  let paused = false
  let over = false

  const end = () => {
    over = true
    clearTimeout(timer)
    forgetSignal()
  }
  const cancelled = () => {
    end()
    queue.fail(new Error('cancelled'))
  }
  const say = () => {
    do {
      if (over) return
      const { value, done } = chunks.next()
      if (done) {
        end()
        return queue.end()
      }
      queue.push(value)
    } while (pauseMs === 0 && !paused)
    if (!paused) schedule(pauseMs)
  }
  const schedule = (ms: number) => {
    if (ms === 0) setImmediate(say)
    else timer = setTimeout(say, ms)
  }

  const queue = createChunkQueue(
    {
      pause() {
        paused = true
        clearTimeout(timer)
      },
      resume() {
        paused = false
        schedule(pauseMs)
      },
      cancel: end,
    },
    { awaitedMax: QUEUE_BYTES_MAX, unawaitedMax: QUEUE_BYTES_MAX },
  )
  const forgetSignal = signal.onStop(cancelled)
  schedule(headStartMs)
  return queue
}
