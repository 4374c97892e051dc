import { assertNever } from '../../lib/assert-never.ts'
import type { Fields } from '../../lib/is-object.ts'
import {
  type CallItem,
  type ContentPart,
  type Conversation,
  type ConversationItem,
  isText,
  type MessageItem,
  type ReasoningItem,
  saidAndRefused,
  textOfParts,
} from '../../model/conversation.ts'
import { clientName, type NamedApart } from '../client-names.ts'
import { BREAK, joinedWords } from '../joined-words.ts'
import type { LaneTarget } from '../lane-target.ts'
import { ABORTED, FROM_RESULT, RESULT_ELSEWHERE } from '../made-up-words.ts'
import { opaqueForLane } from '../seals/opaque-for-lane.ts'
import { type PairedResults, pairResults } from '../tools/past-calls.ts'
import type { ToolNames } from '../tools/tool-names.ts'
import { callIdFor } from './call-ids.ts'
import type { ChatDialect } from './dialects.ts'
import { isPrefill } from './fit-messages.ts'
import { writeContent, writePart } from './write-parts.ts'

interface WrittenMessages {
  readonly messages: readonly Fields[]
  readonly leftOut: readonly string[]
}

/**
 * The conversation as chat messages. Chat has one message for what an assistant said and called, and wants the results of
 * its calls right behind it, in their order, one for each: what stands between them moves behind, what is missing is made up.
 */
export function writeMessages(conversation: Conversation, names: ToolNames, lane: MessagesLane): WrittenMessages {
  const { dialect } = lane
  const results = pairResults(conversation.items)
  const writing: Writing = {
    messages: [],
    leftOut: new Set(),
    names,
    lane,
    dialect,
    results,
    thoughts: [],
    assistant: undefined,
  }
  const { instructions } = conversation
  if (instructions !== undefined && instructions !== '') {
    writing.messages.push({ role: dialect.developerRole ? 'developer' : 'system', content: instructions })
  }
  for (const item of conversation.items) writeItem(writing, item)
  endAssistant(writing)
  const last = writing.messages.at(-1)
  if (last !== undefined && isPrefill(last) && dialect.prefill === 'prefix') last.prefix = true
  if (results.orphans.size > 0) leaveOut(writing, 'strayResult')
  return { messages: writing.messages, leftOut: [...writing.leftOut] }
}

type MessagesLane = Pick<LaneTarget<ChatDialect>, 'dialect' | 'origin' | 'client'>

interface Writing {
  readonly messages: Fields[]
  readonly leftOut: Set<string>
  readonly names: ToolNames
  readonly lane: MessagesLane
  readonly dialect: ChatDialect
  readonly results: PairedResults
  /** Reasoning that waits for what it has led to. */
  thoughts: string[]
  /** What an assistant says and calls until somebody else has the word. */
  assistant: AssistantTurn | undefined
}

interface AssistantTurn {
  readonly texts: string[]
  readonly refusals: string[]
  readonly reasoning: string[]
  /** A call that was sent twice is one. */
  readonly calls: Map<string, CallItem>
  name: string | undefined
}

function writeItem(writing: Writing, item: ConversationItem): void {
  switch (item.type) {
    case 'message':
      if (item.role === 'assistant') addWords(writing, item)
      else writeMessage(writing, item)
      return
    case 'reasoning':
      if (writing.dialect.reasoningBack) writing.thoughts.push(reasoningText(item, writing.lane))
      return
    case 'tool-call':
      assistantOf(writing).calls.set(item.callId, item)
      return
    case 'tool-result':
      // Its message is written with its call's; here it only says that the assistant has finished.
      if (writing.assistant && writing.assistant.calls.size > 0) endAssistant(writing)
      return
    default:
      assertNever(item)
  }
}

function assistantOf(writing: Writing): AssistantTurn {
  writing.assistant ??= { texts: [], refusals: [], reasoning: [], calls: new Map(), name: undefined }
  for (const thought of writing.thoughts) writing.assistant.reasoning.push(thought)
  writing.thoughts = []
  return writing.assistant
}

function addWords(writing: Writing, { content, name }: MessageItem): void {
  const assistant = assistantOf(writing)
  const [said, refused] = saidAndRefused(content)
  assistant.texts.push(said)
  // On a server with one field for both, text and refusal stay separate texts.
  if (refused !== '') (writing.dialect.refusals ? assistant.refusals : assistant.texts).push(refused)
  assistant.name ??= name
  noteOtherParts(writing, content)
}

/** Nobody but a user may send what is not text. */
function noteOtherParts(writing: Writing, content: readonly ContentPart[]): void {
  for (const part of content) if (!isText(part)) leaveOut(writing, part.type)
}

/** What came from a chat lane under seal is the reasoning as it was; else what its client was told of it. */
function reasoningText({ text, summary, opaque }: ReasoningItem, lane: MessagesLane): string {
  return opaqueForLane(opaque, lane) ?? (text === '' ? summary.join(BREAK) : text)
}

function writeMessage(writing: Writing, { role, content, name }: MessageItem): void {
  endAssistant(writing)
  writing.thoughts = []
  const { dialect, messages } = writing
  const named = nameIfTaken(writing, name)
  if (role === 'user') {
    noteLost(writing, content)
    messages.push({ role, content: writeContent(content), ...named })
    return
  }
  noteOtherParts(writing, content)
  const known = role === 'developer' && !dialect.developerRole ? 'system' : role
  messages.push({ role: known, content: textOfParts(content, '\n'), ...named })
}

function nameIfTaken(writing: Writing, name: string | undefined): Fields {
  if (name === undefined) return {}
  if (writing.dialect.messageNames) return { name }
  leaveOut(writing, 'messageName')
  return {}
}

function noteLost(writing: Writing, content: readonly ContentPart[]): void {
  if (content.some((part) => writePart(part).length === 0)) leaveOut(writing, 'fileUrl')
}

/** By the name that the client has for it. */
function leaveOut({ leftOut, lane }: Writing, what: NamedApart): void {
  leftOut.add(clientName(what, lane.client))
}

/** Writes what the assistant has said and called, and behind it the results of its calls. */
function endAssistant(writing: Writing): void {
  const { assistant, messages, names, dialect, results } = writing
  writing.assistant = undefined
  if (!assistant) return
  const { calls, texts, refusals, name } = assistant
  const text = joinedWords(texts)
  const reasoning = joinedWords(assistant.reasoning)
  const saysNothing = text === '' && (calls.size > 0 || refusals.length > 0)
  messages.push({
    role: 'assistant',
    content: saysNothing ? null : text,
    ...(refusals.length > 0 ? { refusal: refusals.join(BREAK) } : {}),
    ...nameIfTaken(writing, name),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.size === 0 ? {} : { tool_calls: [...calls.values()].map((call) => writeCall(call, names, dialect)) }),
  })
  const others: Fields[] = []
  for (const call of calls.values()) writeResult(writing, call, results.byCall.get(call)?.content, others)
  if (others.length > 0) messages.push({ role: 'user', content: others })
}

function writeCall(call: CallItem, names: ToolNames, dialect: ChatDialect): Fields {
  const { tool, text } = call
  const name = names.upstreamName(call)
  const id = callIdFor(call.callId, dialect)
  if (tool === 'function') return { id, type: 'function', function: { name, arguments: text } }
  if (dialect.customTools) return { id, type: 'custom', custom: { name, input: text } }
  return { id, type: 'function', function: { name, arguments: JSON.stringify({ input: text }) } }
}

/** A tool message is text; what else a result has is shown in a user's message behind all of them. */
function writeResult(
  writing: Writing,
  call: CallItem,
  content: readonly ContentPart[] | undefined,
  others: Fields[],
): void {
  const shown = (content ?? []).filter((part) => !isText(part)).flatMap(writePart)
  if (content) noteLost(writing, content)
  const text = content === undefined ? ABORTED : textOfParts(content, '\n')
  writing.messages.push({
    role: 'tool',
    tool_call_id: callIdFor(call.callId, writing.dialect),
    content: text === '' && shown.length > 0 ? RESULT_ELSEWHERE : text,
  })
  if (shown.length === 0) return
  others.push({ type: 'text', text: `${FROM_RESULT} ${writing.names.upstreamName(call)}:` }, ...shown)
}
