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
import { markIn, withMarkOf } from '../fields/content-parts.ts'
import { parseInPieces } from '../json/in-pieces.ts'
import { reasoningTextOf } from './chunk.ts'
import { argumentsText } from './write-messages.ts'

/**
 * A chat request as a conversation, for a lane of another protocol. Types and ranges were checked by `parseRequest`; what
 * it leaves to providers counts as absent here where it is odd.
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
    // Chat has no field that requests a summary.
    reasoning: { summary: undefined },
    sampling: readSampling(body),
    // Empty means absent.
    identity: {
      user: stringOf(body.user) || undefined,
      safetyIdentifier: stringOf(body.safety_identifier) || undefined,
      promptCacheKey: stringOf(body.prompt_cache_key) || undefined,
    },
  }
}

/** The value of the body after `parseRequest`, which rewrites or drops some members. */
export async function parseRewritten({ body, rewritten }: ChatRequest): Promise<Fields> {
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

function readMessages(messages: readonly unknown[]): ConversationItem[] {
  const reader = new MessageReader()
  for (const message of messages) if (isObject(message)) reader.read(message)
  return reader.items
}

class MessageReader {
  readonly items: ConversationItem[] = []
  readonly #waiting = new WaitingCalls()
  #callsRead = 0

  read(message: Fields): void {
    switch (message.role) {
      case 'assistant':
        this.#readAssistant(message)
        break
      case 'tool':
      case 'function':
        this.#readResult(message)
        break
      case 'system':
      case 'developer':
      case 'user':
        this.items.push(messageItem(message.role, readContent(message), message))
    }
  }

  /** Reasoning, then text, then calls: the order in which a model produces them. */
  #readAssistant(message: Fields): void {
    const reasoning = reasoningTextOf(message)
    if (reasoning !== '') this.items.push({ type: 'reasoning', summary: [], text: reasoning, opaque: undefined })
    const { tool_calls, function_call } = message
    const listed = Array.isArray(tool_calls) ? tool_calls.filter(isObject) : []
    const calls = listed.length === 0 && isObject(function_call) ? [{ function: function_call }] : listed
    const content = readContent(message)
    if (typeof message.refusal === 'string') content.push({ type: 'refusal', text: message.refusal })
    // Clients write an empty text beside calls.
    const hasContent = content.some((part) => !('text' in part) || part.text !== '')
    if (hasContent || (content.length > 0 && calls.length === 0)) {
      const kept = hasContent ? content.filter((part) => part.type !== 'text' || part.text !== '') : content
      this.items.push(messageItem('assistant', kept, message))
    }
    for (const call of calls) {
      const item = this.#readCall(call)
      this.items.push(item)
      this.#waiting.add(item)
    }
  }

  /** The older form has no ids: a made-up id holds call and result together. */
  #readCall(call: Fields): CallItem {
    const position = this.#callsRead++
    const isCustom = call.type === 'custom' || (isObject(call.custom) && !isObject(call.function))
    const definition = isCustom ? call.custom : call.function
    const { name, arguments: args, input }: Fields = isObject(definition) ? definition : {}
    return {
      type: 'tool-call',
      tool: isCustom ? 'custom' : 'function',
      callId: stringOf(call.id) || `call_${position}`,
      name: stringOf(name) ?? '',
      namespace: undefined,
      text: isCustom ? (stringOf(input) ?? '') : argumentsText(args),
    }
  }

  #readResult(message: Fields): void {
    const call = this.#waiting.take(message)
    const known = call ?? this.#waiting.lastOf(message.tool_call_id)
    this.items.push({
      type: 'tool-result',
      tool: known?.tool ?? 'function',
      callId: call?.callId ?? stringOf(message.tool_call_id) ?? '',
      content: readContent(message),
    })
  }
}

const messageItem = (role: MessageItem['role'], content: readonly ContentPart[], { name }: Fields): MessageItem => ({
  ...{ type: 'message', role, content, phase: undefined },
  name: stringOf(name),
})

/** A string or a list of parts; anything else is empty. */
function readContent(message: Fields): ContentPart[] {
  const { content } = message
  if (typeof content === 'string') return withMarkOf(message, [{ type: 'text', text: content }])
  const parts = Array.isArray(content) ? content.filter(isObject) : []
  return withMarkOf(
    message,
    parts.flatMap((part) => readPart(part).map((read) => ({ ...read, ...markIn(part) }))),
  )
}

function readPart(part: Fields): ContentPart[] {
  switch (part.type) {
    case 'text':
      return typeof part.text === 'string' ? [{ type: 'text', text: part.text }] : []
    case 'refusal':
      return typeof part.refusal === 'string' ? [{ type: 'refusal', text: part.refusal }] : []
    case 'image_url': {
      // Some clients leave out the object around the address.
      const { url, detail }: Fields = isObject(part.image_url) ? part.image_url : { url: part.image_url }
      return typeof url === 'string' ? [{ type: 'image', url, detail: stringOf(detail) }] : []
    }
    case 'input_audio': {
      const { data, format }: Fields = isObject(part.input_audio) ? part.input_audio : {}
      return typeof data === 'string' ? [{ type: 'audio', data, format: stringOf(format) ?? 'wav' }] : []
    }
    case 'file': {
      if (!isObject(part.file)) return []
      const { file_data, file_id, filename } = part.file
      const file = { data: stringOf(file_data), url: undefined, id: stringOf(file_id), name: stringOf(filename) }
      return [{ type: 'file', ...file }]
    }
    default:
      return []
  }
}

/** The client's tools, in the newer form or the older. `parseRequest` has left out hosted ones. */
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
      // Explicit, because other protocols have the opposite default.
      strict: strict === true,
    },
  ]
}

function readCustom({ name, description, format }: Fields): ToolDefinition[] {
  if (typeof name !== 'string') return []
  const grammar = readGrammar(format)
  return [{ type: 'custom', name, namespace: undefined, description: stringOf(description), grammar }]
}

/** Chat has it in an object of its own; some clients write it flat, as Responses has it. */
function readGrammar(format: unknown): { syntax: string; definition: string } | undefined {
  if (!isObject(format) || format.type !== 'grammar') return undefined
  const { syntax, definition } = isObject(format.grammar) ? format.grammar : format
  return typeof syntax === 'string' && typeof definition === 'string' ? { syntax, definition } : undefined
}

/** Undefined where the client made no choice, or none that is known. */
function readToolChoice({ tool_choice, function_call }: Fields): ToolChoice | undefined {
  const choice = tool_choice ?? function_call
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  if (choice === 'any') return { type: 'required' }
  if (!isObject(choice)) return undefined
  if (choice.type === 'allowed_tools') return readAllowed(choice)
  // The older form has a name only.
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

/** Calls in their order; those before `next` are answered. */
interface CallQueue {
  readonly calls: CallItem[]
  next: number
}

/**
 * The calls of a conversation that have no result yet. A client may send as many as a body holds, so each is found without
 * a search through the others.
 */
class WaitingCalls {
  readonly #all: CallQueue = { calls: [], next: 0 }
  readonly #byId = new Map<unknown, CallQueue>()
  readonly #byName = new Map<unknown, CallQueue>()
  readonly #answered = new Set<CallItem>()

  add(call: CallItem): void {
    this.#all.calls.push(call)
    addTo(this.#byId, call.callId, call)
    addTo(this.#byName, call.name, call)
  }

  /** The call that a result belongs to: by its id; without an id by its name, else the first waiting one. */
  take({ tool_call_id: id, name }: Fields): CallItem | undefined {
    const hasId = typeof id === 'string' && id !== ''
    const call = hasId
      ? this.#first(this.#byId.get(id))
      : (this.#first(this.#byName.get(name)) ?? this.#first(this.#all))
    if (call !== undefined) this.#answered.add(call)
    return call
  }

  /** The last call with this id, answered or not. */
  lastOf(id: unknown): CallItem | undefined {
    return this.#byId.get(id)?.calls.at(-1)
  }

  #first(queue: CallQueue | undefined): CallItem | undefined {
    if (queue === undefined) return undefined
    while (this.#answered.has(queue.calls[queue.next]!)) queue.next++
    return queue.calls[queue.next]
  }
}

function addTo(queues: Map<unknown, CallQueue>, key: string, call: CallItem): void {
  const queue = queues.get(key)
  if (queue === undefined) queues.set(key, { calls: [call], next: 0 })
  else queue.calls.push(call)
}
