import type { Fields } from '../../src/lib/types.ts'
import type { Opaque, TurnEvent } from '../../src/model/event.ts'
import type { Delivery, Protocol } from '../../src/model/turn.ts'
import { chatDialect } from '../../src/protocols/chat/dialects.ts'
import { createChatEncoder } from '../../src/protocols/chat/encoder.ts'
import { ChunkWriter } from '../../src/protocols/chat/write-events.ts'
import { responsesDialect } from '../../src/protocols/responses/dialects.ts'
import type { ClientEncoder, EventReader } from '../../src/protocols/shared/codec-types.ts'
import { FrameSplitter } from '../../src/protocols/sse/frames.ts'
import { codecs } from '../../src/protocols/wires.ts'
import { requestOf } from '../fixtures/protocols/chat/translate.ts'
import { countedIds } from '../fixtures/protocols/mint-ids.ts'
import { eventReader, frameOf, openEncoder, settledCharge } from '../fixtures/protocols/responses/encoder.ts'
import { type ChatAnswer, readChatStream } from '../support/chat-grammar.ts'
import { checkResponsesStream, eventsOf } from '../support/responses-grammar.ts'
import type { Said } from './random-answer.ts'

const DIALECTS = { chat: chatDialect('generic'), responses: responsesDialect('generic') }

export const readerOf = (lane: Protocol): EventReader =>
  codecs.createEventReader({ dialect: DIALECTS[lane], origin: 'lane' }, countedIds())

/** An answer as a provider sends it. */
export const sentBy = (lane: Protocol, events: readonly TurnEvent[]): string =>
  lane === 'chat' ? sentInChat(events) : sentInResponses(events)

const COUNTED = { choices: [], usage: { prompt_tokens: 9, completion_tokens: 5 } }

function sentInChat(events: readonly TurnEvent[]): string {
  const writer = new ChunkWriter({ id: 'theirs', created: 1, model: 'lane' })
  const chunks = events.map((event) => writer.write([event])?.toString() ?? '')
  return `${chunks.join('')}data: ${JSON.stringify(COUNTED)}\n\ndata: [DONE]\n\n`
}

function sentInResponses(events: readonly TurnEvent[]): string {
  const fields = { include: ['reasoning.encrypted_content'] }
  // A provider's own seal is in no envelope.
  const others = { sealReasoning: ({ data }: Opaque) => data }
  const adapter = openEncoder({ fields, others }).translate(eventReader())
  const emitted = events.map((event) => adapter.read(frameOf(event)).bytes?.toString() ?? '')
  return emitted.join('') + adapter.close(settledCharge()).toString()
}

/** The frames that each further piece of a stream completes. */
export function createCutter(): (piece: Buffer) => Buffer[] {
  const splitter = new FrameSplitter({ frameBytesMax: 1024 * 1024 })
  return (piece) => {
    splitter.push(piece)
    const frames: Buffer[] = []
    for (let frame = splitter.next(); frame; frame = splitter.next()) frames.push(frame)
    return frames
  }
}

export const framesIn = (pieces: readonly Buffer[]): Buffer[] => pieces.flatMap(createCutter())

/** What a reader makes of a whole stream. */
export function eventsIn(protocol: Protocol, stream: string): TurnEvent[] {
  const reader = readerOf(protocol)
  return framesIn([Buffer.from(stream)]).flatMap((frame) => reader.read(frame))
}

export const openClient = (client: Protocol, delivery: Delivery): ClientEncoder =>
  client === 'responses'
    ? openEncoder({ fields: { include: ['reasoning.encrypted_content'] }, delivery })
    : createChatEncoder({
        request: requestOf({
          ...{ messages: [{ role: 'user', content: 'q' }], stream: delivery === 'stream' },
          stream_options: { include_usage: true },
        }),
        ...{ model: 'mill-1', requestId: 'req_1', mint: countedIds(), now: () => 1_800_000_000_000 },
      })

/** What a client has been told, or what is wrong with how it was told. */
export interface Told {
  readonly emitted: Said
  readonly end: 'finished' | 'failed'
}

export const deliveredIn = (client: Protocol, stream: string): Told | string =>
  client === 'chat' ? deliveredInChat(stream) : deliveredInResponses(stream)

function deliveredInChat(stream: string): Told | string {
  const answer = readChatStream(stream, { usage: true })
  return typeof answer === 'string' ? answer : { emitted: saidOf(answer), end: answer.error ? 'failed' : 'finished' }
}

const saidOf = ({ content, refusal, reasoning, calls, tokens }: ChatAnswer): Said => ({
  ...{ content, refusal, reasoning, tokens },
  calls: calls.map(({ tool, name, words }) => ({ tool, name, words })),
})

function deliveredInResponses(stream: string): Told | string {
  const [violation] = checkResponsesStream(stream)
  if (violation !== undefined) return violation
  const response = eventsOf(stream).at(-1)?.response as { status: string; output: readonly Fields[] }
  return { emitted: saidInOutput(response.output), end: response.status === 'failed' ? 'failed' : 'finished' }
}

/** A JSON answer, which is nothing but its end. */
export function deliveredInJson(client: Protocol, body: string): Said {
  const answer = JSON.parse(body)
  if (client === 'responses') return saidInOutput(answer.output)
  const [{ message, logprobs }] = answer.choices
  const calls = (message.tool_calls ?? []) as Fields[]
  return {
    content: message.content ?? '',
    refusal: message.refusal ?? '',
    reasoning: message.reasoning_content ?? '',
    calls: calls.map((call) => {
      const { name, arguments: args, input } = call[call.type as string] as Record<string, string>
      return { tool: call.type as 'function', name: name ?? '', words: args ?? input ?? '' }
    }),
    tokens: (logprobs?.content ?? []).map(({ token }: { token: string }) => token),
  }
}

function saidInOutput(output: readonly Fields[]): Said {
  const emitted = {
    content: '',
    refusal: '',
    reasoning: '',
    calls: [] as Said['calls'][number][],
    tokens: [] as string[],
  }
  for (const item of output) {
    const words = item.arguments ?? item.input
    if (typeof words === 'string') {
      const tool = item.type === 'custom_tool_call' ? 'custom' : 'function'
      emitted.calls.push({ tool, name: String(item.name), words })
    }
    for (const part of [...listOf(item.summary), ...listOf(item.content)]) {
      if (part.type === 'refusal') emitted.refusal += part.refusal
      else if (part.type === 'output_text') emitted.content += part.text
      else emitted.reasoning += part.text
      emitted.tokens.push(...listOf(part.logprobs).map(({ token }) => String(token)))
    }
  }
  return emitted
}

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value : [])
