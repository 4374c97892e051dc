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
  type ReasoningItem,
  textAndRefusals,
} from '../../model/conversation.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { arrayElements, jsonArray, spliceElement, writtenMember } from '../json/bytes.ts'
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
  const [said, refused] = textAndRefusals(content)
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
  messages.push({ role: known, content: partsText(content, '\n'), ...named })
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
  const text = joinTexts(texts)
  const reasoning = joinTexts(assistant.reasoning)
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
  const text = content === undefined ? ABORTED : partsText(content, '\n')
  writing.messages.push({
    role: 'tool',
    tool_call_id: callIdFor(call.callId, writing.dialect),
    content: text === '' && shown.length > 0 ? RESULT_ELSEWHERE : text,
  })
  if (shown.length === 0) return
  others.push({ type: 'text', text: `${FROM_RESULT} ${writing.names.upstreamName(call)}:` }, ...shown)
}

/** A user's content: many servers only take a string, and get one wherever nothing is lost by it. */
function writeContent(parts: readonly ContentPart[]): string | Fields[] {
  const [first] = parts
  if (parts.length === 1 && first?.type === 'text') return first.text
  const written = parts.flatMap(writePart)
  return written.length === 0 ? '' : written
}

/** What chat has no shape for gives nothing: a file that is only an address. */
function writePart(part: ContentPart): Fields[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return [{ type: 'text', text: part.text }]
    case 'image':
      return [{ type: 'image_url', image_url: { url: part.url, detail: part.detail } }]
    case 'audio':
      return [{ type: 'input_audio', input_audio: { data: part.data, format: part.format } }]
    case 'file':
      if (part.data === undefined && part.id === undefined) return []
      return [{ type: 'file', file: { file_data: part.data, file_id: part.id, filename: part.name } }]
    default:
      return assertNever(part)
  }
}

export interface FittedMessages {
  /** Undefined: they may stay as they are. */
  readonly messages: Buffer | undefined
  /** Somebody's name went, because the server refuses them. */
  readonly withoutNames: boolean
}

const UNCHANGED: FittedMessages = { messages: undefined, withoutNames: false }

/** The messages of a client as one server takes them. Only those are written anew in which something is not as it should be. */
export function fitMessages(request: TurnRequest, dialect: ChatDialect): FittedMessages {
  const bytes = writtenMember(request, 'messages')
  if (bytes === undefined) return UNCHANGED
  const suspects = SUSPICIONS.filter(({ isNeeded }) => isNeeded(dialect)).map(({ sign }) => sign)
  if (!suspects.some((sign) => bytes.includes(sign))) return UNCHANGED
  const elements = arrayElements(bytes)
  let withoutNames = false
  let isChanged = false
  const written = elements.map((element, at) => {
    if (!suspects.some((sign) => element.includes(sign))) return element
    const message: Fields = JSON.parse(element.toString('utf8'))
    const changes = changesOf(message, dialect, at === elements.length - 1)
    if (changes.size === 0) return element
    isChanged = true
    withoutNames ||= changes.get('name') === null
    return spliceElement(element, changes)
  })
  return isChanged ? { messages: jsonArray(written), withoutNames } : UNCHANGED
}

/** What a message that does not fit has in it: most have none of these, and need not be parsed. */
const SUSPICIONS: readonly { readonly sign: Buffer; readonly isNeeded: (dialect: ChatDialect) => boolean }[] = [
  { sign: Buffer.from('developer'), isNeeded: ({ developerRole }) => !developerRole },
  { sign: Buffer.from('"name"'), isNeeded: ({ messageNames }) => !messageNames },
  { sign: Buffer.from('"tool_call'), isNeeded: ({ callIds }) => callIds !== 'any' },
  { sign: Buffer.from('assistant'), isNeeded: ({ prefill }) => prefill !== 'plain' },
]

function changesOf(message: Fields, dialect: ChatDialect, isLast: boolean): Map<string, string | null> {
  const changes = new Map<string, string | null>()
  const { role, name, tool_call_id: answers, tool_calls: calls } = message
  // Servers that know only `system` refuse a developer's message, or take it for a user's.
  if (role === 'developer' && !dialect.developerRole) changes.set('role', '"system"')
  if (name !== undefined && !dialect.messageNames) changes.set('name', null)
  if (dialect.callIds !== 'any') {
    if (typeof answers === 'string') changes.set('tool_call_id', JSON.stringify(callIdFor(answers, dialect)))
    if (Array.isArray(calls)) changes.set('tool_calls', JSON.stringify(calls.map((call) => fitCall(call, dialect))))
  }
  if (isLast && isPrefill(message) && dialect.prefill === 'prefix') changes.set('prefix', 'true')
  return changes
}

const fitCall = (call: unknown, dialect: ChatDialect): unknown =>
  isObject(call) && typeof call.id === 'string' ? { ...call, id: callIdFor(call.id, dialect) } : call

/** The beginning of the answer, which the model shall go on from. */
const isPrefill = ({ role, tool_calls }: Fields): boolean => role === 'assistant' && tool_calls === undefined

const NINE_LETTERS = /^[A-Za-z0-9]{9}$/

/** The id of a tool call as a server takes it: the same one for a call and its result, and in every later request. */
function callIdFor(callId: string, dialect: ChatDialect): string {
  if (dialect.callIds === 'any' || NINE_LETTERS.test(callId)) return callId
  const letters = createHash('sha256')
    .update(callId)
    .digest('base64')
    .replace(/[^A-Za-z0-9]/g, '')
  return letters.slice(0, 9).padEnd(9, '0')
}

/** The arguments of a call as text: some clients, and some servers, send what they have parsed. */
export function argumentsText(args: unknown): string {
  if (typeof args === 'string') return args
  return isObject(args) || Array.isArray(args) ? JSON.stringify(args) : ''
}
