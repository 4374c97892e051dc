import { type Fields, isObject } from '../../lib/is-object.ts'
import type { ContentPart, ConversationItem } from '../../model/conversation.ts'
import { reasoningTextOf } from './said-words.ts'

/** The messages of a request, which were checked at the door as far as that goes; what is odd in them counts as absent. */
export function readMessages(messages: readonly unknown[]): ConversationItem[] {
  const reading: Reading = { items: [], open: [], callsRead: 0 }
  for (const message of messages) if (isObject(message)) readMessage(reading, message)
  return reading.items
}

type Call = Extract<ConversationItem, { type: 'tool-call' }>

interface Reading {
  readonly items: ConversationItem[]
  /** Calls whose result has not come. */
  open: Call[]
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
      reading.items.push(spoken(message.role, readContent(message.content), message))
  }
}

type Spoken = Extract<ConversationItem, { type: 'message' }>

const spoken = (role: Spoken['role'], content: readonly ContentPart[], { name }: Fields): Spoken => ({
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
  const content = readContent(message.content)
  if (typeof message.refusal === 'string') content.push({ type: 'refusal', text: message.refusal })
  // Clients write an empty text beside calls, where nothing was said.
  const says = content.some((part) => !('text' in part) || part.text !== '')
  if (says || (content.length > 0 && calls.length === 0)) {
    reading.items.push(spoken('assistant', says ? content.filter(isNotEmpty) : content, message))
  }
  reading.items.push(...calls)
  reading.open.push(...calls)
}

const isNotEmpty = (part: ContentPart): boolean => part.type !== 'text' || part.text !== ''

function readCalls(reading: Reading, { tool_calls, function_call }: Fields): Call[] {
  const calls = Array.isArray(tool_calls) ? tool_calls.filter(isObject) : []
  const all = calls.length === 0 && isObject(function_call) ? [{ function: function_call }] : calls
  return all.map((call) => readCall(reading, call))
}

/** The older form knows no ids: one that is made up holds call and result together. */
function readCall(reading: Reading, call: Fields): Call {
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
    text: isCustom ? (stringOf(input) ?? '') : argumentsOf(args),
  }
}

/** Some clients send what they have parsed. */
const argumentsOf = (args: unknown): string =>
  typeof args === 'string' ? args : isObject(args) || Array.isArray(args) ? JSON.stringify(args) : ''

function readResult(reading: Reading, message: Fields): void {
  const call = callOf(reading, message)
  reading.open = reading.open.filter((other) => other !== call)
  const known = call ?? reading.items.findLast((item) => isCallWith(item, message.tool_call_id))
  reading.items.push({
    type: 'tool-result',
    tool: known?.type === 'tool-call' ? known.tool : 'function',
    callId: call?.callId ?? stringOf(message.tool_call_id) ?? '',
    content: readContent(message.content),
  })
}

/** By its id; where there is none, by its name; else the first that waits. */
function callOf({ open }: Reading, { tool_call_id, name }: Fields): Call | undefined {
  if (typeof tool_call_id === 'string' && tool_call_id !== '') return open.find(({ callId }) => callId === tool_call_id)
  return open.find((call) => call.name === name) ?? open[0]
}

const isCallWith = (item: ConversationItem, callId: unknown): boolean =>
  item.type === 'tool-call' && item.callId === callId

/** A string or a list of parts; what is neither has nothing in it. */
function readContent(content: unknown): ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter(isObject).flatMap(readPart) : []
}

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

export const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
