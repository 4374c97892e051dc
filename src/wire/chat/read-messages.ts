import { type Fields, isObject } from '../../lib/is-object.ts'
import { stringOf } from '../../lib/string-of.ts'
import type { CallItem, ContentPart, ConversationItem, MessageItem } from '../../model/conversation.ts'
import { markIn, withMarkOf } from '../fields/cache-marks.ts'
import { argumentsText } from './arguments-text.ts'
import { reasoningTextOf } from './said-words.ts'
import { WaitingCalls } from './waiting-calls.ts'

/** The messages of a request, which were checked at the door as far as that goes; what is odd in them counts as absent. */
export function readMessages(messages: readonly unknown[]): ConversationItem[] {
  const reading: Reading = { items: [], waiting: new WaitingCalls(), callsRead: 0 }
  for (const message of messages) if (isObject(message)) readMessage(reading, message)
  return reading.items
}

interface Reading {
  readonly items: ConversationItem[]
  readonly waiting: WaitingCalls
  callsRead: number
}

function readMessage(reading: Reading, message: Fields): void {
  switch (message.role) {
    case 'assistant':
      readAssistant(reading, message)
      return
    case 'tool':
    case 'function':
      readResult(reading, message)
      return
    case 'system':
    case 'developer':
    case 'user':
      reading.items.push(spoken(message.role, readContent(message), message))
  }
}

const spoken = (role: MessageItem['role'], content: readonly ContentPart[], { name }: Fields): MessageItem => ({
  type: 'message',
  role,
  content,
  phase: undefined,
  name: stringOf(name),
})

/** First what it thought, then what it said, then what it called: the order in which a model does it. */
function readAssistant(reading: Reading, message: Fields): void {
  const reasoning = reasoningTextOf(message)
  if (reasoning !== '') reading.items.push({ type: 'reasoning', summary: [], text: reasoning, opaque: undefined })
  const calls = readCalls(reading, message)
  const content = readContent(message)
  if (typeof message.refusal === 'string') content.push({ type: 'refusal', text: message.refusal })
  // Clients write an empty text beside calls, where nothing was said.
  const says = content.some((part) => !('text' in part) || part.text !== '')
  if (says || (content.length > 0 && calls.length === 0)) {
    reading.items.push(spoken('assistant', says ? content.filter(isNotEmpty) : content, message))
  }
  for (const call of calls) {
    reading.items.push(call)
    reading.waiting.add(call)
  }
}

const isNotEmpty = (part: ContentPart): boolean => part.type !== 'text' || part.text !== ''

function readCalls(reading: Reading, { tool_calls, function_call }: Fields): CallItem[] {
  const calls = Array.isArray(tool_calls) ? tool_calls.filter(isObject) : []
  const all = calls.length === 0 && isObject(function_call) ? [{ function: function_call }] : calls
  return all.map((call) => readCall(reading, call))
}

/** The older form knows no ids: one that is made up holds call and result together. */
function readCall(reading: Reading, call: Fields): CallItem {
  const position = reading.callsRead++
  const isCustom = call.type === 'custom' || (isObject(call.custom) && !isObject(call.function))
  const said = isCustom ? call.custom : call.function
  const { name, arguments: args, input }: Fields = isObject(said) ? said : {}
  return {
    type: 'tool-call',
    tool: isCustom ? 'custom' : 'function',
    callId: stringOf(call.id) || `call_${position}`,
    name: stringOf(name) ?? '',
    namespace: undefined,
    text: isCustom ? (stringOf(input) ?? '') : argumentsText(args),
  }
}

function readResult(reading: Reading, message: Fields): void {
  const call = reading.waiting.take(message)
  const known = call ?? reading.waiting.lastOf(message.tool_call_id)
  reading.items.push({
    type: 'tool-result',
    tool: known?.tool ?? 'function',
    callId: call?.callId ?? stringOf(message.tool_call_id) ?? '',
    content: readContent(message),
  })
}

/** A string or a list of parts; what is neither has nothing in it. */
function readContent(message: Fields): ContentPart[] {
  const { content } = message
  if (typeof content === 'string') return withMarkOf(message, [{ type: 'text', text: content }])
  return Array.isArray(content) ? withMarkOf(message, content.filter(isObject).flatMap(readMarkedPart)) : []
}

const readMarkedPart = (part: Fields): ContentPart[] => readPart(part).map((read) => ({ ...read, ...markIn(part) }))

function readPart(part: Fields): ContentPart[] {
  switch (part.type) {
    case 'text':
      return typeof part.text === 'string' ? [{ type: 'text', text: part.text }] : []
    case 'refusal':
      return typeof part.refusal === 'string' ? [{ type: 'refusal', text: part.refusal }] : []
    case 'image_url':
      return readImage(part.image_url)
    case 'input_audio':
      return readAudio(part.input_audio)
    case 'file':
      return isObject(part.file) ? [readFile(part.file)] : []
    default:
      return []
  }
}

/** Some clients leave out the object around the address. */
function readImage(image: unknown): ContentPart[] {
  const { url, detail }: Fields = isObject(image) ? image : { url: image }
  return typeof url === 'string' ? [{ type: 'image', url, detail: stringOf(detail) }] : []
}

function readAudio(audio: unknown): ContentPart[] {
  if (!isObject(audio) || typeof audio.data !== 'string') return []
  return [{ type: 'audio', data: audio.data, format: stringOf(audio.format) ?? 'wav' }]
}

const readFile = ({ file_data, file_id, filename }: Fields): ContentPart => ({
  type: 'file',
  data: stringOf(file_data),
  url: undefined,
  id: stringOf(file_id),
  name: stringOf(filename),
})
