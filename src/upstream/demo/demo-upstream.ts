import type { Clock } from '../../lib/clock.ts'
import { type RandomBytes, randomId } from '../../lib/random-id.ts'
import { createChunkQueue } from '../chunk-queue.ts'
import type { UpstreamOutcome } from '../upstream-answer.ts'
import { composeReply, type DemoReply } from './compose-reply.ts'
import { type DemoRequest, readDemoRequest } from './demo-request.ts'
import { type DemoStamp, demoChunks, demoCompletion } from './write-answer.ts'

/**
 * The provider that is built in: it needs no network and no key, answers in the bytes of the chat wire, and is reached
 * through the same `send` as any other, so that relay, limits and money run for real.
 */
export interface DemoUpstream {
  answer(body: Buffer, signal: AbortSignal): Promise<UpstreamOutcome>
}

/** As fast as a person likes to see words appear; the `-fast` model is for measuring. */
const WORD_PAUSE_MS = 20
const THOUGHT_PAUSE_MS = 10
const QUEUE_BYTES_MAX = 1024 * 1024

export function createDemoUpstream(deps: { readonly clock: Clock; readonly random: RandomBytes }): DemoUpstream {
  return {
    async answer(body, signal) {
      const request = readDemoRequest(body)
      const reply = composeReply(request)
      const stamp: DemoStamp = {
        id: randomId('chatcmpl-demo-', deps.random),
        callId: randomId('call_', deps.random),
        created: Math.floor(deps.clock.now() / 1000),
        model: request.model,
      }
      return request.stream ? streamed(request, reply, stamp, signal) : whole(request, reply, stamp, signal)
    },
  }
}

const paceOf = (request: DemoRequest): number => (request.model.endsWith('-fast') ? 0 : 1)

function streamed(request: DemoRequest, reply: DemoReply, stamp: DemoStamp, signal: AbortSignal): UpstreamOutcome {
  const chunks = demoChunks(reply, stamp)
  const speaker = createSpeaker({
    chunks,
    pauseMs: WORD_PAUSE_MS * paceOf(request),
    headStartMs: reply.reasoning.length * THOUGHT_PAUSE_MS * paceOf(request),
    signal,
  })
  return { kind: 'answer', status: 200, headers: { 'content-type': 'text/event-stream' }, body: speaker.body }
}

async function whole(
  request: DemoRequest,
  reply: DemoReply,
  stamp: DemoStamp,
  signal: AbortSignal,
): Promise<UpstreamOutcome> {
  const pieces = reply.words.length + reply.reasoning.length
  const cancelled = await pause(pieces * THOUGHT_PAUSE_MS * paceOf(request), signal)
  if (cancelled) return { kind: 'failed', reason: 'cancelled', message: 'The request was cancelled.' }
  const queue = createChunkQueue({ pause() {}, resume() {}, cancel() {} }, { bytesMax: QUEUE_BYTES_MAX })
  queue.push(demoCompletion(reply, stamp))
  queue.end()
  return { kind: 'answer', status: 200, headers: { 'content-type': 'application/json' }, body: queue.body }
}

interface Speech {
  readonly chunks: readonly Buffer[]
  readonly pauseMs: number
  readonly headStartMs: number
  readonly signal: AbortSignal
}

/** Says one chunk after another until all are said, it is cancelled, or nobody takes them any more. */
function createSpeaker(speech: Speech) {
  let next = 0
  let timer: NodeJS.Timeout | undefined
  let paused = false
  const stop = () => clearTimeout(timer)
  const queue = createChunkQueue(
    {
      pause() {
        paused = true
        stop()
      },
      resume() {
        paused = false
        schedule(speech.pauseMs)
      },
      cancel: stop,
    },
    { bytesMax: QUEUE_BYTES_MAX },
  )
  const cancelled = () => {
    stop()
    queue.fail(new Error('cancelled'))
  }
  const say = () => {
    do {
      const chunk = speech.chunks[next++]
      if (chunk === undefined) {
        speech.signal.removeEventListener('abort', cancelled)
        return queue.end()
      }
      queue.push(chunk)
    } while (speech.pauseMs === 0 && !paused)
    if (!paused) schedule(speech.pauseMs)
  }
  const schedule = (ms: number) => {
    timer = ms === 0 ? undefined : setTimeout(say, ms)
    if (ms === 0) setImmediate(say)
  }
  if (speech.signal.aborted) cancelled()
  else {
    speech.signal.addEventListener('abort', cancelled, { once: true })
    schedule(speech.headStartMs)
  }
  return queue
}

/** True when it was cancelled meanwhile. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(true)
  if (ms === 0) return Promise.resolve(false)
  return new Promise((resolve) => {
    const cancelled = () => {
      clearTimeout(timer)
      resolve(true)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', cancelled)
      resolve(false)
    }, ms)
    signal.addEventListener('abort', cancelled, { once: true })
  })
}
