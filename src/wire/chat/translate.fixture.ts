import type { Conversation, ConversationItem } from '../../model/conversation.ts'
import type { TurnEvent } from '../../model/event.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { Price } from '../../model/price.ts'
import type { SettledCharge } from '../../model/settled-charge.ts'
import type { ChatRequest } from '../../model/turn.ts'
import type { EventReader } from '../event-reader.ts'
import { nothingHeard } from '../event-reader.ts'
import { scanJson } from '../json/scan-json.ts'
import { NO_SAMPLING } from '../no-sampling.ts'
import type { ToolNames } from '../tool-names.ts'
import { chatDialect } from './dialects.ts'
import { readRequest } from './read-request.ts'
import { writeRequest } from './write-request.ts'

export const conversationOf = (items: readonly ConversationItem[], over: Partial<Conversation> = {}): Conversation => ({
  instructions: undefined,
  items,
  tools: [],
  toolChoice: undefined,
  parallelToolCalls: undefined,
  format: undefined,
  verbosity: undefined,
  reasoning: { summary: undefined },
  sampling: NO_SAMPLING,
  identity: { user: undefined, safetyIdentifier: undefined, promptCacheKey: undefined },
  ...over,
})

type Item<Type extends ConversationItem['type']> = Extract<ConversationItem, { type: Type }>

const text = (said: string) => [{ type: 'text' as const, text: said }]

export const message = (
  role: Item<'message'>['role'],
  content: string | Item<'message'>['content'],
): ConversationItem => ({
  type: 'message',
  role,
  content: typeof content === 'string' ? text(content) : content,
  phase: undefined,
  name: undefined,
})

export const call = (callId: string, over: Partial<Item<'tool-call'>> = {}): ConversationItem => ({
  type: 'tool-call',
  tool: 'function',
  callId,
  name: 'look',
  namespace: undefined,
  text: '{}',
  ...over,
})

export const result = (callId: string, content: string | Item<'tool-result'>['content']): ConversationItem => ({
  type: 'tool-result',
  tool: 'function',
  callId,
  content: typeof content === 'string' ? text(content) : content,
})

export const reasoning = (said: string, summary: readonly string[] = []): ConversationItem => ({
  type: 'reasoning',
  summary,
  text: said,
  opaque: undefined,
})

export interface Written {
  readonly body: Record<string, unknown> & { readonly messages: readonly Record<string, unknown>[] }
  readonly leftOut: readonly string[]
  readonly tools: ToolNames
}

/** What a lane of that dialect is sent. */
export function written(
  conversation: Conversation,
  dialect = 'openai',
  over: Partial<{ effort: string }> = {},
): Written {
  const target = {
    model: 'lane',
    origin: 'lane',
    outputCap: 100,
    dialect: chatDialect(dialect),
    delivery: 'stream' as const,
  }
  const request = writeRequest(conversation, { ...target, effort: over.effort as never })
  return { ...request, body: JSON.parse(String(request.body)) }
}

export const messagesOf = (items: readonly ConversationItem[], dialect = 'openai') =>
  written(conversationOf(items), dialect).body.messages

/** A request as it comes through the door. */
export function requestOf(body: object): ChatRequest {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', ...body }))
  const scanned = scanJson(bytes, { depthMax: 100, valuesMax: 100_000 })
  if (scanned.kind !== 'scanned') throw new Error('not JSON')
  const read = readRequest({ bytes, members: scanned.members, value: JSON.parse(String(bytes)) })
  if (read.kind !== 'turn' || read.turn.protocol !== 'chat') throw new Error(JSON.stringify(read))
  return read.turn
}

export const frame = (json: unknown) => Buffer.from(`data: ${JSON.stringify(json)}\n\n`)

export const chunk = (delta: object, finish: string | null = null, over: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'lane',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...over,
})

/** A lane of which each frame gives what is listed for it. */
export function readerOf(events: readonly (readonly TurnEvent[])[]): EventReader {
  let at = 0
  return { heard: nothingHeard(), read: () => events[at++] ?? [], readAlike: () => undefined }
}

export const SETTLED: SettledCharge = {
  usage: { uncachedInput: 3, cachedInput: 1, cacheWrite: 0, output: 5, reasoning: 2, estimated: false },
  charge: 1_000n as NanoUsd,
  tier: 0,
  price: { version: 7 } as unknown as Price,
}
