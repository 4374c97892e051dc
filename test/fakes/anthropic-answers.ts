import type { Fields } from '../../src/lib/types.ts'
import type { ProviderAnswer } from './answers.ts'
import { parseMessages, type SignedThinking, shapeOf } from './anthropic-requests.ts'
import { delivered } from './delivered.ts'
import type { Script } from './fault-upstream.ts'
import {
  type Counted,
  callId,
  type ModelState,
  outputName,
  POLITE,
  reasoningTokens,
  type Saying,
} from './polite-model.ts'
import { demand, modeOf, strictly } from './strict-request.ts'

/**
 * A provider that speaks Messages: it signs what it thinks, wants it back as it was or not at all, and from its own model
 * alone.
 */
export function anthropicAnswer({
  name = 'fake',
  signatures = new Map(),
  modelState = POLITE,
  thinks,
}: Signer = {}): Script {
  let signed = 0
  return strictly(async (providerAnswer) => {
    demand(
      providerAnswer.receivedHeaders.get('anthropic-version') !== null,
      'anthropic-version: header is required',
      'headers',
    )
    const parsedRequest = parseMessages(providerAnswer.receivedRequest, { signatures })
    const saying = modelState.sayingOf(parsedRequest)
    const blocks = blocksOf(saying, { thinks, sign: () => `signed-by-${name}-${signed++}` })
    const answer = blocks.map(({ whole }) => shapeOf(whole))
    for (const { whole } of blocks) {
      const { signature = whole.data, thinking = '' } = whole
      if (signature === undefined) continue
      signatures.set(String(signature), { model: providerAnswer.model, thinking: String(thinking), answer })
    }
    const counted = modelState.countsOf(providerAnswer.receivedRequest, parsedRequest, saying)
    await stream(providerAnswer, { blocks, counted, saying })
  }, messagesRefusal)
}

interface Signer {
  /** Shows in its signatures. */
  readonly name?: string
  /** What it has signed; who takes something out has it forgotten. */
  readonly signatures?: Map<string, SignedThinking>
  readonly modelState?: ModelState
  /** Of every answer that is thought about, another part is thought behind closed doors; or all of it. */
  readonly thinks?: 'partly-redacted' | 'redacted'
}

/** How this provider says that a request is not right. */
const messagesRefusal = (message: string): object => ({
  type: 'error',
  error: { type: 'invalid_request_error', message },
  request_id: 'req_fake',
})

/** A block, and the deltas that tell it. */
interface DeliveredBlock {
  readonly whole: Fields
  readonly start: Fields
  readonly deltas: readonly Fields[]
}

interface Thinking {
  readonly thinks: Signer['thinks']
  readonly sign: () => string
}

function blocksOf({ thoughts, words, calls }: Saying, thinking: Thinking): DeliveredBlock[] {
  const start = { type: 'text', text: '' }
  const deltas = words.map((text) => ({ type: 'text_delta', text }))
  return [
    ...(thoughts.length > 0 ? thoughtBlocks(thoughts, thinking) : []),
    ...(words.length > 0 ? [{ whole: { ...start, text: words.join('') }, start, deltas }] : []),
    ...calls.map((call, index) => {
      const half = Math.ceil(call.text.length / 2)
      const pieces = ['', call.text.slice(0, half), call.text.slice(half)]
      const begun = { type: 'tool_use', id: callId(call, index), name: outputName(call), input: {} }
      return {
        whole: { ...begun, input: JSON.parse(call.text) },
        start: begun,
        deltas: pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      }
    }),
  ]
}

/** What is thought behind closed doors comes whole. */
function thoughtBlocks(thoughts: readonly string[], { thinks, sign }: Thinking): DeliveredBlock[] {
  const closed = (): DeliveredBlock => {
    const whole = { type: 'redacted_thinking', data: sign() }
    return { whole, start: whole, deltas: [] }
  }
  if (thinks === 'redacted') return [closed()]
  const whole = { type: 'thinking', thinking: thoughts.join(''), signature: sign() }
  const reported = {
    whole,
    start: { ...whole, thinking: '', signature: '' },
    deltas: [
      ...thoughts.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: whole.signature },
    ],
  }
  return thinks === 'partly-redacted' ? [reported, closed()] : [reported]
}

interface Answer {
  readonly blocks: readonly DeliveredBlock[]
  readonly counted: Counted
  readonly saying: Saying
}

async function stream(providerAnswer: ProviderAnswer, { blocks, counted, saying }: Answer): Promise<void> {
  const emit = (type: string, fields: Fields = {}) => providerAnswer.events({ type, ...fields })
  const { input, cached, written = 0, output } = counted
  const usage = {
    ...{ input_tokens: input - cached - written, cache_read_input_tokens: cached },
    cache_creation_input_tokens: written,
  }
  const message = { id: 'msg_fake', type: 'message', role: 'assistant', model: providerAnswer.model, content: [] }
  await providerAnswer.head()
  await emit('message_start', {
    message: { ...message, stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } },
  })
  await emit('ping')
  for (const [index, { start, deltas }] of blocks.entries()) {
    await emit('content_block_start', { index, content_block: start })
    for (const [at, delta] of deltas.entries()) {
      if (start.type === 'text' && at === 2 && (await endsEarly(providerAnswer))) return
      await emit('content_block_delta', { index, delta })
    }
    await emit('content_block_stop', { index })
  }
  const stop_reason = saying.calls.length > 0 ? 'tool_use' : 'end_turn'
  const thinking_tokens = reasoningTokens(counted, saying)
  await emit('message_delta', {
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: output, output_tokens_details: { thinking_tokens } },
  })
  await emit('message_stop')
  await providerAnswer.end()
}

async function endsEarly(providerAnswer: ProviderAnswer): Promise<boolean> {
  const mode = modeOf(providerAnswer)
  if (mode === 'whole') return false
  await delivered()
  if (mode === 'breaks') {
    await providerAnswer.events({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
    await providerAnswer.end()
  }
  if (mode === 'resets') providerAnswer.reset()
  return true
}
