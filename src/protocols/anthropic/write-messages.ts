import { assertNever, type Fields, isObject } from '../../lib/types.ts'
import {
  type CacheMark,
  type CallItem,
  type ContentPart,
  type Conversation,
  type ConversationItem,
  type FilePart,
  isText,
  type MessageItem,
  partsText,
  type ResultItem,
} from '../../model/conversation.ts'
import { type InlineData, inlineData } from '../fields/content-parts.ts'
import { tryParse } from '../json/bytes.ts'
import { opaqueForLane } from '../seals/call-seals.ts'
import type { LaneTarget } from '../shared/lane-target.ts'
import { ABORTED, clientName, type NamedApart, USER_BEGINS, USER_GOES_ON } from '../shared/texts.ts'
import {
  type CallIds,
  createArgumentsReader,
  mapCallIds,
  type PairedResults,
  pairResults,
  type ToolNames,
} from '../tools/tool-names.ts'
import type { AnthropicDialect } from './dialects.ts'

/** A content block of a message. */
export type Block = Fields & { readonly type: string }

export interface Message {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: readonly Block[]
}

/** Characters that ids of calls may not have. */
const FOREIGN = /[^a-zA-Z0-9_-]/g

type MessagesLane = Pick<LaneTarget<AnthropicDialect>, 'dialect' | 'origin' | 'client'>

/** The text and calls of an assistant until another role follows. */
interface AssistantTurn {
  readonly blocks: Block[]
  /** A call that was sent twice is one. */
  readonly calls: Map<string, { readonly item: CallItem; readonly id: string; readonly at: number }>
}

/**
 * The conversation as messages, of which `settleMessages` makes what a server takes: the text and calls of an assistant are one
 * message, and the results of its calls are in the user message behind it, before everything else, in the order of the calls and
 * one for each.
 */
export function writeMessages(conversation: Conversation, names: ToolNames, lane: MessagesLane) {
  const { system, messages, leftOut } = new MessageWriter(conversation, names, lane)
  if (lane.dialect.traits.systemPrompt || system.length === 0) return { system, messages, leftOut }
  return { system: [], messages: [{ role: 'user', content: system } as const, ...messages], leftOut }
}

/** One by one: a client may send more parts than a function takes arguments. */
function addAll(blocks: Block[], more: readonly Block[]): void {
  for (const block of more) blocks.push(block)
}

class MessageWriter {
  readonly system: Block[]
  readonly messages: Message[] = []
  readonly leftOut = new Set<string>()
  readonly #names: ToolNames
  readonly #lane: MessagesLane
  readonly #results: PairedResults
  readonly #ids: CallIds = mapCallIds(FOREIGN)
  readonly #readArguments = createArgumentsReader()
  /** There was an item that is not a system message. */
  #hasBegun = false
  #assistant: AssistantTurn | undefined

  constructor({ instructions = '', items }: Conversation, names: ToolNames, lane: MessagesLane) {
    this.system = textBlocks(instructions)
    this.#names = names
    this.#lane = lane
    this.#results = pairResults(items)
    for (const item of items) this.#writeItem(item)
    this.#endAssistant()
  }

  #writeItem(item: ConversationItem): void {
    this.#hasBegun ||= item.type !== 'message' || item.role === 'user' || item.role === 'assistant'
    switch (item.type) {
      case 'message':
        this.#writeMessage(item)
        break
      case 'reasoning': {
        // Thinking goes back as it came, whole and in its place, to the model that produced it; no other model can read it.
        const block = tryParse(opaqueForLane(item.opaque, this.#lane) ?? '')
        const { blocks } = this.#openAssistant()
        if (isObject(block) && isThinking(block)) blocks.push(block)
        break
      }
      case 'tool-call':
        this.#addCall(item)
        break
      case 'tool-result':
        // It is written with its call; here it only ends the assistant's turn.
        if (this.#assistant && this.#assistant.calls.size > 0) this.#endAssistant()
        if (this.#results.orphans.has(item)) this.#writeOrphan(item)
        break
      default:
        assertNever(item)
    }
  }

  #openAssistant(): AssistantTurn {
    this.#assistant ??= { blocks: [], calls: new Map() }
    return this.#assistant
  }

  #writeMessage({ role, content, name }: MessageItem): void {
    if (name !== undefined) this.#leaveOut('messageName')
    if (role === 'assistant') {
      addAll(this.#openAssistant().blocks, this.#writeTexts(content))
      return
    }
    this.#endAssistant()
    if (role === 'user') {
      this.messages.push({ role, content: this.#writeParts(content) })
      return
    }
    const texts = this.#writeTexts(content)
    if (!this.#hasBegun) addAll(this.system, texts)
    else if (this.#lane.dialect.midSystem) this.messages.push({ role: 'system', content: texts })
    else {
      const marked = texts.map((block) => ({ ...block, text: `[system] ${block.text}` }))
      this.messages.push({ role: 'user', content: marked })
    }
  }

  #addCall(item: CallItem): void {
    const { blocks, calls } = this.#openAssistant()
    const known = calls.get(item.callId)
    const call = { item, id: known?.id ?? this.#ids.take(item.callId), at: known?.at ?? blocks.length }
    calls.set(item.callId, call)
    const name = this.#names.upstreamName(item)
    blocks[call.at] = { type: 'tool_use', id: call.id, name, input: this.#readArguments(item) }
  }

  /** Writes the text and calls of the assistant, and behind them the results of its calls. */
  #endAssistant(): void {
    if (!this.#assistant) return
    const { blocks, calls } = this.#assistant
    this.#assistant = undefined
    this.messages.push({ role: 'assistant', content: blocks })
    if (calls.size === 0) return
    const content = [...calls.values()].map(({ item, id }) => this.#writeResult(id, this.#results.byCall.get(item)))
    this.messages.push({ role: 'user', content })
  }

  #writeResult(id: string, result: ResultItem | undefined): Block {
    if (result === undefined) return { type: 'tool_result', tool_use_id: id, content: ABORTED, is_error: true }
    const parts = result.content
    const mark = parts.findLast(({ cacheMark }) => cacheMark !== undefined)?.cacheMark
    // The mark goes on the whole result, not on its parts.
    const unmarked = parts.map(({ cacheMark: _mark, ...part }): ContentPart => part)
    const content = parts.every(isText) ? partsText(parts, '\n') : this.#writeParts(unmarked)
    return { type: 'tool_result', tool_use_id: id, content, ...cacheControl(mark) }
  }

  /** A result without its call is refused, so its content becomes a user message. */
  #writeOrphan(result: ResultItem): void {
    this.#endAssistant()
    this.#leaveOut('strayResult')
    const head = `[The result of a tool call that is not in this conversation, ${result.callId}]`
    const content = [{ type: 'text', text: head }, ...this.#writeParts(result.content)]
    this.messages.push({ role: 'user', content })
  }

  #leaveOut(what: NamedApart): void {
    this.leftOut.add(clientName(what, this.#lane.client))
  }

  /** The parts of a user message or a tool result. A part that cannot be sent leaves a text in its place. */
  #writeParts(parts: readonly ContentPart[]): Block[] {
    return parts.flatMap((part) => withMark(this.#writePart(part), part.cacheMark))
  }

  /** Where only text may stand. */
  #writeTexts(parts: readonly ContentPart[]): Block[] {
    return parts.flatMap((part) => {
      if (isText(part)) return withMark(textBlocks(part.text), part.cacheMark)
      this.#leaveOut(part.type)
      return []
    })
  }

  #writePart(part: ContentPart): Block[] {
    switch (part.type) {
      case 'text':
      case 'refusal':
        return textBlocks(part.text)
      case 'image': {
        const inside = inlineData(part.url)
        const isShown = inside !== undefined && IMAGES.has(inside.mediaType)
        const source = inside === undefined ? webAddress(part.url) : isShown ? base64Source(inside) : undefined
        return [source ? { type: 'image', source } : this.#missing('image')]
      }
      case 'file':
        return [this.#writeFile(part)]
      case 'audio':
        return [this.#missing('audio')]
      default:
        return assertNever(part)
    }
  }

  #writeFile({ data, url, id, name }: FilePart): Block {
    const inside = data === undefined ? undefined : inlineData(data)
    if (inside !== undefined && IMAGES.has(inside.mediaType)) return { type: 'image', source: base64Source(inside) }
    const source = inside ? documentSource(inside) : webAddress(url)
    if (source !== undefined) return { type: 'document', source, ...(name ? { title: name } : {}) }
    return this.#missing(id !== undefined && data === undefined && url === undefined ? 'fileId' : 'file')
  }

  #missing(what: keyof typeof MISSING): Block {
    this.#leaveOut(what)
    return { type: 'text', text: `[Here stood ${MISSING[what]} that cannot be shown.]` }
  }
}

const isThinking = (block: Fields): block is Block => block.type === 'thinking' || block.type === 'redacted_thinking'

/** A text of nothing but spaces is refused. */
export const textBlocks = (text: string): Block[] => (text.trim() === '' ? [] : [{ type: 'text', text }])

/** Puts the mark on the last block. */
const withMark = (blocks: Block[], mark: CacheMark | undefined): Block[] =>
  blocks.map((block, at) => (at === blocks.length - 1 ? { ...block, ...cacheControl(mark) } : block))

export const cacheControl = (mark: CacheMark | undefined): Fields =>
  mark === undefined ? {} : { cache_control: { type: 'ephemeral' } }

const MISSING = { image: 'an image', file: 'a file', fileId: 'a file', audio: 'a recording' } as const

const IMAGES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

const webAddress = (url: string | undefined): Fields | undefined =>
  url !== undefined && /^https?:\/\//i.test(url) ? { type: 'url', url } : undefined

const base64Source = ({ mediaType, base64 }: InlineData): Fields => ({
  type: 'base64',
  media_type: mediaType,
  data: base64,
})

function documentSource(inside: InlineData): Fields | undefined {
  if (inside.mediaType === 'application/pdf') return base64Source(inside)
  if (!inside.mediaType.startsWith('text/')) return undefined
  const text = Buffer.from(inside.base64, 'base64').toString('utf8')
  return text.trim() === '' ? undefined : { type: 'text', media_type: 'text/plain', data: text }
}

interface SettleOptions {
  /** False for a model whose thinking is off. */
  readonly keepsThinking: boolean
  /** A last assistant message may be the beginning of the answer. */
  readonly prefill: boolean
}

/** The messages as a server takes them: the user first, alternating roles, no empty ones, and the user last. */
export function settleMessages(drafts: readonly Message[], { keepsThinking, prefill }: SettleOptions): Message[] {
  // A conversation that the assistant starts gets the same first user message, whether the assistant's has content or not.
  const messages = joinRoles(userBegins(drafts) ? drafts : [BEGINS, ...drafts], keepsThinking)
  if (!userBegins(messages)) messages.unshift(BEGINS)
  if (messages.at(-1)?.role !== 'assistant') return messages
  return prefill ? withoutTrailingSpace(messages) : [...messages, { role: 'user', content: GOES_ON }]
}

const userBegins = (messages: readonly Message[]): boolean =>
  messages.find(({ role }) => role !== 'system')?.role === 'user'

const BEGINS: Message = { role: 'user', content: [{ type: 'text', text: USER_BEGINS }] }
const GOES_ON: readonly Block[] = [{ type: 'text', text: USER_GOES_ON }]

/**
 * Each block is taken once, however many messages become one. An empty user message after the assistant's becomes `Go on.`, in
 * this request and in all later ones.
 */
function joinRoles(drafts: readonly Message[], keepsThinking: boolean): Message[] {
  const messages: { readonly role: Message['role']; readonly content: Block[] }[] = []
  for (const { role, content } of drafts) {
    const last = messages.at(-1)
    const isSilence = role === 'user' && content.length === 0 && last?.role === 'assistant'
    const blocks = role === 'assistant' ? orderedBlocks(content, keepsThinking) : isSilence ? GOES_ON : content
    if (blocks.length === 0) continue
    if (last?.role !== role) messages.push({ role, content: [...blocks] })
    else for (const block of blocks) last.content.push(block)
  }
  return messages
}

/**
 * Calls stand last, or in front of the next thinking, and thinking that led to nothing does not stand at the end: else the
 * message is refused.
 */
function orderedBlocks(blocks: readonly Block[], keepsThinking: boolean): Block[] {
  const kept = keepsThinking ? blocks : blocks.filter((block) => !isThinking(block))
  const whole = kept.slice(0, kept.findLastIndex((block) => !isThinking(block)) + 1)
  const ordered: Block[] = []
  let calls: Block[] = []
  for (const block of whole) {
    if (block.type === 'tool_use') {
      calls.push(block)
      continue
    }
    if (isThinking(block)) {
      for (const call of calls) ordered.push(call)
      calls = []
    }
    ordered.push(block)
  }
  return [...ordered, ...calls]
}

function withoutTrailingSpace(messages: readonly Message[]): Message[] {
  const last = messages.at(-1)
  const block: Fields | undefined = last?.content.at(-1)
  if (last === undefined || typeof block?.text !== 'string') return [...messages]
  const trimmed = { ...last.content.at(-1)!, text: block.text.trimEnd() }
  return [...messages.slice(0, -1), { role: last.role, content: [...last.content.slice(0, -1), trimmed] }]
}

/**
 * Whether the tool loop that the model continues began without thinking: with another provider, or with thinking off. All calls
 * since the last user message are one turn, which has to begin with thinking and need not think again
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking, toggling thinking modes).
 */
export function isLoopWithoutThinking(messages: readonly Message[]): boolean {
  if (messages.at(-1)?.content.some(isResult) !== true) return false
  const before = messages.slice(0, -1)
  const lastUser = before.findLastIndex(({ role, content }) => role === 'user' && !content.every(isResult))
  const [first] = before.slice(lastUser + 1).find(({ role }) => role === 'assistant')?.content ?? []
  return first === undefined || !isThinking(first)
}

const isResult = ({ type }: Block): boolean => type === 'tool_result'
