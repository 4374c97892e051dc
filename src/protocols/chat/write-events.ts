import { assertNever, type Fields } from '../../lib/types.ts'
import type { CallItem, Reply, ReplyItem, ReplyMessage } from '../../model/conversation.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { CallStart, TokenLogprob, TurnEvent } from '../../model/event.ts'
import type { ChatRequest, RequestBody } from '../../model/turn.ts'
import { spliceMembers } from '../json/bytes.ts'
import { BREAK, joinTexts } from '../shared/texts.ts'
import { DONE_FRAME, dataFrame } from '../sse/frames.ts'
import { FINISH_REASONS } from './chunk.ts'
import { writeUsage } from './usage.ts'

/** What is the same in every chunk of one answer. */
export interface ChunkStamp {
  readonly id: string
  readonly created: number
  readonly model: string
}

type Slot = 'content' | 'refusal' | 'reasoning_content'

interface TextDelta {
  readonly item: 'message' | 'reasoning' | 'summary'
  readonly slot: Slot
  readonly text: string
  readonly logprobs?: readonly TokenLogprob[] | undefined
}

/** Writes an answer as the chunks of a chat stream. */
export class ChunkWriter {
  /** Every frame up to its delta: nearly all of a chunk is the same in each. */
  readonly #head: string
  #frames = ''
  #hasBegun = false
  /** The item that is open: text of another kind, or of another item of the same kind, starts a new one. */
  #openItem: TextDelta['item'] | undefined
  /** Counts what chat joins into one: messages, reasonings, parts of a summary. */
  #item = 0
  /** The item of the last text in a slot: text of another item is separated from it. */
  readonly #itemInSlot = new Map<Slot, number>()
  /** The index of each call, and its kind. */
  readonly #calls = new Map<number, { readonly index: number; readonly isCustom: boolean }>()

  constructor({ id, created, model }: ChunkStamp) {
    const head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model })
    this.#head = `data: ${head.slice(0, -1)},"choices":[{"index":0,"delta":`
  }

  /** The whole frames for these events; undefined for none. */
  write(events: readonly TurnEvent[]): string | undefined {
    for (const event of events) this.#writeEvent(event)
    if (this.#frames === '') return undefined
    const frames = this.#frames
    this.#frames = ''
    return frames
  }

  #writeEvent(event: TurnEvent): void {
    switch (event.type) {
      case 'message-start':
      case 'reasoning-start':
      case 'summary-start':
        this.#openItem = undefined
        break
      case 'text-delta':
        this.#writeText({ item: 'message', slot: 'content', text: event.text, logprobs: event.logprobs })
        break
      case 'refusal-delta':
        this.#writeText({ item: 'message', slot: 'refusal', text: event.text })
        break
      case 'reasoning-delta':
        this.#writeText({ item: 'reasoning', slot: 'reasoning_content', text: event.text })
        break
      case 'summary-delta':
        this.#writeText({ item: 'summary', slot: 'reasoning_content', text: event.text })
        break
      case 'tool-call-start':
        this.#startCall(event)
        break
      case 'tool-call-delta': {
        const call = this.#calls.get(event.call)
        if (!call || event.text === '') break
        const part = call.isCustom ? { custom: { input: event.text } } : { function: { arguments: event.text } }
        this.#put(JSON.stringify({ tool_calls: [{ index: call.index, ...part }] }))
        break
      }
      case 'turn-end':
        this.#begin('')
        this.#put('{}', null, FINISH_REASONS[event.reason])
        break
      case 'reasoning-seal':
      case 'tool-call-end':
      case 'usage':
        break
      default:
        assertNever(event)
    }
  }

  #writeText({ item, slot, text, logprobs = [] }: TextDelta): void {
    if (text === '' && logprobs.length === 0) return
    this.#begin('')
    if (this.#openItem !== item) this.#item++
    this.#openItem = item
    const isApart = (this.#itemInSlot.get(slot) ?? this.#item) !== this.#item
    this.#itemInSlot.set(slot, this.#item)
    this.#put(`{"${slot}":${JSON.stringify(isApart ? BREAK + text : text)}}`, writeLogprobs(logprobs))
  }

  #startCall({ call, callId, name, tool }: CallStart): void {
    this.#begin(null)
    this.#openItem = undefined
    const index = this.#calls.size
    const isCustom = tool === 'custom'
    this.#calls.set(call, { index, isCustom })
    const definition = isCustom ? { name, input: '' } : { name, arguments: '' }
    this.#put(JSON.stringify({ tool_calls: [{ index, id: callId, type: tool, [tool]: definition }] }))
  }

  /** The first chunk has the role; its content shows whether there will be any. */
  #begin(content: '' | null): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#put(JSON.stringify({ role: 'assistant', content, refusal: null }))
  }

  /** `delta` is JSON. */
  #put(delta: string, logprobs: Fields | null = null, finish: string | null = null): void {
    const tail = logprobs === null && finish === null ? PLAIN_TAIL : tailOf(logprobs, finish)
    this.#frames += this.#head + delta + tail
  }
}

const tailOf = (logprobs: Fields | null, finish: string | null): string =>
  `,"logprobs":${JSON.stringify(logprobs)},"finish_reason":${JSON.stringify(finish)}}],"usage":null}\n\n`

const PLAIN_TAIL = tailOf(null, null)

/** A whole answer as a chat completion: the same text as in a stream, in one message. */
export function writeReply(reply: Reply, stamp: ChunkStamp, settled: SettledCharge): Buffer {
  const choice = {
    index: 0,
    message: writeMessage(reply.items),
    logprobs: writeLogprobs(reply.items.flatMap(logprobsOf)),
    finish_reason: FINISH_REASONS[reply.finish ?? 'stop'],
  }
  const { id, created, model } = stamp
  const body = { id, object: 'chat.completion', created, model, choices: [choice], usage: writeUsage(settled) }
  return Buffer.from(JSON.stringify(body))
}

/** Calls and reasoning are there only if there are any: several clients take an empty list for calls to come. */
function writeMessage(items: readonly ReplyItem[]): Fields {
  const messages = items.filter((item) => item.type === 'message')
  const calls = items.flatMap((item) => (item.type === 'tool-call' ? [writeCall(item)] : []))
  const content = joinTexts(messages.map((message) => textIn(message, 'text')))
  const reasoning = joinTexts(items.flatMap((item) => (item.type === 'reasoning' ? [item.text, ...item.summary] : [])))
  const refusal = joinTexts(messages.map((message) => textIn(message, 'refusal')))
  return {
    role: 'assistant',
    content: content === '' && (calls.length > 0 || refusal !== '') ? null : content,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

const textIn = ({ content }: ReplyMessage, type: 'text' | 'refusal'): string =>
  content.flatMap((part) => (part.type === type ? [part.text] : [])).join('')

function writeCall({ tool, callId, name, text }: CallItem): Fields {
  return { id: callId, type: tool, [tool]: tool === 'custom' ? { name, input: text } : { name, arguments: text } }
}

const logprobsOf = (item: ReplyItem): readonly TokenLogprob[] =>
  item.type === 'message' ? item.content.flatMap((part) => (part.type === 'text' ? part.logprobs : [])) : []

/** Null where there are none, as in OpenAI's answers. */
const writeLogprobs = (tokens: readonly TokenLogprob[]): Fields | null =>
  tokens.length === 0
    ? null
    : {
        content: tokens.map((entry) => ({ ...writeToken(entry), top_logprobs: entry.top.map(writeToken) })),
        refusal: null,
      }

const writeToken = ({ token, logprob, bytes }: Omit<TokenLogprob, 'top'>): Fields => ({
  token,
  logprob,
  bytes: bytes ?? null,
})

/** What the usage chunk repeats of the stream. */
export interface StreamHead {
  readonly id: unknown
  readonly created: unknown
  readonly systemFingerprint: unknown
}

/** The end of a stream whose client requested the usage: the usage chunk, and `[DONE]`. */
export function closingWithUsage(model: string, head: StreamHead | undefined, settled: SettledCharge): Buffer {
  const chunk = {
    id: head?.id,
    object: 'chat.completion.chunk',
    created: head?.created,
    model,
    ...(head?.systemFingerprint === undefined ? {} : { system_fingerprint: head.systemFingerprint }),
    choices: [],
    usage: writeUsage(settled),
  }
  return Buffer.concat([dataFrame(chunk), DONE_FRAME])
}

/** A provider's JSON answer with the public model name and the charge; the rest is its own bytes. */
export function closingOfReply(
  body: RequestBody,
  rewritten: ReadonlyMap<string, string>,
  request: Pick<ChatRequest, 'model'>,
  settled: SettledCharge,
): Buffer {
  const changes = new Map(rewritten)
  changes.set('model', JSON.stringify(request.model))
  changes.set('usage', JSON.stringify(writeUsage(settled)))
  return spliceMembers(body, changes)
}
