import { stringOf } from '../../lib/text.ts'
import { type Fields, isObject } from '../../lib/types.ts'
import type {
  AnswerFormat,
  CallItem,
  ContentPart,
  Conversation,
  ConversationItem,
  MessageItem,
  Sampling,
  ToolChoice,
  ToolDefinition,
  ToolName,
} from '../../model/conversation.ts'
import type { ChatRequest } from '../../model/turn.ts'
import { markIn, withMarkOf } from '../fields/cache-marks.ts'
import { parseInPieces } from '../json/in-pieces.ts'
import { reasoningTextOf } from './chunk.ts'
import { argumentsText } from './write-messages.ts'

/**
 * What a chat request says to its model, for a lane of another protocol. The door has checked types and ranges; what it
 * leaves to providers to understand counts as absent here where it is odd.
 */
export function readConversation(body: Fields): Conversation {
  return {
    instructions: undefined,
    items: Array.isArray(body.messages) ? readMessages(body.messages) : [],
    tools: readToolDefinitions(body),
    toolChoice: readToolChoice(body),
    parallelToolCalls: typeof body.parallel_tool_calls === 'boolean' ? body.parallel_tool_calls : undefined,
    format: readFormat(body.response_format),
    verbosity: stringOf(body.verbosity),
    // Chat has no words to ask for a summary.
    reasoning: { summary: undefined },
    sampling: readSampling(body),
    // An empty name is nobody's.
    identity: {
      user: stringOf(body.user) || undefined,
      safetyIdentifier: stringOf(body.safety_identifier) || undefined,
      promptCacheKey: stringOf(body.prompt_cache_key) || undefined,
    },
  }
}

/** The body as the door has left it: some members are written anew, or dropped. */
export async function parseAsLeft({ body, rewritten }: ChatRequest): Promise<Fields> {
  const value = await parseInPieces(body.bytes)
  const fields: Fields = isObject(value) ? value : {}
  for (const [name, bytes] of rewritten) fields[name] = bytes === null ? undefined : await parseInPieces(bytes)
  return fields
}

function readFormat(format: unknown): AnswerFormat | undefined {
  if (!isObject(format)) return undefined
  if (format.type === 'text' || format.type === 'json_object') return { type: format.type }
  if (format.type !== 'json_schema' || !isObject(format.json_schema)) return undefined
  const { name, description, schema, strict } = format.json_schema
  return {
    type: 'json_schema',
    name: stringOf(name) ?? 'answer',
    description: stringOf(description),
    schema: isObject(schema) ? schema : undefined,
    strict: typeof strict === 'boolean' ? strict : undefined,
  }
}

function readSampling(body: Fields): Sampling {
  const { stop } = body
  return {
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    presencePenalty: numberOf(body.presence_penalty),
    frequencyPenalty: numberOf(body.frequency_penalty),
    stop: (Array.isArray(stop) ? stop : [stop]).filter((word): word is string => typeof word === 'string'),
    seed: numberOf(body.seed),
    logitBias: isObject(body.logit_bias) ? body.logit_bias : undefined,
    topLogprobs: body.logprobs === true ? (numberOf(body.top_logprobs) ?? 0) : undefined,
  }
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

/** The messages of a request, which were checked at the door as far as that goes; what is odd in them counts as absent. */
function readMessages(messages: readonly unknown[]): ConversationItem[] {
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

/** The client's tools, in the newer form or the older. Hosted ones have been left out at the door. */
function readToolDefinitions({ tools, functions }: Fields): ToolDefinition[] {
  const listed = (list: unknown): Fields[] => (Array.isArray(list) ? list.filter(isObject) : [])
  return [...listed(tools).flatMap(readTool), ...listed(functions).flatMap(readFunction)]
}

function readTool(tool: Fields): ToolDefinition[] {
  const definition = tool[String(tool.type)]
  if (!isObject(definition)) return []
  const mark = { ...markIn(definition), ...markIn(tool) }
  if (tool.type === 'function') return readFunction(definition).map((read) => ({ ...read, ...mark }))
  return tool.type === 'custom' ? readCustom(definition).map((read) => ({ ...read, ...mark })) : []
}

function readFunction({ name, description, parameters, strict }: Fields): ToolDefinition[] {
  if (typeof name !== 'string') return []
  return [
    {
      type: 'function',
      name,
      namespace: undefined,
      description: stringOf(description),
      parameters: isObject(parameters) ? parameters : undefined,
      // Said in so many words, because elsewhere silence means the opposite.
      strict: strict === true,
    },
  ]
}

function readCustom({ name, description, format }: Fields): ToolDefinition[] {
  if (typeof name !== 'string') return []
  return [
    {
      type: 'custom',
      name,
      namespace: undefined,
      description: stringOf(description),
      grammar: readGrammar(format),
    },
  ]
}

/** Chat has it in an object of its own; some clients write it flat, as Responses has it. */
function readGrammar(format: unknown): { syntax: string; definition: string } | undefined {
  if (!isObject(format) || format.type !== 'grammar') return undefined
  const { syntax, definition } = isObject(format.grammar) ? format.grammar : format
  return typeof syntax === 'string' && typeof definition === 'string' ? { syntax, definition } : undefined
}

/** What the client wants done with its tools; undefined where it has not said, or not in words that we know. */
function readToolChoice({ tool_choice, function_call }: Fields): ToolChoice | undefined {
  const choice = tool_choice ?? function_call
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  if (choice === 'any') return { type: 'required' }
  if (!isObject(choice)) return undefined
  if (choice.type === 'allowed_tools') return readAllowed(choice)
  // The older form is nothing but a name.
  const named = readName(choice) ?? readName({ type: 'function', function: choice })
  return named && { type: 'tool', ...named }
}

function readAllowed(choice: Fields): ToolChoice {
  const { mode, tools } = isObject(choice.allowed_tools) ? choice.allowed_tools : choice
  const names = Array.isArray(tools) ? tools.filter(isObject).flatMap((tool) => readName(tool) ?? []) : []
  return { type: 'allowed', mode: mode === 'required' ? 'required' : 'auto', tools: names }
}

function readName(tool: Fields): ToolName | undefined {
  const type = tool.type === 'custom' ? 'custom' : 'function'
  const named = tool[type]
  if (!isObject(named) || typeof named.name !== 'string') return undefined
  return { name: named.name, namespace: undefined, tool: type }
}

/** Calls in their order, of which those that were answered are passed by. */
interface Queue {
  readonly calls: CallItem[]
  next: number
}

/**
 * The calls of a conversation whose results have not come. A client may send as many as a body holds, so each is found without
 * a look at the others.
 */
class WaitingCalls {
  readonly #all: Queue = { calls: [], next: 0 }
  readonly #byId = new Map<unknown, Queue>()
  readonly #byName = new Map<unknown, Queue>()
  readonly #answered = new Set<CallItem>()

  add(call: CallItem): void {
    this.#all.calls.push(call)
    addTo(this.#byId, call.callId, call)
    addTo(this.#byName, call.name, call)
  }

  /** The call that a result is of: by its id; where there is none, by its name; else the first that waits. */
  take({ tool_call_id: id, name }: Fields): CallItem | undefined {
    const call = isId(id)
      ? this.#first(this.#byId.get(id))
      : (this.#first(this.#byName.get(name)) ?? this.#first(this.#all))
    if (call !== undefined) this.#answered.add(call)
    return call
  }

  /** The last call of this id, whether it waits or not. */
  lastOf(id: unknown): CallItem | undefined {
    return this.#byId.get(id)?.calls.at(-1)
  }

  #first(queue: Queue | undefined): CallItem | undefined {
    if (queue === undefined) return undefined
    while (this.#answered.has(queue.calls[queue.next]!)) queue.next++
    return queue.calls[queue.next]
  }
}

const isId = (id: unknown): boolean => typeof id === 'string' && id !== ''

function addTo(queues: Map<unknown, Queue>, key: string, call: CallItem): void {
  const queue = queues.get(key)
  if (queue === undefined) queues.set(key, { calls: [call], next: 0 })
  else queue.calls.push(call)
}
