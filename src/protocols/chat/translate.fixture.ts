import type { Conversation, ConversationItem } from '../../model/conversation.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { TurnEvent } from '../../model/event.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { Price } from '../../model/price.ts'
import type { ChatRequest } from '../../model/turn.ts'
import { conversationOf } from '../conversation.fixture.ts'
import { scanJson } from '../json/scan-json.ts'
import { laneTarget } from '../lane-target.fixture.ts'
import type { EventReader } from '../shared/event-reader.ts'
import { newStreamState } from '../shared/stream-state.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import { chatDialect } from './dialects.ts'
import { parseRequest } from './parse-request.ts'
import { writeRequest } from './write-request.ts'

export { call, conversationOf, message, reasoning, result } from '../conversation.fixture.ts'

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
  const target = laneTarget(chatDialect(dialect), { outputCap: 100, effort: over.effort as never })
  const request = writeRequest(conversation, target)
  return { ...request, body: JSON.parse(JSON.stringify(request.body)) }
}

export const messagesOf = (items: readonly ConversationItem[], dialect = 'openai') =>
  written(conversationOf(items), dialect).body.messages

/** A request as it comes through the door. */
export function requestOf(body: object): ChatRequest {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', ...body }))
  const scanned = scanJson(bytes, { depthMax: 100, valuesMax: 1_000_000 })
  if (scanned.kind !== 'scanned') throw new Error('not JSON')
  const read = parseRequest({ bytes, members: scanned.members, value: JSON.parse(String(bytes)) })
  if (read.kind !== 'read' || read.request.protocol !== 'chat') throw new Error(JSON.stringify(read))
  return read.request
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
  return { state: newStreamState(), read: () => events[at++] ?? [], readTemplated: () => undefined }
}

export const SETTLED: SettledCharge = {
  usage: { uncachedInput: 3, cachedInput: 1, cacheWrite: 0, output: 5, reasoning: 2, estimated: false },
  charge: 1_000n as NanoUsd,
  tier: 0,
  price: { version: 7 } as unknown as Price,
}
