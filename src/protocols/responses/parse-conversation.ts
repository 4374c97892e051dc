import { stringOf } from '../../lib/text.ts'
import { type Fields, isObject } from '../../lib/types.ts'
import type {
  AnswerFormat,
  ContentPart,
  Conversation,
  ConversationItem,
  Identity,
  Sampling,
} from '../../model/conversation.ts'
import type { Phase } from '../../model/event.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { markIn } from '../fields/cache-marks.ts'
import { isAbsent } from '../fields/check-value.ts'
import { NESTED_FIELDS, requestedField } from './fields.ts'
import { type ForwardedItemType, forwardedItems, typeOfItem } from './input-items.ts'
import { TEXT_PARTS } from './parse-request.ts'
import { parseTools } from './parse-tools.ts'

/** Reads a request that has passed the door, parsed once more, for a lane that speaks otherwise. */
export function readConversation(request: ResponsesRequest, value: Readonly<Fields>): Conversation {
  const tools = parseTools(value)
  if (tools.kind === 'refused') throw new Error(`Tools that passed the door are refused: ${tools.problem.message}`)
  const text = maybe<Fields>(value.text)
  const include = maybe<readonly string[]>(value.include) ?? []
  return {
    instructions: maybe<string>(value.instructions) || undefined,
    items: itemsOf(value.input as string | readonly Fields[], request.sealed),
    tools: tools.definitions,
    toolChoice: tools.choice,
    parallelToolCalls: maybe(value.parallel_tool_calls),
    format: formatOf(maybe(text?.format)),
    verbosity: maybe(text?.verbosity),
    reasoning: { summary: summaryOf(maybe<Fields>(value.reasoning)) },
    sampling: samplingOf(value, include),
    identity: identityOf(value),
  }
}

/** Of checked fields only null has to be told apart from a value. */
const maybe = <Value>(value: unknown): Value | undefined => (value as Value | null | undefined) ?? undefined

function itemsOf(input: string | readonly Fields[], sealed: ResponsesRequest['sealed']): ConversationItem[] {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : forwardedItems(input)
  return items.flatMap((item) => {
    const type = typeOfItem(item) as ForwardedItemType
    if (type === 'compaction') throw new Error('What only its provider can read cannot be translated')
    return type === 'additional_tools' ? [] : [readItem(type, item, sealed)]
  })
}

function formatOf(format: Readonly<Fields> | undefined): AnswerFormat | undefined {
  if (format === undefined) return undefined
  if (format.type !== 'json_schema') return { type: format.type as 'text' | 'json_object' }
  return {
    type: 'json_schema',
    name: format.name as string,
    description: maybe(format.description),
    schema: maybe(format.schema),
    strict: maybe(format.strict),
  }
}

/** `generate_summary` is the older name. */
const summaryOf = (reasoning: Readonly<Fields> | undefined): string | undefined =>
  maybe(reasoning?.summary) ?? maybe(reasoning?.generate_summary)

function samplingOf(value: Readonly<Fields>, include: readonly string[]): Sampling {
  const top = maybe<number>(value.top_logprobs)
  const wantsLogprobs = include.includes('message.output_text.logprobs') || (top !== undefined && top > 0)
  return {
    temperature: maybe(value.temperature),
    topP: maybe(value.top_p),
    presencePenalty: maybe(value.presence_penalty),
    frequencyPenalty: maybe(value.frequency_penalty),
    stop: [],
    seed: undefined,
    logitBias: undefined,
    topLogprobs: wantsLogprobs ? (top ?? 0) : undefined,
  }
}

/** Empty ones name nobody. */
const identityOf = (value: Readonly<Fields>): Identity => ({
  user: maybe<string>(value.user) || undefined,
  safetyIdentifier: maybe<string>(value.safety_identifier) || undefined,
  promptCacheKey: maybe<string>(value.prompt_cache_key) || undefined,
})

/** What a request asks for that no conversation tells, so that a lane to which it is translated does not get it. */
export function beyondConversation(request: ResponsesRequest): string[] {
  const [truncation, reasoning, text] = ['truncation', 'reasoning', 'text'].map((name) => requestedField(request, name))
  return [
    ...(truncation === 'auto' ? ['truncation'] : []),
    ...(isObject(reasoning) && !isAbsent(reasoning.context) ? ['reasoning.context'] : []),
    ...(isObject(text) ? Object.keys(text).filter((name) => !isKnown(name) && !isAbsent(text[name])) : []).map(
      (name) => `text.${name}`,
    ),
  ]
}

const isKnown = (name: string): boolean => Object.hasOwn(NESTED_FIELDS.text ?? {}, name)

type Item = Readonly<Fields>

/** One item that has been checked at the door. Tools are no item of a conversation: they are read with the others. */
function readItem(
  type: Exclude<ForwardedItemType, 'additional_tools' | 'compaction'>,
  item: Item,
  sealed: ResponsesRequest['sealed'],
): ConversationItem {
  switch (type) {
    case 'message':
      return readMessage(item)
    case 'reasoning':
      return readReasoning(item, sealed)
    case 'function_call':
      return readCall(item, { tool: 'function', text: item.arguments })
    case 'custom_tool_call':
      return readCall(item, { tool: 'custom', text: item.input })
    case 'function_call_output':
      return { type: 'tool-result', tool: 'function', callId: item.call_id as string, content: readParts(item.output) }
    case 'custom_tool_call_output':
      return { type: 'tool-result', tool: 'custom', callId: item.call_id as string, content: readParts(item.output) }
  }
}

function readMessage({ role, content, phase }: Item): ConversationItem {
  return {
    type: 'message',
    role: role as 'system' | 'developer' | 'user' | 'assistant',
    content: readParts(content),
    phase: readPhase(phase),
    name: undefined,
  }
}

function readReasoning(
  { summary, content, encrypted_content: envelope }: Item,
  sealed: ResponsesRequest['sealed'],
): ConversationItem {
  return {
    type: 'reasoning',
    summary: textsOf(summary),
    text: textsOf(content).join(''),
    opaque: typeof envelope === 'string' ? sealed.get(envelope) : undefined,
  }
}

const textsOf = (content: unknown): string[] =>
  readParts(content).flatMap((part) => (part.type === 'text' ? [part.text] : []))

function readCall(
  { call_id: callId, name, namespace }: Item,
  { tool, text }: { tool: 'function' | 'custom'; text: unknown },
): ConversationItem {
  return {
    type: 'tool-call',
    tool,
    callId: callId as string,
    name: name as string,
    namespace: stringOf(namespace),
    text: (text as string | null | undefined) ?? '',
  }
}

/** A text counts as one part; nothing at all as none. */
function readParts(content: unknown): ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.map(readMarkedPart) : []
}

const readMarkedPart = (part: Item): ContentPart => ({ ...readPart(part), ...markIn(part) })

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
      throw new Error(`A part of type ${part.type} was let in at the door`)
  }
}

/** The phase of a message, which clients give back as they got it; undefined where it has none, or one that nobody knows. */
export const readPhase = (phase: unknown): Phase | undefined =>
  phase === 'commentary' || phase === 'final_answer' ? phase : undefined
