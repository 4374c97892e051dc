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
  type ReasoningItem,
  type ResultItem,
} from '../../model/conversation.ts'
import type { Protocol } from '../../model/turn.ts'
import { tryParse } from '../json/bytes.ts'
import { opaqueForLane } from '../seals/call-seals.ts'
import { type InlineData, inlineData } from '../shared/data-url.ts'
import type { LaneTarget } from '../shared/lane-target.ts'
import { ABORTED, clientName, USER_BEGINS, USER_GOES_ON } from '../shared/texts.ts'
import {
  argumentsObject,
  type CallIds,
  mapCallIds,
  type PairedResults,
  pairResults,
  type ToolNames,
} from '../tools/tool-names.ts'
import type { AnthropicDialect } from './dialects.ts'

/** A message as it was said; `protocols/anthropic/write-messages.ts` makes of several what a server takes. */
interface DraftMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: readonly Block[]
}

interface DraftConversation {
  readonly system: readonly Block[]
  readonly messages: readonly DraftMessage[]
  readonly leftOut: ReadonlySet<string>
}

/** What ids of calls may not have in them. */
const FOREIGN = /[^a-zA-Z0-9_-]/g

/**
 * The conversation as messages: what an assistant said and called is one, and the results of its calls are in the message
 * of the user behind it, before everything else, in the order of the calls and one for each.
 */
export function writeMessages(conversation: Conversation, names: ToolNames, lane: MessagesLane): DraftConversation {
  const { client } = lane
  const writing: Writing = {
    ...{ names, lane, client, results: pairResults(conversation.items), ids: mapCallIds(FOREIGN) },
    ...{ system: textBlocks(conversation.instructions ?? ''), messages: [], leftOut: new Set() },
    ...{ hasBegun: false, assistant: undefined },
  }
  for (const item of conversation.items) writeItem(writing, item)
  endAssistant(writing)
  const { system, messages, leftOut } = writing
  if (lane.dialect.traits.systemPrompt || system.length === 0) return { system, messages, leftOut }
  return { system: [], messages: [{ role: 'user', content: system }, ...messages], leftOut }
}

type MessagesLane = Pick<LaneTarget<AnthropicDialect>, 'dialect' | 'origin' | 'client'>

interface Writing {
  readonly names: ToolNames
  readonly lane: MessagesLane
  readonly client: MessagesLane['client']
  readonly results: PairedResults
  readonly ids: CallIds
  readonly system: Block[]
  readonly messages: DraftMessage[]
  readonly leftOut: Set<string>
  /** Somebody other than the system has had the word. */
  hasBegun: boolean
  assistant: AssistantTurn | undefined
}

/** What an assistant says and calls until somebody else has the word. */
interface AssistantTurn {
  readonly blocks: Block[]
  /** A call that was sent twice is one. */
  readonly calls: Map<string, { readonly item: CallItem; readonly id: string; readonly at: number }>
}

/** One by one: a client may send more parts than a function takes arguments. */
function addAll(blocks: Block[], more: readonly Block[]): void {
  for (const block of more) blocks.push(block)
}

function writeItem(writing: Writing, item: ConversationItem): void {
  writing.hasBegun ||= item.type !== 'message' || item.role === 'user' || item.role === 'assistant'
  switch (item.type) {
    case 'message':
      writeMessage(writing, item)
      return
    case 'reasoning':
      assistantOf(writing).blocks.push(...thinkingBlocks(item, writing.lane))
      return
    case 'tool-call':
      addCall(writing, item)
      return
    case 'tool-result':
      // It is written with its call; here it only says that the assistant has finished.
      if (writing.assistant && writing.assistant.calls.size > 0) endAssistant(writing)
      if (writing.results.orphans.has(item)) writeOrphan(writing, item)
      return
    default:
      assertNever(item)
  }
}

function assistantOf(writing: Writing): AssistantTurn {
  writing.assistant ??= { blocks: [], calls: new Map() }
  return writing.assistant
}

function writeMessage(writing: Writing, { role, content, name }: MessageItem): void {
  const { messages, system, leftOut, client } = writing
  if (name !== undefined) leftOut.add(clientName('messageName', client))
  if (role === 'assistant') {
    addAll(assistantOf(writing).blocks, writeTexts(content, writing))
    return
  }
  endAssistant(writing)
  if (role === 'user') {
    messages.push({ role, content: writeParts(content, writing) })
    return
  }
  const texts = writeTexts(content, writing)
  if (!writing.hasBegun) addAll(system, texts)
  else if (writing.lane.dialect.midSystem) messages.push({ role: 'system', content: texts })
  else messages.push({ role: 'user', content: texts.map((block) => ({ ...block, text: `[system] ${block.text}` })) })
}

/** What was thought goes back as it came, whole and in its place, to who has thought it; nobody else can read it. */
function thinkingBlocks({ opaque }: ReasoningItem, lane: MessagesLane): Block[] {
  const block = tryParse(opaqueForLane(opaque, lane) ?? '')
  return isObject(block) && isThinking(block) ? [block] : []
}

const isThinking = (block: Fields): block is Block => block.type === 'thinking' || block.type === 'redacted_thinking'

function addCall(writing: Writing, item: CallItem): void {
  const { blocks, calls } = assistantOf(writing)
  const known = calls.get(item.callId)
  const call = { item, id: known?.id ?? writing.ids.take(item.callId), at: known?.at ?? blocks.length }
  calls.set(item.callId, call)
  blocks[call.at] = {
    type: 'tool_use',
    id: call.id,
    name: writing.names.upstreamName(item),
    input: argumentsObject(item),
  }
}

/** Writes what the assistant has said and called, and behind it the results of its calls. */
function endAssistant(writing: Writing): void {
  const { assistant, messages, results } = writing
  writing.assistant = undefined
  if (!assistant) return
  messages.push({ role: 'assistant', content: assistant.blocks })
  const calls = [...assistant.calls.values()]
  if (calls.length === 0) return
  const content = calls.map(({ item, id }) => writeResult(writing, id, results.byCall.get(item)))
  messages.push({ role: 'user', content })
}

function writeResult(writing: Writing, id: string, result: ResultItem | undefined): Block {
  if (result === undefined) return { type: 'tool_result', tool_use_id: id, content: ABORTED, is_error: true }
  const mark = result.content.findLast(({ cacheMark }) => cacheMark !== undefined)?.cacheMark
  return { type: 'tool_result', tool_use_id: id, content: resultContent(writing, result), ...cacheControl(mark) }
}

function resultContent(writing: Writing, { content }: ResultItem): string | readonly Block[] {
  return content.every(isText) ? partsText(content, '\n') : writeParts(content.map(unmarked), writing)
}

/** The mark goes on the whole result, not on its parts. */
const unmarked = ({ cacheMark: _mark, ...part }: ContentPart): ContentPart => part

/** A result without its call is refused; what it says may still matter. */
function writeOrphan(writing: Writing, result: ResultItem): void {
  endAssistant(writing)
  writing.leftOut.add(clientName('strayResult', writing.client))
  const head = `[The result of a tool call that is not in this conversation, ${result.callId}]`
  const said = writeParts(result.content, writing)
  writing.messages.push({ role: 'user', content: [{ type: 'text', text: head }, ...said] })
}

/** A piece of a message. */
export type Block = Fields & { readonly type: string }

/** Who is told what could not go. */
interface Losses {
  readonly client: Protocol
  readonly leftOut: Set<string>
}

/** A text of nothing but spaces is refused. */
export const textBlocks = (text: string): Block[] => (text.trim() === '' ? [] : [{ type: 'text', text }])

/** The parts of a user's message, or of a tool's result. What cannot go leaves a word behind, and is named. */
const writeParts = (parts: readonly ContentPart[], losses: Losses): Block[] =>
  parts.flatMap((part) => withMark(writePart(part, losses), part.cacheMark))

/** Where only text may stand. */
function writeTexts(parts: readonly ContentPart[], { leftOut, client }: Losses): Block[] {
  return parts.flatMap((part) => {
    if (isText(part)) return withMark(textBlocks(part.text), part.cacheMark)
    leftOut.add(clientName(part.type, client))
    return []
  })
}

/** Puts the mark on the last block. */
const withMark = (blocks: Block[], mark: CacheMark | undefined): Block[] =>
  blocks.map((block, at) => (at === blocks.length - 1 ? { ...block, ...cacheControl(mark) } : block))

/** No field where there is no mark. */
export const cacheControl = (mark: CacheMark | undefined): Fields =>
  mark === undefined ? {} : { cache_control: { type: 'ephemeral' } }

function writePart(part: ContentPart, losses: Losses): Block[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return textBlocks(part.text)
    case 'image': {
      const source = imageSource(part.url)
      return source ? [{ type: 'image', source }] : [missing('image', losses)]
    }
    case 'file':
      return [writeFile(part, losses)]
    case 'audio':
      return [missing('audio', losses)]
    default:
      return assertNever(part)
  }
}

function writeFile({ data, url, id, name }: FilePart, losses: Losses): Block {
  const title = name === undefined || name === '' ? {} : { title: name }
  const inside = data === undefined ? undefined : inlineData(data)
  if (inside !== undefined && IMAGES.has(inside.mediaType)) return { type: 'image', source: base64Source(inside) }
  const source = inside ? documentSource(inside) : webAddress(url)
  if (source !== undefined) return { type: 'document', source, ...title }
  return missing(id !== undefined && data === undefined && url === undefined ? 'fileId' : 'file', losses)
}

const WHAT = { image: 'an image', file: 'a file', fileId: 'a file', audio: 'a recording' } as const

function missing(what: keyof typeof WHAT, { leftOut, client }: Losses): Block {
  leftOut.add(clientName(what, client))
  return { type: 'text', text: `[Here stood ${WHAT[what]} that cannot be shown.]` }
}

const IMAGES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])
const PDF = 'application/pdf'

function imageSource(url: string): Fields | undefined {
  const inside = inlineData(url)
  if (inside === undefined) return webAddress(url)
  return IMAGES.has(inside.mediaType) ? base64Source(inside) : undefined
}

const webAddress = (url: string | undefined): Fields | undefined =>
  url !== undefined && /^https?:\/\//i.test(url) ? { type: 'url', url } : undefined

const base64Source = ({ mediaType, base64 }: InlineData): Fields => ({
  type: 'base64',
  media_type: mediaType,
  data: base64,
})

function documentSource(inside: InlineData): Fields | undefined {
  if (inside.mediaType === PDF) return base64Source(inside)
  if (!inside.mediaType.startsWith('text/')) return undefined
  const text = Buffer.from(inside.base64, 'base64').toString('utf8')
  return text.trim() === '' ? undefined : { type: 'text', media_type: 'text/plain', data: text }
}

export interface SettledMessage {
  readonly role: DraftMessage['role']
  readonly content: readonly Block[]
}

interface Settling {
  /** Without what was thought, for a model that is not to think. */
  readonly keepsThinking: boolean
  /** A last message of the assistant may be the beginning of the answer. */
  readonly prefill: boolean
}

/** The messages as a server takes them: the user first, each role after the other, no empty ones, and the user last. */
export function settleMessages(
  drafts: readonly DraftMessage[],
  { keepsThinking, prefill }: Settling,
): SettledMessage[] {
  // A conversation that the assistant starts gets the same first user message, whether the assistant's has content or not.
  const messages = joinRoles(userBegins(drafts) ? drafts : [BEGINS, ...drafts], keepsThinking)
  if (!userBegins(messages)) messages.unshift(BEGINS)
  if (messages.at(-1)?.role !== 'assistant') return messages
  return prefill ? withoutTrailingSpace(messages) : [...messages, { role: 'user', content: GOES_ON }]
}

const userBegins = (messages: readonly DraftMessage[]): boolean =>
  messages.find(({ role }) => role !== 'system')?.role === 'user'

const BEGINS: SettledMessage = { role: 'user', content: [{ type: 'text', text: USER_BEGINS }] }
const GOES_ON: readonly Block[] = [{ type: 'text', text: USER_GOES_ON }]

/**
 * Each block is taken once, however many messages become one. An empty user message after the assistant's becomes `Go on.`, in
 * this request and in all later ones.
 */
function joinRoles(drafts: readonly DraftMessage[], keepsThinking: boolean): SettledMessage[] {
  const messages: { readonly role: DraftMessage['role']; readonly content: Block[] }[] = []
  for (const { role, content } of drafts) {
    const last = messages.at(-1)
    const isSilence = role === 'user' && content.length === 0 && last?.role === 'assistant'
    const said = role === 'assistant' ? orderedBlocks(content, keepsThinking) : isSilence ? GOES_ON : content
    if (said.length === 0) continue
    if (last?.role !== role) messages.push({ role, content: [...said] })
    else for (const block of said) last.content.push(block)
  }
  return messages
}

/**
 * Calls stand last, behind each thinking anew, and nothing ends with thinking that has led to nothing: else the message is
 * refused.
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

function withoutTrailingSpace(messages: readonly SettledMessage[]): SettledMessage[] {
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
export function isLoopWithoutThinking(messages: readonly SettledMessage[]): boolean {
  if (messages.at(-1)?.content.some(isResult) !== true) return false
  const before = messages.slice(0, -1)
  const asked = before.findLastIndex(({ role, content }) => role === 'user' && !content.every(isResult))
  const [first] = before.slice(asked + 1).find(({ role }) => role === 'assistant')?.content ?? []
  return first === undefined || !isThinking(first)
}

const isResult = ({ type }: Block): boolean => type === 'tool_result'
