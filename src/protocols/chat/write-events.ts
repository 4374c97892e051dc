import { assertNever, type Fields } from '../../lib/types.ts'
import type { CallItem } from '../../model/conversation.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { CallStart, TokenLogprob, TurnEvent } from '../../model/event.ts'
import type { Reply, ReplyItem, ReplyMessage } from '../../model/reply.ts'
import type { ChatRequest, RequestBody } from '../../model/turn.ts'
import { spliceMembers } from '../json/bytes.ts'
import { BREAK, joinTexts } from '../shared/texts.ts'
import { DONE_FRAME, dataFrame } from '../sse/frames.ts'
import { FINISH_REASONS } from './chunk.ts'
import { writeUsage } from './usage.ts'

/** Writes an answer as the chunks of a chat stream. */
interface ChatEventWriter {
  /** What these events give the client, as whole frames; undefined for nothing. */
  write(events: readonly TurnEvent[]): Buffer | undefined
}

/** What is the same in every chunk of one answer. */
export interface ChunkStamp {
  readonly id: string
  readonly created: number
  readonly model: string
}

export function createEventWriter(stamp: ChunkStamp): ChatEventWriter {
  const writing: Writing = {
    head: { id: stamp.id, object: 'chat.completion.chunk', created: stamp.created, model: stamp.model },
    frames: '',
    begun: false,
    open: undefined,
    item: 0,
    saidIn: new Map(),
    calls: new Map(),
  }
  return {
    write(events) {
      for (const event of events) writeEvent(writing, event)
      if (writing.frames === '') return undefined
      const bytes = Buffer.from(writing.frames)
      writing.frames = ''
      return bytes
    },
  }
}

/** What is being said: words of another kind, or of another item of the same, begin anew. */
type Open = 'message' | 'reasoning' | 'summary' | undefined
type Slot = 'content' | 'refusal' | 'reasoning_content'

interface Writing {
  readonly head: Fields
  frames: string
  begun: boolean
  open: Open
  /** Counts what chat puts into one: messages, reasonings, parts of a summary. */
  item: number
  /** Where the last words in a slot came from: those of another item are kept apart from them. */
  readonly saidIn: Map<Slot, number>
  /** The index of each call among calls, and how its text is called. */
  readonly calls: Map<number, { readonly index: number; readonly custom: boolean }>
}

function writeEvent(writing: Writing, event: TurnEvent): void {
  switch (event.type) {
    case 'message-start':
    case 'reasoning-start':
    case 'summary-start':
      writing.open = undefined
      return
    case 'text-delta':
      say(writing, { open: 'message', slot: 'content', text: event.text, logprobs: event.logprobs })
      return
    case 'refusal-delta':
      say(writing, { open: 'message', slot: 'refusal', text: event.text })
      return
    case 'reasoning-delta':
      say(writing, { open: 'reasoning', slot: 'reasoning_content', text: event.text })
      return
    case 'summary-delta':
      say(writing, { open: 'summary', slot: 'reasoning_content', text: event.text })
      return
    case 'tool-call-start':
      beginCall(writing, event)
      return
    case 'tool-call-delta':
      goOnWithCall(writing, event.call, event.text)
      return
    case 'turn-end':
      begin(writing, '')
      put(writing, {}, null, FINISH_REASONS[event.reason])
      return
    case 'reasoning-seal':
    case 'tool-call-end':
    case 'usage':
      return
    default:
      assertNever(event)
  }
}

interface Words {
  readonly open: Exclude<Open, undefined>
  readonly slot: Slot
  readonly text: string
  readonly logprobs?: readonly TokenLogprob[] | undefined
}

function say(writing: Writing, { open, slot, text, logprobs = [] }: Words): void {
  if (text === '' && logprobs.length === 0) return
  begin(writing, '')
  if (writing.open !== open) writing.item++
  writing.open = open
  const isApart = (writing.saidIn.get(slot) ?? writing.item) !== writing.item
  writing.saidIn.set(slot, writing.item)
  put(writing, { [slot]: isApart ? BREAK + text : text }, writeLogprobs(logprobs))
}

function beginCall(writing: Writing, event: CallStart): void {
  begin(writing, null)
  writing.open = undefined
  const index = writing.calls.size
  const custom = event.tool === 'custom'
  writing.calls.set(event.call, { index, custom })
  const said = custom ? { name: event.name, input: '' } : { name: event.name, arguments: '' }
  put(writing, { tool_calls: [{ index, id: event.callId, type: event.tool, [event.tool]: said }] })
}

function goOnWithCall(writing: Writing, number: number, text: string): void {
  const call = writing.calls.get(number)
  if (!call || text === '') return
  const { index, custom } = call
  put(writing, {
    tool_calls: [{ index, ...(custom ? { custom: { input: text } } : { function: { arguments: text } }) }],
  })
}

/** The role is said once, before anything else; what there will be of content shows in what stands for it here. */
function begin(writing: Writing, content: '' | null): void {
  if (writing.begun) return
  writing.begun = true
  put(writing, { role: 'assistant', content, refusal: null })
}

function put(writing: Writing, delta: Fields, logprobs: Fields | null = null, finish: string | null = null): void {
  const choice = { index: 0, delta, logprobs, finish_reason: finish }
  writing.frames += `data: ${JSON.stringify({ ...writing.head, choices: [choice], usage: null })}\n\n`
}

/** A whole answer as the JSON that chat knows: the same words as in a stream, in one message. */
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
  const content = joinTexts(messages.map((message) => wordsIn(message, 'text')))
  const reasoning = joinTexts(items.flatMap((item) => (item.type === 'reasoning' ? [item.text, ...item.summary] : [])))
  const refusal = joinTexts(messages.map((message) => wordsIn(message, 'refusal')))
  return {
    role: 'assistant',
    content: content === '' && (calls.length > 0 || refusal !== '') ? null : content,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

const wordsIn = ({ content }: ReplyMessage, type: 'text' | 'refusal'): string =>
  content.flatMap((part) => (part.type === type ? [part.text] : [])).join('')

function writeCall({ tool, callId, name, text }: CallItem): Fields {
  const said = tool === 'custom' ? { name, input: text } : { name, arguments: text }
  return { id: callId, type: tool, [tool]: said }
}

const logprobsOf = (item: ReplyItem): readonly TokenLogprob[] =>
  item.type === 'message' ? item.content.flatMap((part) => (part.type === 'text' ? part.logprobs : [])) : []

/** Null, as chat says it, where there are none. */
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

/** What every chunk of a stream says of it. */
export interface StreamHead {
  readonly id: unknown
  readonly created: unknown
  readonly systemFingerprint: unknown
}

/** What the end has to know of the request: its model by the name that the client has for it. */
type ClosedRequest = Pick<ChatRequest, 'model' | 'wantsUsage'>

/** The end of a stream: the usage chunk for whoever asked for it, and `[DONE]`. */
export function closingOfStream(request: ClosedRequest, head: StreamHead | undefined, settled: SettledCharge): Buffer {
  if (!request.wantsUsage) return DONE_FRAME
  const chunk = {
    id: head?.id,
    object: 'chat.completion.chunk',
    created: head?.created,
    model: request.model,
    ...(head?.systemFingerprint === undefined ? {} : { system_fingerprint: head.systemFingerprint }),
    choices: [],
    usage: writeUsage(settled),
  }
  return Buffer.concat([dataFrame(chunk), DONE_FRAME])
}

/** A provider's JSON answer with the client's name for the model, and what it cost; the rest is its own bytes. */
export function closingOfReply(
  body: RequestBody,
  rewritten: ReadonlyMap<string, Buffer>,
  request: Pick<ClosedRequest, 'model'>,
  settled: SettledCharge,
): Buffer {
  const changes = new Map([
    ...rewritten,
    ['model', Buffer.from(JSON.stringify(request.model))],
    ['usage', Buffer.from(JSON.stringify(writeUsage(settled)))],
  ])
  return spliceMembers(body, changes)
}
