import { createHash } from 'node:crypto'
import { assertNever, type Fields, isObject } from '../../lib/types.ts'
import {
  type CallItem,
  type ContentPart,
  type Conversation,
  type ConversationItem,
  isText,
  type MessageItem,
  partsText,
  textAndRefusals,
} from '../../model/conversation.ts'
import { opaqueForLane } from '../seals/call-seals.ts'
import type { LaneTarget } from '../shared/lane-target.ts'
import {
  ABORTED,
  BREAK,
  clientName,
  FROM_RESULT,
  joinTexts,
  type NamedApart,
  RESULT_ELSEWHERE,
} from '../shared/texts.ts'
import { type PairedResults, pairResults, type ToolNames } from '../tools/tool-names.ts'
import type { ChatDialect } from './dialects.ts'
import { readSignedParts, type SignedParts } from './signed-parts.ts'

interface AssistantTurn {
  readonly texts: string[]
  readonly refusals: string[]
  readonly reasoning: string[]
  /** A call that was sent twice is one. */
  readonly calls: Map<string, CallItem>
  /** What was signed of the message. */
  readonly details: Fields[]
  name: string | undefined
}

/**
 * The conversation as chat messages. Chat has one message for the text and the calls of an assistant, and wants the results of
 * its calls right behind it, in their order, one for each: what stands between them moves behind, what is missing is made up.
 */
export function writeMessages(conversation: Conversation, names: ToolNames, lane: MessagesLane) {
  const writer = new MessageWriter(conversation, names, lane)
  return { messages: writer.messages, leftOut: [...writer.leftOut] }
}

type MessagesLane = Pick<LaneTarget<ChatDialect>, 'dialect' | 'origin' | 'client'>

class MessageWriter {
  readonly messages: Fields[] = []
  readonly leftOut = new Set<string>()
  readonly #names: ToolNames
  readonly #lane: MessagesLane
  readonly #dialect: ChatDialect
  readonly #results: PairedResults
  /** Reasoning that waits for the text or call that it led to. */
  #reasoning: string[] = []
  /** What was signed of calls, by their ids, and of the message that comes next. */
  readonly #extras = new Map<string, Fields>()
  readonly #details: Fields[] = []
  /** The text and calls of an assistant until another role follows. */
  #assistant: AssistantTurn | undefined

  constructor({ instructions, items }: Conversation, names: ToolNames, lane: MessagesLane) {
    this.#names = names
    this.#lane = lane
    this.#dialect = lane.dialect
    this.#results = pairResults(items)
    if (instructions !== undefined && instructions !== '') {
      this.messages.push({ role: lane.dialect.developerRole ? 'developer' : 'system', content: instructions })
    }
    for (const item of items) this.#writeItem(item)
    if (this.#assistant) this.#endAssistant(this.#assistant)
    const last = this.messages.at(-1)
    if (lane.dialect.prefill === 'prefix' && last !== undefined && isPrefill(last)) last.prefix = true
    if (this.#results.orphans.size > 0) this.#leaveOut('strayResult')
  }

  #writeItem(item: ConversationItem): void {
    switch (item.type) {
      case 'message':
        if (item.role === 'assistant') this.#addText(item)
        else this.#writeMessage(item)
        break
      case 'reasoning': {
        const { text, summary, opaque } = item
        const signed = opaque && readSignedParts(opaque)
        if (signed !== undefined && opaque?.origin === this.#lane.origin) this.#addSigned(signed)
        if (!this.#dialect.requiresReasoning) break
        // Sealed reasoning of a chat lane is the reasoning as it was; else the client has its text or summary.
        const sealed = signed === undefined ? opaqueForLane(opaque, this.#lane) : undefined
        this.#reasoning.push(sealed ?? (text === '' ? summary.join(BREAK) : text))
        break
      }
      case 'tool-call':
        this.#openAssistant().calls.set(item.callId, item)
        break
      case 'tool-result':
        // Its message is written with its call's; here it only ends the assistant's turn.
        if (this.#assistant && this.#assistant.calls.size > 0) this.#endAssistant(this.#assistant)
        break
      default:
        assertNever(item)
    }
  }

  #openAssistant(): AssistantTurn {
    this.#assistant ??= { texts: [], refusals: [], reasoning: [], calls: new Map(), details: [], name: undefined }
    for (const text of this.#reasoning) this.#assistant.reasoning.push(text)
    this.#reasoning = []
    for (const detail of this.#details.splice(0)) this.#assistant.details.push(detail)
    return this.#assistant
  }

  /** Details may stand behind the text that they belong to. */
  #addSigned({ call, extra, details = [] }: SignedParts): void {
    if (call !== undefined && extra !== undefined) this.#extras.set(call, extra)
    for (const detail of details) (this.#assistant?.details ?? this.#details).push(detail)
  }

  #addText({ content, name }: MessageItem): void {
    const assistant = this.#openAssistant()
    const [text, refusal] = textAndRefusals(content)
    assistant.texts.push(text)
    // On a server with one field for both, text and refusal stay separate texts.
    if (refusal !== '') (this.#dialect.refusals ? assistant.refusals : assistant.texts).push(refusal)
    assistant.name ??= name
    this.#leaveOutOtherParts(content)
  }

  #writeMessage({ role, content, name }: MessageItem): void {
    if (this.#assistant) this.#endAssistant(this.#assistant)
    this.#reasoning = []
    this.#details.length = 0
    const isNamed = name !== undefined && this.#takesNames()
    const message: Fields = { role }
    if (role === 'user') message.content = this.#writeContent(content)
    else {
      this.#leaveOutOtherParts(content)
      if (role === 'developer' && !this.#dialect.developerRole) message.role = 'system'
      message.content = partsText(content, '\n')
    }
    if (isNamed) message.name = name
    this.messages.push(message)
  }

  #takesNames(): boolean {
    if (!this.#dialect.messageNames) this.#leaveOut('messageName')
    return this.#dialect.messageNames
  }

  /** A user's content: many servers only take a string, and get one where nothing is lost by it. */
  #writeContent(parts: readonly ContentPart[]): string | Fields[] {
    const [first] = parts
    if (parts.length === 1 && first?.type === 'text') return first.text
    const written = this.#writeParts(parts)
    return written.length === 0 ? '' : written
  }

  /** Chat has no shape for a file that is only an address. */
  #writeParts(parts: readonly ContentPart[]): Fields[] {
    const written: Fields[] = []
    for (const part of parts) {
      const fields = writePart(part)
      if (fields === undefined) this.#leaveOut('fileUrl')
      else written.push(fields)
    }
    return written
  }

  /** Only user messages may have parts that are not text. */
  #leaveOutOtherParts(content: readonly ContentPart[]): void {
    for (const part of content) if (!isText(part)) this.#leaveOut(part.type)
  }

  #leaveOut(what: NamedApart): void {
    this.leftOut.add(clientName(what, this.#lane.client))
  }

  /** Writes the text and calls of the assistant, and behind them the results of its calls. */
  #endAssistant({ calls, texts, refusals, name, reasoning: thoughts, details }: AssistantTurn): void {
    this.#assistant = undefined
    const text = joinTexts(texts)
    const reasoning = joinTexts(thoughts)
    const isEmpty = text === '' && (calls.size > 0 || refusals.length > 0)
    const message: Fields = { role: 'assistant', content: isEmpty ? null : text }
    if (refusals.length > 0) message.refusal = refusals.join(BREAK)
    if (name !== undefined && this.#takesNames()) message.name = name
    if (reasoning !== '') message.reasoning_content = reasoning
    if (calls.size > 0) message.tool_calls = [...calls.values()].map((call) => this.#writeCall(call))
    if (details.length > 0) message.reasoning_details = details
    this.messages.push(message)
    const others = [...calls.values()].flatMap((call) => this.#writeResult(call))
    if (others.length > 0) this.messages.push({ role: 'user', content: others })
  }

  #writeCall(call: CallItem): Fields {
    const { tool, text } = call
    const name = this.#names.upstreamName(call)
    const id = callIdFor(call.callId, this.#dialect)
    const extra = this.#extras.get(call.callId)
    const signed = extra === undefined ? {} : { extra_content: extra }
    if (tool === 'function') return { id, type: 'function', function: { name, arguments: text }, ...signed }
    if (this.#dialect.customTools) return { id, type: 'custom', custom: { name, input: text }, ...signed }
    return { id, type: 'function', function: { name, arguments: JSON.stringify({ input: text }) }, ...signed }
  }

  /** Writes a tool message, which is text. Gives the other parts of the result, for a user message behind all results. */
  #writeResult(call: CallItem): Fields[] {
    const content = this.#results.byCall.get(call)?.content
    const shown = this.#writeParts((content ?? []).filter((part) => !isText(part)))
    const text = content === undefined ? ABORTED : partsText(content, '\n')
    this.messages.push({
      role: 'tool',
      tool_call_id: callIdFor(call.callId, this.#dialect),
      content: text === '' && shown.length > 0 ? RESULT_ELSEWHERE : text,
    })
    if (shown.length === 0) return []
    return [{ type: 'text', text: `${FROM_RESULT} ${this.#names.upstreamName(call)}:` }, ...shown]
  }
}

/** Undefined for a part that chat has no shape for: a file that is only an address. */
function writePart(part: ContentPart): Fields | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.text }
    case 'image':
      // Chat knows no `original`.
      return {
        type: 'image_url',
        image_url: { url: part.url, detail: part.detail === 'original' ? 'high' : part.detail },
      }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    case 'file':
      if (part.data === undefined && part.id === undefined) return undefined
      return { type: 'file', file: { file_data: part.data, file_id: part.id, filename: part.name } }
    default:
      return assertNever(part)
  }
}

/** The beginning of the answer, which the model continues. */
export const isPrefill = ({ role, tool_calls }: Fields): boolean => role === 'assistant' && tool_calls === undefined

const NINE_LETTERS = /^[A-Za-z0-9]{9}$/

/** The id of a tool call as a server takes it: the same one for a call and its result, and in every later request. */
export function callIdFor(callId: string, dialect: ChatDialect): string {
  if (dialect.callIds === 'any' || NINE_LETTERS.test(callId)) return callId
  const hash = createHash('sha256').update(callId).digest('base64')
  return hash
    .replace(/[^A-Za-z0-9]/g, '')
    .slice(0, 9)
    .padEnd(9, '0')
}

/** The arguments of a call as text: some clients and some servers send parsed arguments. */
export function argumentsText(args: unknown): string {
  if (typeof args === 'string') return args
  return isObject(args) || Array.isArray(args) ? JSON.stringify(args) : ''
}
