import type { Fields } from '../../src/lib/types.ts'
import { hearMessages, type SignedThinking, shapeOf } from './anthropic-requests.ts'
import { delivered } from './delivered.ts'
import type { Script } from './fault-upstream.ts'
import { type Counted, callId, type Mind, POLITE, reasoningTokens, type Saying, spokenName } from './polite-model.ts'
import { demand, mannerOf, strictly } from './strict-request.ts'
import type { Talk } from './answers.ts'

/**
 * A provider that speaks Messages: it signs what it thinks, wants it back as it was or not at all, and from its own model
 * alone.
 */
export function anthropicTalk({ name = 'fake', signatures = new Map(), mind = POLITE, thinks }: Signer = {}): Script {
  let signed = 0
  return strictly(async (talk) => {
    demand(talk.askedWith.get('anthropic-version') !== null, 'anthropic-version: header is required', 'headers')
    const hearing = hearMessages(talk.asked, { signatures })
    const saying = mind.sayingOf(hearing)
    const blocks = blocksOf(saying, { thinks, sign: () => `signed-by-${name}-${signed++}` })
    const answer = blocks.map(({ whole }) => shapeOf(whole))
    for (const { whole } of blocks) {
      const { signature = whole.data, thinking = '' } = whole
      if (signature === undefined) continue
      signatures.set(String(signature), { model: talk.model, thinking: String(thinking), answer })
    }
    const counted = mind.countsOf(talk.asked, hearing, saying)
    await stream(talk, { blocks, counted, saying })
  }, messagesRefusal)
}

interface Signer {
  /** Shows in its signatures. */
  readonly name?: string
  /** What it has signed; who takes something out has it forgotten. */
  readonly signatures?: Map<string, SignedThinking>
  readonly mind?: Mind
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
interface ToldBlock {
  readonly whole: Fields
  readonly start: Fields
  readonly deltas: readonly Fields[]
}

interface Thinking {
  readonly thinks: Signer['thinks']
  readonly sign: () => string
}

function blocksOf({ thoughts, words, calls }: Saying, thinking: Thinking): ToldBlock[] {
  const start = { type: 'text', text: '' }
  const deltas = words.map((text) => ({ type: 'text_delta', text }))
  return [
    ...(thoughts.length > 0 ? thoughtBlocks(thoughts, thinking) : []),
    ...(words.length > 0 ? [{ whole: { ...start, text: words.join('') }, start, deltas }] : []),
    ...calls.map((call, index) => {
      const half = Math.ceil(call.text.length / 2)
      const pieces = ['', call.text.slice(0, half), call.text.slice(half)]
      const begun = { type: 'tool_use', id: callId(call, index), name: spokenName(call), input: {} }
      return {
        whole: { ...begun, input: JSON.parse(call.text) },
        start: begun,
        deltas: pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      }
    }),
  ]
}

/** What is thought behind closed doors comes whole. */
function thoughtBlocks(thoughts: readonly string[], { thinks, sign }: Thinking): ToldBlock[] {
  const closed = (): ToldBlock => {
    const whole = { type: 'redacted_thinking', data: sign() }
    return { whole, start: whole, deltas: [] }
  }
  if (thinks === 'redacted') return [closed()]
  const whole = { type: 'thinking', thinking: thoughts.join(''), signature: sign() }
  const told = {
    whole,
    start: { ...whole, thinking: '', signature: '' },
    deltas: [
      ...thoughts.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: whole.signature },
    ],
  }
  return thinks === 'partly-redacted' ? [told, closed()] : [told]
}

interface Answer {
  readonly blocks: readonly ToldBlock[]
  readonly counted: Counted
  readonly saying: Saying
}

async function stream(talk: Talk, { blocks, counted, saying }: Answer): Promise<void> {
  const say = (type: string, fields: Fields = {}) => talk.events({ type, ...fields })
  const { input, cached, written = 0, output } = counted
  const usage = {
    ...{ input_tokens: input - cached - written, cache_read_input_tokens: cached },
    cache_creation_input_tokens: written,
  }
  const message = { id: 'msg_fake', type: 'message', role: 'assistant', model: talk.model, content: [] }
  await talk.head()
  await say('message_start', {
    message: { ...message, stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } },
  })
  await say('ping')
  for (const [index, { start, deltas }] of blocks.entries()) {
    await say('content_block_start', { index, content_block: start })
    for (const [at, delta] of deltas.entries()) {
      if (start.type === 'text' && at === 2 && (await endsEarly(talk))) return
      await say('content_block_delta', { index, delta })
    }
    await say('content_block_stop', { index })
  }
  const stop_reason = saying.calls.length > 0 ? 'tool_use' : 'end_turn'
  const thinking_tokens = reasoningTokens(counted, saying)
  await say('message_delta', {
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: output, output_tokens_details: { thinking_tokens } },
  })
  await say('message_stop')
  await talk.end()
}

async function endsEarly(talk: Talk): Promise<boolean> {
  const manner = mannerOf(talk)
  if (manner === 'whole') return false
  await delivered()
  if (manner === 'breaks') {
    await talk.events({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
    await talk.end()
  }
  if (manner === 'resets') talk.reset()
  return true
}
