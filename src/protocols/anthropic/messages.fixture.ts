import type { Fields } from '../../lib/types.ts'
import type { Conversation, ConversationItem } from '../../model/conversation.ts'
import type { ModelTraits } from '../../model/effort.ts'
import type { TurnEvent } from '../../model/event.ts'
import { conversationOf } from '../conversation.fixture.ts'
import { laneTarget } from '../lane-target.fixture.ts'
import { countedIds } from '../mint-ids.fixture.ts'
import type { EventReader } from '../shared/event-reader.ts'
import { type LaneTarget, type WrittenRequest, withTraits } from '../shared/lane-target.ts'
import { type AnthropicDialect, anthropicDialect } from './dialects.ts'
import { createEventReader } from './read-events.ts'
import { writeRequest } from './write-request.ts'

/** What the lane of these tests has thought and sealed before. */
export const sealed = (block: object, origin = 'lane'): ConversationItem => ({
  type: 'reasoning',
  summary: [],
  text: '',
  opaque: { wire: 'anthropic', origin, data: JSON.stringify(block) },
})

export const thinking = (thought: string, signature = 'EqQB') => ({ type: 'thinking', thinking: thought, signature })

export const tool = (name: string, parameters: Fields = { type: 'object', properties: {} }) =>
  ({ type: 'function', name, namespace: undefined, description: undefined, parameters, strict: undefined }) as const

/** A dialect as it is spoken to a model with these traits. */
export const spoken = (name: string, traits: Partial<ModelTraits> = {}): AnthropicDialect =>
  withTraits(anthropicDialect(name), { traits })

export interface Written extends Omit<WrittenRequest, 'body'> {
  readonly body: Fields & { readonly messages: readonly { role: string; content: readonly Fields[] }[] }
}

/** What a lane is sent. */
export function written(
  conversation: Conversation,
  dialect: AnthropicDialect = spoken('anthropic'),
  over: Partial<LaneTarget<AnthropicDialect>> = {},
): Written {
  const request = writeRequest(conversation, { ...laneTarget(dialect, { outputCap: 8_000 }), ...over })
  return { ...request, body: JSON.parse(JSON.stringify(request.body)) }
}

export const messagesOf = (...items: ConversationItem[]) => written(conversationOf(items)).body.messages

export const sse = (event: object): Buffer =>
  Buffer.from(`event: ${'type' in event ? event.type : 'x'}\ndata: ${JSON.stringify(event)}\n\n`)

export const readerOf = (dialect = spoken('anthropic')): EventReader =>
  createEventReader({ dialect, origin: 'lane', mint: countedIds() })

export function hear(...frames: object[]): { readonly events: readonly TurnEvent[]; readonly reader: EventReader } {
  const reader = readerOf()
  return { events: frames.flatMap((frame) => reader.read(sse(frame))), reader }
}

// The frames of a stream, after UPSTREAMS §1.6.
export const begin = (usage: object = { input_tokens: 25, output_tokens: 1 }) => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage },
})
export const start = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block })
export const delta = (index: number, type: string, said: object) => ({
  type: 'content_block_delta',
  index,
  delta: { type, ...said },
})
export const says = (index: number, said: string) => delta(index, 'text_delta', { text: said })
export const thinks = (index: number, thought: string) => delta(index, 'thinking_delta', { thinking: thought })
export const signs = (index: number, signature: string) => delta(index, 'signature_delta', { signature })
export const writes = (index: number, partial_json: string) => delta(index, 'input_json_delta', { partial_json })
export const stop = (index: number) => ({ type: 'content_block_stop', index })
export const finish = (stop_reason: string | null, usage: object = { output_tokens: 42 }) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  usage,
})
export const over = { type: 'message_stop' }
export const TEXT = { type: 'text', text: '' }
export const THINKING = { type: 'thinking', thinking: '', signature: '' }
export const use = (name: string, id = 'toolu_1', input: object = {}) => ({ type: 'tool_use', id, name, input })
