import { assertNever } from '../../lib/assert-never.ts'
import { type Fields, isObject } from '../../lib/is-object.ts'
import {
  type CallItem,
  type ContentPart,
  type Conversation,
  type ConversationItem,
  isText,
  type MessageItem,
  type ReasoningItem,
  type ResultItem,
  textOfParts,
} from '../../model/conversation.ts'
import { clientName } from '../client-names.ts'
import { tryParse } from '../json/try-parse.ts'
import type { LaneTarget } from '../lane-target.ts'
import { ABORTED } from '../made-up-words.ts'
import { opaqueForLane } from '../seals/opaque-for-lane.ts'
import { argumentsObject, type CallIds, mapCallIds, type PairedResults, pairResults } from '../tools/past-calls.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import type { AnthropicDialect } from './dialects.ts'
import { type Block, cacheControl, textBlocks, writeParts, writeTexts } from './write-parts.ts'

/** A message as it was said; `settle-messages.ts` makes of several what a server takes. */
export interface DraftMessage {
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

export const isThinking = (block: Fields): block is Block =>
  block.type === 'thinking' || block.type === 'redacted_thinking'

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
  return content.every(isText) ? textOfParts(content, '\n') : writeParts(content.map(unmarked), writing)
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
