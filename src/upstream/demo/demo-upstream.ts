import type { Clock } from '../../lib/clock.ts'
import { type RandomBytes, randomId } from '../../lib/random-id.ts'
import type { StopSignal } from '../../lib/stop-signal.ts'
import { createChunkQueue } from '../chunk-queue.ts'
import type { UpstreamOutcome } from '../upstream-answer.ts'
import { composeReply, type DemoReply } from './compose-reply.ts'
import { type DemoRequest, readDemoRequest } from './demo-request.ts'
import { createSpeaker } from './speaker.ts'
import { type DemoStamp, demoChunks, demoCompletion } from './write-answer.ts'

/**
 * The provider that is built in: it needs no network and no key, answers in the bytes of the chat wire, and is reached
 * through the same `send` as any other, so that relay, limits and money run for real.
 */
export interface DemoUpstream {
  answer(body: Buffer, signal: StopSignal): Promise<UpstreamOutcome>
}

/** As fast as a person likes to see words appear; the `-fast` model is for measuring. */
const WORD_PAUSE_MS = 20
const THOUGHT_PAUSE_MS = 10

export function createDemoUpstream(deps: { readonly clock: Clock; readonly random: RandomBytes }): DemoUpstream {
  return {
    async answer(body, signal) {
      if (signal.stopped) return CANCELLED
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

const CANCELLED: UpstreamOutcome = { kind: 'failed', reason: 'cancelled', message: 'The request was cancelled.' }

const paceOf = (request: DemoRequest): number => (request.model.endsWith('-fast') ? 0 : 1)

function streamed(request: DemoRequest, reply: DemoReply, stamp: DemoStamp, signal: StopSignal): UpstreamOutcome {
  const { body } = createSpeaker({
    chunks: demoChunks(reply, stamp),
    pauseMs: WORD_PAUSE_MS * paceOf(request),
    headStartMs: reply.reasoning.length * THOUGHT_PAUSE_MS * paceOf(request),
    signal,
  })
  return { kind: 'answer', status: 200, headers: { 'content-type': 'text/event-stream' }, body }
}

async function whole(
  request: DemoRequest,
  reply: DemoReply,
  stamp: DemoStamp,
  signal: StopSignal,
): Promise<UpstreamOutcome> {
  const pieces = reply.completionTokens / reply.choices
  const cancelled = await pause(pieces * THOUGHT_PAUSE_MS * paceOf(request), signal)
  if (cancelled) return CANCELLED
  const queue = createChunkQueue(
    { pause() {}, resume() {}, cancel() {} },
    { awaitedMax: Number.POSITIVE_INFINITY, unawaitedMax: Number.POSITIVE_INFINITY },
  )
  queue.push(demoCompletion(reply, stamp))
  queue.end()
  return { kind: 'answer', status: 200, headers: { 'content-type': 'application/json' }, body: queue.body }
}

/** True when it was cancelled meanwhile. */
function pause(ms: number, signal: StopSignal): Promise<boolean> {
  if (ms === 0) return Promise.resolve(false)
  return new Promise((resolve) => {
    const cancelled = () => {
      clearTimeout(timer)
      resolve(true)
    }
    const timer = setTimeout(() => {
      forgetSignal()
      resolve(false)
    }, ms)
    const forgetSignal = signal.onStop(cancelled)
  })
}
