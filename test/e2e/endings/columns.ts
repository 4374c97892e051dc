import { parseUsd } from '../../../src/model/money.ts'
import type { ProblemCode } from '../../../src/model/problem.ts'
import type { Delivery } from '../../../src/model/turn.ts'
import { SUMMARY_REQUEST_BYTES } from '../../../src/protocols/shared/summary.ts'
import { checkResponsesStream, eventsOf } from '../../support/responses-grammar.ts'
import type { Seen } from './ending.ts'
import type { Wire } from './provider-frames.ts'

/** All that has come of an answer. */
export interface Received {
  readonly status: number
  readonly text: string
  /** Its regular end has come. */
  readonly ended: boolean
}

/**
 * How an answer comes about: the provider gives it in one piece, or it streams all the way, or the provider streams it and
 * the client gets it in one piece, because the lane speaks another language. A conversation that is compacted is sent when
 * it is whole, to a client that waits for a stream too.
 */
export type Variant = Delivery | 'collected' | 'compacted'

/** An endpoint in one kind of delivery, over a lane of one wire: every ending is played in each of them. */
export interface Column {
  readonly name: string
  readonly delivery: Delivery
  readonly wire: Wire
  readonly variant: Variant
  readonly path: string
  /** Whether its account may ask for the answer later. */
  readonly stores: boolean
  bodyOf(model: string, words: string): object
  /** What of the body is input of the model, in bytes. */
  inputBytes(words: string): number
  /** All that is asked of the model, in bytes, for the bound on its input. */
  bodyBytes(body: string): number
  /** Messages of the body, for the bound on its input. */
  readonly messages: number
  /** What a client makes of it, and which charge it was told. */
  understand(received: Received): Understood
}

export interface Understood {
  readonly seen: Seen
  readonly charge?: bigint | undefined
}

type Endpoint = Pick<Column, 'path' | 'stores' | 'messages' | 'inputBytes' | 'bodyBytes'>
type Client = Omit<Column, 'name' | 'wire' | 'variant'>

const messagesOf = (content: string) => [{ role: 'user', content }]

const CHAT: Endpoint = {
  path: '/chat/completions',
  stores: false,
  messages: 1,
  inputBytes: (words) => Buffer.byteLength(JSON.stringify(messagesOf(words))),
  bodyBytes: (body) => Buffer.byteLength(body),
}

const RESPONSES: Endpoint = {
  path: '/responses',
  stores: true,
  messages: 1,
  inputBytes: (words) => Buffer.byteLength(JSON.stringify(words)),
  bodyBytes: (body) => Buffer.byteLength(body),
}

/** The model reads one message more: what it is asked for. */
const COMPACT: Endpoint = {
  path: '/responses/compact',
  stores: false,
  messages: 2,
  inputBytes: (words) => RESPONSES.inputBytes(words) + SUMMARY_REQUEST_BYTES,
  bodyBytes: (body) => Buffer.byteLength(body) + SUMMARY_REQUEST_BYTES,
}

const TRIGGER = { type: 'compaction_trigger' }

/** What asks for it is taken out. */
const BY_TRIGGER: Endpoint = {
  ...{ ...COMPACT, path: '/responses', stores: true },
  inputBytes: (words) => CHAT.inputBytes(words) + SUMMARY_REQUEST_BYTES,
  bodyBytes: (body) => COMPACT.bodyBytes(body.replace(`,${JSON.stringify(TRIGGER)}`, '')),
}

const cutOff = (text: string): Understood => ({ seen: { kind: text === '' ? 'nothing' : 'cut' } })
const refusedWith = (text: string): Understood => ({ seen: { kind: 'refused', code: JSON.parse(text).error.code } })
const wholeFor = (usage: { millrace: { charge: string } }): Understood => ({
  seen: { kind: 'whole' },
  charge: parseUsd(usage.millrace.charge),
})

/** Both endpoints tell usage and charge of a JSON answer in the same place. */
function understandJson({ status, text, ended }: Received): Understood {
  if (!ended) return cutOff(text)
  return status === 200 ? wholeFor(JSON.parse(text).usage) : refusedWith(text)
}

function understandChat({ status, text, ended }: Received): Understood {
  if (!ended && text === '') return { seen: { kind: 'nothing' } }
  if (status !== 200) return refusedWith(text)
  const data = text.split('\n\n').flatMap((frame) => (frame.startsWith('data: ') ? [frame.slice('data: '.length)] : []))
  const last = data.at(-1) ?? '{}'
  if (last === '[DONE]') return wholeFor(JSON.parse(data.at(-2) ?? '{}').usage)
  const { error } = JSON.parse(last)
  return { seen: error && ended ? { kind: 'broken', code: error.code } : { kind: 'cut' } }
}

interface LastEvent {
  readonly type: string
  readonly response: { readonly usage: { readonly millrace: { readonly charge: string } } }
  readonly error: { readonly code: ProblemCode }
}

/** A stream of Responses always says how it ended, and keeps to its grammar when it does. */
function understandResponses({ status, text, ended }: Received): Understood {
  if (!ended && text === '') return { seen: { kind: 'nothing' } }
  if (status !== 200) return refusedWith(text)
  if (!ended || !text.endsWith('data: [DONE]\n\n')) return { seen: { kind: 'cut' } }
  const violations = checkResponsesStream(text)
  if (violations.length > 0) throw new Error(violations.join('\n'))
  const [before, last] = eventsOf(text).slice(-2) as unknown as [LastEvent, LastEvent]
  if (last.type === 'response.failed') return { seen: { kind: 'broken', code: before.error.code } }
  return wholeFor(last.response.usage)
}

const CHAT_JSON: Client = {
  ...CHAT,
  delivery: 'json',
  bodyOf: (model, words) => ({ model, messages: messagesOf(words) }),
  understand: understandJson,
}
const CHAT_STREAM: Client = {
  ...CHAT,
  delivery: 'stream',
  bodyOf: (model, words) => ({
    ...{ model, messages: messagesOf(words) },
    ...{ stream: true, stream_options: { include_usage: true } },
  }),
  understand: understandChat,
}
const RESPONSES_JSON: Client = {
  ...RESPONSES,
  delivery: 'json',
  bodyOf: (model, words) => ({ model, input: words }),
  understand: understandJson,
}
const RESPONSES_STREAM: Client = {
  ...RESPONSES,
  delivery: 'stream',
  bodyOf: (model, words) => ({ model, input: words, stream: true }),
  understand: understandResponses,
}

const COMPACT_JSON: Client = {
  ...COMPACT,
  delivery: 'json',
  bodyOf: (model, words) => ({ model, input: words }),
  understand: understandJson,
}
const TRIGGER_JSON: Client = {
  ...BY_TRIGGER,
  delivery: 'json',
  bodyOf: (model, words) => ({ model, input: [...messagesOf(words), TRIGGER] }),
  understand: understandJson,
}
const TRIGGER_STREAM: Client = {
  ...BY_TRIGGER,
  delivery: 'stream',
  bodyOf: (model, words) => ({ model, input: [...messagesOf(words), TRIGGER], stream: true }),
  understand: understandResponses,
}

/** A new endpoint adds its columns here, and a file for each of them. */
export const COLUMNS: readonly Column[] = [
  { ...CHAT_JSON, name: 'chat JSON', wire: 'chat', variant: 'json' },
  { ...CHAT_STREAM, name: 'chat stream', wire: 'chat', variant: 'stream' },
  { ...CHAT_JSON, name: 'chat JSON over a responses lane', wire: 'responses', variant: 'collected' },
  { ...CHAT_STREAM, name: 'chat stream over a responses lane', wire: 'responses', variant: 'stream' },
  { ...RESPONSES_JSON, name: 'responses JSON', wire: 'responses', variant: 'json' },
  { ...RESPONSES_STREAM, name: 'responses stream', wire: 'responses', variant: 'stream' },
  { ...RESPONSES_JSON, name: 'responses JSON over a chat lane', wire: 'chat', variant: 'collected' },
  { ...RESPONSES_STREAM, name: 'responses stream over a chat lane', wire: 'chat', variant: 'stream' },
  { ...CHAT_STREAM, name: 'chat stream over an anthropic lane', wire: 'anthropic', variant: 'stream' },
  { ...RESPONSES_JSON, name: 'responses JSON over an anthropic lane', wire: 'anthropic', variant: 'collected' },
  { ...CHAT_JSON, name: 'chat JSON over a gemini lane', wire: 'gemini', variant: 'collected' },
  { ...RESPONSES_STREAM, name: 'responses stream over a gemini lane', wire: 'gemini', variant: 'stream' },
  { ...COMPACT_JSON, name: 'compact', wire: 'responses', variant: 'compacted' },
  { ...COMPACT_JSON, name: 'compact over a chat lane', wire: 'chat', variant: 'compacted' },
  { ...TRIGGER_JSON, name: 'compact by trigger JSON', wire: 'responses', variant: 'compacted' },
  { ...TRIGGER_JSON, name: 'compact by trigger JSON over a chat lane', wire: 'chat', variant: 'compacted' },
  { ...TRIGGER_STREAM, name: 'compact by trigger stream', wire: 'responses', variant: 'compacted' },
  { ...TRIGGER_STREAM, name: 'compact by trigger stream over a chat lane', wire: 'chat', variant: 'compacted' },
]

export function columnNamed(name: string): Column {
  const column = COLUMNS.find((each) => each.name === name)
  if (!column) throw new Error(`there is no column ${name}`)
  return column
}
