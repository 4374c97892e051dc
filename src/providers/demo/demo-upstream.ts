import type { StopSignal } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { type RandomBytes, randomId } from '../../lib/random-id.ts'
import { DONE_FRAME, dataFrame } from '../../protocols/sse/frames.ts'
import type { UpstreamBody, UpstreamOutcome } from '../upstream-answer.ts'
import { composeReply, type DemoReply } from './compose-reply.ts'
import { type DemoRequest, readDemoRequest } from './demo-request.ts'

/**
 * The built-in provider: it needs no network and no key, and answers in the bytes of the chat wire through the same `send` as any
 * other, so that relay, limits and money are real.
 */
export interface DemoUpstream {
  answer(body: Buffer, signal: StopSignal): Promise<UpstreamOutcome>
}

/** A comfortable reading speed; the `-fast` model is for measuring. */
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
  const body = pacedBody({
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
  const unread = [demoCompletion(reply, stamp)]
  const body = { read: async () => unread.splice(0), cancel() {}, release() {} }
  return { kind: 'answer', status: 200, headers: { 'content-type': 'application/json' }, body }
}

/** True if it was cancelled. */
function pause(ms: number, signal: StopSignal): Promise<boolean> {
  if (ms === 0) return Promise.resolve(false)
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      signal.onStop = undefined
      resolve(false)
    }, ms)
    signal.onStop = () => {
      clearTimeout(timer)
      resolve(true)
    }
  })
}

interface PacedChunks {
  readonly chunks: Iterator<Buffer>
  readonly pauseMs: number
  readonly headStartMs: number
  readonly signal: StopSignal
}

/** One read without pauses. */
const READ_BYTES_MAX = 64 * 1024

/** One chunk after another until the end or a cancel. Nothing is composed before it is read. */
export function pacedBody({ chunks, pauseMs, headStartMs, signal }: PacedChunks): UpstreamBody {
  let waitMs = headStartMs
  let isCancelled = false
  let timer: NodeJS.Timeout | undefined
  let wake: (() => void) | undefined
  const cancel = () => {
    isCancelled = true
    clearTimeout(timer)
    forgetSignal()
    wake?.()
  }
  const forgetSignal = () => {
    signal.onStop = undefined
  }
  signal.onStop = cancel
  return {
    async read() {
      if (!isCancelled)
        await new Promise<void>((resolve) => {
          wake = resolve
          if (waitMs === 0) setImmediate(resolve)
          else timer = setTimeout(resolve, waitMs)
        })
      if (isCancelled) throw new Error('cancelled')
      waitMs = pauseMs
      const read: Buffer[] = []
      let bytes = 0
      do {
        const { value, done } = chunks.next()
        if (done) {
          forgetSignal()
          break
        }
        read.push(value)
        bytes += value.length
      } while (pauseMs === 0 && bytes < READ_BYTES_MAX)
      return read
    },
    cancel,
    release: forgetSignal,
  }
}

/** The fields that all chunks of one answer share. */
interface DemoStamp {
  readonly id: string
  readonly callId: string
  readonly created: number
  readonly model: string
}

type Delta = Record<string, unknown>

/**
 * The answer as a Chat stream, `[DONE]` included. A chunk is composed only when it is read, so that a long answer takes little
 * memory. All choices advance together.
 */
export function* demoChunks(reply: DemoReply, stamp: DemoStamp): Generator<Buffer, void> {
  const head = headOf(stamp, 'chat.completion.chunk')
  const chunk = (delta: Delta, finish: string | null = null): Buffer =>
    Buffer.concat(
      indexesOf(reply).map((index) =>
        dataFrame({ ...head, choices: [{ index, delta, logprobs: null, finish_reason: finish }], usage: null }),
      ),
    )
  yield chunk({ role: 'assistant', content: reply.call ? null : '', refusal: null })
  for (const piece of reply.reasoning) yield chunk({ reasoning_content: piece })
  for (const piece of reply.words()) yield chunk({ content: piece })
  for (const delta of callDeltas(reply, stamp)) yield chunk(delta)
  yield chunk({}, reply.finish)
  yield dataFrame({ ...head, choices: [], usage: usageOf(reply) })
  yield DONE_FRAME
}

const indexesOf = (reply: DemoReply): number[] => Array.from({ length: reply.choices }, (_, index) => index)

function callDeltas(reply: DemoReply, stamp: DemoStamp): Delta[] {
  if (!reply.call) return []
  const { name, arguments: written } = reply.call
  return [
    { tool_calls: [{ index: 0, id: stamp.callId, type: 'function', function: { name, arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: written } }] },
  ]
}

/** The same answer as one JSON body. */
function demoCompletion(reply: DemoReply, stamp: DemoStamp): Buffer {
  const message = {
    role: 'assistant',
    content: reply.call ? null : [...reply.words()].join(''),
    refusal: null,
    ...(reply.reasoning.length > 0 ? { reasoning_content: reply.reasoning.join('') } : {}),
    ...(reply.call ? { tool_calls: [{ id: stamp.callId, type: 'function', function: reply.call }] } : {}),
  }
  const body = {
    ...headOf(stamp, 'chat.completion'),
    choices: indexesOf(reply).map((index) => ({ index, message, logprobs: null, finish_reason: reply.finish })),
    usage: usageOf(reply),
  }
  return Buffer.from(JSON.stringify(body))
}

const headOf = (stamp: DemoStamp, object: string) => ({
  id: stamp.id,
  object,
  created: stamp.created,
  model: stamp.model,
  system_fingerprint: 'millrace-demo',
})

const usageOf = (reply: DemoReply) => ({
  prompt_tokens: reply.promptTokens,
  completion_tokens: reply.completionTokens,
  total_tokens: reply.promptTokens + reply.completionTokens,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: reply.reasoningTokens },
})
