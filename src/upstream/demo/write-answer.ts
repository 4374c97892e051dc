import type { DemoReply } from './compose-reply.ts'

/** What is the same in every chunk of one answer. */
export interface DemoStamp {
  readonly id: string
  readonly callId: string
  readonly created: number
  readonly model: string
}

const frame = (json: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(json)}\n\n`)

/** The answer as the chunks of a Chat stream, `[DONE]` included. */
export function demoChunks(reply: DemoReply, stamp: DemoStamp): Buffer[] {
  const chunk = (delta: Record<string, unknown>, finish: string | null = null) =>
    frame({
      ...headOf(stamp, 'chat.completion.chunk'),
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      usage: null,
    })
  return [
    chunk({ role: 'assistant', content: reply.call ? null : '', refusal: null }),
    ...reply.reasoning.map((piece) => chunk({ reasoning_content: piece })),
    ...reply.words.map((piece) => chunk({ content: piece })),
    ...callDeltas(reply, stamp).map((delta) => chunk(delta)),
    chunk({}, reply.finish),
    frame({ ...headOf(stamp, 'chat.completion.chunk'), choices: [], usage: usageOf(reply) }),
    Buffer.from('data: [DONE]\n\n'),
  ]
}

function callDeltas(reply: DemoReply, stamp: DemoStamp): Record<string, unknown>[] {
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
    content: reply.call ? null : reply.words.join(''),
    refusal: null,
    ...(reply.reasoning.length > 0 ? { reasoning_content: reply.reasoning.join('') } : {}),
    ...(reply.call ? { tool_calls: [{ id: stamp.callId, type: 'function', function: reply.call }] } : {}),
  }
  const body = {
    ...headOf(stamp, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: reply.finish }],
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
  completion_tokens_details: { reasoning_tokens: reply.reasoning.length },
})
