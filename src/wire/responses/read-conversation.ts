import { type Fields, isObject } from '../../lib/is-object.ts'
import type { AnswerFormat, Conversation, ConversationItem, Identity, Sampling } from '../../model/conversation.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { isAbsent } from '../fields/check-value.ts'
import { askedField } from './asked-field.ts'
import { carriedItems } from './carried-items.ts'
import { NESTED_FIELDS } from './fields.ts'
import { type CarriedItemType, typeOfItem } from './item-types.ts'
import { readItem } from './read-item.ts'
import { readTools } from './read-tools.ts'

/** Reads a request that has passed the door, parsed once more, for a lane that speaks otherwise. */
export function readConversation(request: ResponsesRequest, value: Readonly<Fields>): Conversation {
  const tools = readTools(value)
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
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : carriedItems(input)
  return items.flatMap((item) => {
    const type = typeOfItem(item) as CarriedItemType
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
  const [truncation, reasoning, text] = ['truncation', 'reasoning', 'text'].map((name) => askedField(request, name))
  return [
    ...(truncation === 'auto' ? ['truncation'] : []),
    ...(isObject(reasoning) && !isAbsent(reasoning.context) ? ['reasoning.context'] : []),
    ...(isObject(text) ? Object.keys(text).filter((name) => !isKnown(name) && !isAbsent(text[name])) : []).map(
      (name) => `text.${name}`,
    ),
  ]
}

const isKnown = (name: string): boolean => Object.hasOwn(NESTED_FIELDS.text ?? {}, name)
