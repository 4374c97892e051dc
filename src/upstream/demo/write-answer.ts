import { DONE_FRAME, dataFrame } from '../../wire/sse/frame-data.ts'
import type { DemoReply } from './compose-reply.ts'

/** What is the same in every chunk of one answer. */
export interface DemoStamp {
  readonly id: string
  readonly callId: string
  readonly created: number
  readonly model: string
}

type Delta = Record<string, unknown>

/**
 * The answer as a Chat stream, `[DONE]` included: one step after another, each composed when it is asked for, so that a
 * long answer takes no more room than its reader lets it. All choices speak in step.
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
export function demoCompletion(reply: DemoReply, stamp: DemoStamp): Buffer {
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
