import type { Fields } from '../../lib/types.ts'
import type { Conversation, ConversationItem } from '../../model/conversation.ts'
import type { ModelTraits } from '../../model/effort.ts'
import type { TurnEvent } from '../../model/event.ts'
import { laneTarget } from '../lane-target.fixture.ts'
import { countedIds } from '../mint-ids.fixture.ts'
import type { EventReader } from '../shared/event-reader.ts'
import { type LaneTarget, type WrittenRequest, withTraits } from '../shared/lane-target.ts'
import { type GeminiDialect, geminiDialect } from './dialects.ts'
import { createEventReader } from './read-events.ts'
import { writeSignature } from './thought-signatures.ts'
import type { Content } from './write-contents.ts'
import { writeRequest } from './write-request.ts'

/** A dialect as it is spoken to a model with these traits. */
export const spoken = (name = 'google', traits: Partial<ModelTraits> = {}): GeminiDialect =>
  withTraits(geminiDialect(name), { traits })

type Target = Partial<LaneTarget<GeminiDialect>>

export interface Written extends Omit<WrittenRequest, 'body'> {
  readonly body: Fields & { readonly contents: readonly Content[]; readonly generationConfig: Fields }
}

/** What a lane is sent. */
export function written(conversation: Conversation, { dialect = spoken(), ...over }: Target = {}): Written {
  const request = writeRequest(conversation, laneTarget(dialect, { outputCap: 1000, ...over }))
  return { ...request, body: JSON.parse(JSON.stringify(request.body)) }
}

/** What the model of these tests has signed before. */
export const signed = (signature: string, on: 'call' | 'text' = 'call', origin = 'lane'): ConversationItem => ({
  type: 'reasoning',
  summary: [],
  text: '',
  opaque: { wire: 'gemini', origin, data: writeSignature({ signature, on }) },
})

export const sse = (chunk: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(chunk)}\r\n\r\n`)

export const readerOf = (dialect = spoken()): EventReader =>
  createEventReader({ dialect, origin: 'lane', mint: countedIds() })

/** A chunk with these parts, after UPSTREAMS §2.5. */
export const said = (parts: unknown, more: Fields = {}, beside: Fields = {}): Fields => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
  modelVersion: 'gemini',
  responseId: 'r1',
  ...beside,
})

export const ends = (word = 'STOP', beside: Fields = {}): Fields => said([{ text: '' }], { finishReason: word }, beside)

export function hear(...chunks: readonly unknown[]): {
  readonly events: readonly TurnEvent[]
  readonly reader: EventReader
} {
  const reader = readerOf()
  return { events: chunks.flatMap((chunk) => reader.read(sse(chunk))), reader }
}
