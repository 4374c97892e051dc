import { stringOf } from '../../lib/text.ts'
import { assertNever, type Fields, isObject } from '../../lib/types.ts'
import type { AnswerFormat, ContentPart, Conversation, ConversationItem } from '../../model/conversation.ts'
import type { Phase } from '../../model/event.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { isAbsent } from '../fields/check-value.ts'
import { markIn } from '../fields/content-parts.ts'
import { LOGPROBS } from './dialects.ts'
import { NESTED_FIELDS, requestedField } from './fields.ts'
import { type ForwardedItemType, forwardedItems, typeOfItem } from './input-items.ts'
import { TEXT_PARTS } from './parse-request.ts'
import { parseTools } from './parse-tools.ts'

/** Converts a checked request, parsed again, for a lane of another protocol. */
export function readConversation(request: ResponsesRequest, value: Readonly<Fields>): Conversation {
  const tools = parseTools(value)
  if (tools.kind === 'refused') throw new Error(`Tools of a checked request are refused: ${tools.problem.message}`)
  const text = optional<Fields>(value.text)
  const reasoning = optional<Fields>(value.reasoning)
  const input = value.input as string | readonly Fields[]
  const received = typeof input === 'string' ? [{ role: 'user', content: input }] : forwardedItems(input)
  const items: ConversationItem[] = []
  for (const item of received) {
    const read = readItem(item, request.sealed)
    if (read !== undefined) items.push(read)
  }
  const topLogprobs = optional<number>(value.top_logprobs)
  const include = optional<readonly string[]>(value.include) ?? []
  const wantsLogprobs = include.includes(LOGPROBS) || (topLogprobs !== undefined && topLogprobs > 0)
  return {
    instructions: optional<string>(value.instructions) || undefined,
    items,
    tools: tools.definitions,
    toolChoice: tools.choice,
    parallelToolCalls: optional(value.parallel_tool_calls),
    format: isObject(text?.format) ? readFormat(text.format) : undefined,
    verbosity: optional(text?.verbosity),
    // `generate_summary` is the older name.
    reasoning: { summary: optional(reasoning?.summary) ?? optional(reasoning?.generate_summary) },
    sampling: {
      temperature: optional(value.temperature),
      topP: optional(value.top_p),
      presencePenalty: optional(value.presence_penalty),
      frequencyPenalty: optional(value.frequency_penalty),
      stop: [],
      seed: undefined,
      logitBias: undefined,
      topLogprobs: wantsLogprobs ? (topLogprobs ?? 0) : undefined,
    },
    // Empty ones identify no user.
    identity: {
      user: optional<string>(value.user) || undefined,
      safetyIdentifier: optional<string>(value.safety_identifier) || undefined,
      promptCacheKey: optional<string>(value.prompt_cache_key) || undefined,
    },
  }
}

/** The fields are checked, so a value is null, absent, or of its type. */
const optional = <Value>(value: unknown): Value | undefined => (value as Value | null | undefined) ?? undefined

function readFormat(format: Readonly<Fields>): AnswerFormat {
  if (format.type !== 'json_schema') return { type: format.type as 'text' | 'json_object' }
  return {
    type: 'json_schema',
    name: format.name as string,
    description: optional(format.description),
    schema: optional(format.schema),
    strict: optional(format.strict),
  }
}

/** The parts of a request that a conversation cannot express, so that a lane of another protocol does not get them. */
export function beyondConversation(request: ResponsesRequest): string[] {
  const reasoning = requestedField(request, 'reasoning')
  const text = requestedField(request, 'text')
  const names = requestedField(request, 'truncation') === 'auto' ? ['truncation'] : []
  if (isObject(reasoning) && !isAbsent(reasoning.context)) names.push('reasoning.context')
  if (isObject(text)) {
    const known = NESTED_FIELDS.text ?? {}
    const unknown = Object.keys(text).filter((name) => !Object.hasOwn(known, name) && !isAbsent(text[name]))
    names.push(...unknown.map((name) => `text.${name}`))
  }
  return names
}

type Item = Readonly<Fields>

/** One checked item. Added tools are not items of a conversation: they are parsed with the other tools. */
function readItem(item: Item, sealed: ResponsesRequest['sealed']): ConversationItem | undefined {
  const type = typeOfItem(item) as ForwardedItemType
  const callId = item.call_id as string
  switch (type) {
    case 'message':
      return {
        type: 'message',
        role: item.role as 'system' | 'developer' | 'user' | 'assistant',
        content: readParts(item.content),
        phase: readPhase(item.phase),
        name: undefined,
      }
    case 'reasoning': {
      const { summary, content, encrypted_content: envelope } = item
      return {
        type: 'reasoning',
        summary: textsOf(summary),
        text: textsOf(content).join(''),
        opaque: typeof envelope === 'string' ? sealed.get(envelope) : undefined,
      }
    }
    case 'function_call':
    case 'custom_tool_call': {
      const isCustom = type === 'custom_tool_call'
      return {
        type: 'tool-call',
        tool: isCustom ? 'custom' : 'function',
        callId,
        name: item.name as string,
        namespace: stringOf(item.namespace),
        text: optional<string>(isCustom ? item.input : item.arguments) ?? '',
      }
    }
    case 'function_call_output':
      return { type: 'tool-result', tool: 'function', callId, content: readParts(item.output) }
    case 'custom_tool_call_output':
      return { type: 'tool-result', tool: 'custom', callId, content: readParts(item.output) }
    case 'additional_tools':
      return undefined
    case 'compaction':
      throw new Error('A compaction that only its provider can read cannot be translated')
    default:
      return assertNever(type)
  }
}

const textsOf = (content: unknown): string[] =>
  readParts(content).flatMap((part) => (part.type === 'text' ? [part.text] : []))

/** A text becomes one part; absent content has none. */
function readParts(content: unknown): ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.map((part) => ({ ...readPart(part), ...markIn(part) })) : []
}

function readPart(part: Item): ContentPart {
  if (TEXT_PARTS.has(part.type)) return { type: 'text', text: part.text as string }
  switch (part.type) {
    case 'refusal':
      return { type: 'refusal', text: part.refusal as string }
    case 'input_image':
      return { type: 'image', url: part.image_url as string, detail: stringOf(part.detail) }
    case 'input_file':
      return {
        type: 'file',
        data: stringOf(part.file_data),
        url: stringOf(part.file_url),
        id: stringOf(part.file_id),
        name: stringOf(part.filename),
      }
    case 'input_audio': {
      const audio = part.input_audio as Fields
      return { type: 'audio', data: audio.data as string, format: audio.format as string }
    }
    default:
      throw new Error(`A part of the unknown type ${part.type} passed the check of the input`)
  }
}

/** The phase of a message, which clients send back as they got it; undefined where it is absent or unknown. */
export const readPhase = (phase: unknown): Phase | undefined =>
  phase === 'commentary' || phase === 'final_answer' ? phase : undefined
