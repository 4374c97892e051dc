import { type Fields, isObject } from '../../lib/types.ts'
import type { Opaque } from '../../model/event.ts'
import { isAbsent } from '../fields/check-value.ts'
import { readError, type UpstreamError } from '../refusals/provider-error.ts'
import type { StreamState } from '../shared/stream-state.ts'
import type { TemplateRun } from '../sse/frame-template.ts'
import type { FrameSplitter } from '../sse/split-frames.ts'

/**
 * An answer as items, in the order of the grammar whatever came: items and their parts do not interleave, and each start
 * has its end. Every answer of a lane that speaks Responses is read into these steps, and every other one that a Responses
 * client is told; what is made of them (events, frames, or the items of a JSON answer) is the business of others.
 */
export type ItemEvent =
  | { readonly type: 'item-start'; readonly item: OutputItem }
  | { readonly type: 'part-start'; readonly item: OutputItem; readonly part: OutputPart }
  | DeltaEvent
  | AnnotationEvent
  | { readonly type: 'part-end'; readonly item: OutputItem; readonly part: OutputPart }
  | { readonly type: 'item-end'; readonly item: OutputItem }

export interface DeltaEvent {
  readonly type: 'delta'
  readonly item: OutputItem
  readonly part: OutputPart
  readonly text: string
  /** The provider's own event, for what else it says; undefined where it says nothing else, or came later. */
  readonly event: Fields | undefined
}

export interface AnnotationEvent {
  readonly type: 'annotation'
  readonly item: OutputItem
  readonly part: OutputPart
  readonly event: Fields
  readonly index: number
}

export type ItemKind = 'message' | 'reasoning' | 'function_call' | 'custom_tool_call' | 'compaction'

/** A message and a reasoning have parts; a call has exactly one, its arguments or input. */
export type PartKind = 'output_text' | 'refusal' | 'reasoning_text' | 'summary_text' | 'arguments' | 'input'

export interface OutputItem {
  readonly kind: ItemKind
  /** The provider's own fields, as they were heard last. */
  fields: Fields
  /** Of a call, where it has been minted already. */
  readonly callId: string | undefined
  /** What of it only its provider can read. */
  opaque: Opaque | undefined
  readonly parts: OutputPart[]
  /** Undefined until it has ended. */
  status: 'completed' | 'incomplete' | undefined
}

export interface OutputPart {
  readonly kind: PartKind
  /** Its place among the content, or among the summaries, of its item. */
  readonly index: number
  /** The provider's own index of it, which may have gaps. */
  readonly key: number
  /** The provider's own part, as it was heard last. */
  fields: Fields
  /** The provider's own event that ended its words, for what else it says. */
  ended: Fields | undefined
  /** The provider has said all its words once more: whatever comes behind that was said before. */
  isWhole: boolean
  text: string
  readonly annotations: unknown[]
}

export const isCall = (kind: ItemKind): kind is 'function_call' | 'custom_tool_call' =>
  kind === 'function_call' || kind === 'custom_tool_call'

/** What an item says that is written down elsewhere than in parts. */
export const nameOfCall = ({ fields }: OutputItem): string => (typeof fields.name === 'string' ? fields.name : '')

/** A lane's answer, read: whatever the lane speaks, its frames become steps. */
export interface ItemEventSource {
  read(frame: Buffer): readonly ItemEvent[]
  /** The frames that come next, each of which is the one step that the last one was, with other words; undefined for none. */
  readTemplated(frames: FrameSplitter): TemplateRun | undefined
  readonly state: StreamState
  /** Undefined until the lane has said that the answer is complete, or why it is not. */
  ending(): AnswerEnding | undefined
}

/** Events that carry words: which part they belong to, and under which name the whole of it stands in the last one. */
export interface TextEvent {
  readonly kind: PartKind
  readonly stage: 'delta' | 'done'
  readonly wholeField: 'text' | 'refusal' | 'arguments' | 'input'
}

const pair = (name: string, kind: PartKind, wholeField: TextEvent['wholeField']): [string, TextEvent][] => [
  [`response.${name}.delta`, { kind, stage: 'delta', wholeField }],
  [`response.${name}.done`, { kind, stage: 'done', wholeField }],
]

export const TEXT_EVENTS: ReadonlyMap<string, TextEvent> = new Map([
  ...pair('output_text', 'output_text', 'text'),
  ...pair('refusal', 'refusal', 'refusal'),
  ...pair('reasoning_text', 'reasoning_text', 'text'),
  // The name that Open Responses has for the same thing.
  ...pair('reasoning', 'reasoning_text', 'text'),
  ...pair('reasoning_summary_text', 'summary_text', 'text'),
  ...pair('function_call_arguments', 'arguments', 'arguments'),
  ...pair('custom_tool_call_input', 'input', 'input'),
])

/** The item that a part belongs to. */
export const ITEM_OF_PART: Readonly<Record<PartKind, ItemKind>> = {
  output_text: 'message',
  refusal: 'message',
  reasoning_text: 'reasoning',
  summary_text: 'reasoning',
  arguments: 'function_call',
  input: 'custom_tool_call',
}

const ITEM_KINDS: ReadonlySet<unknown> = new Set<ItemKind>([
  'message',
  'reasoning',
  'function_call',
  'custom_tool_call',
  'compaction',
])

/** Items of tools that a provider runs itself, and items that nobody knows, are not for the client: undefined. */
export const itemKindOf = ({ type }: Fields): ItemKind | undefined =>
  ITEM_KINDS.has(type) ? (type as ItemKind) : undefined

const PART_KINDS: ReadonlyMap<unknown, PartKind> = new Map<unknown, PartKind>([
  ['output_text', 'output_text'],
  ['text', 'output_text'],
  ['refusal', 'refusal'],
  ['reasoning_text', 'reasoning_text'],
  ['summary_text', 'summary_text'],
])

export const partKindOf = ({ type }: Fields): PartKind | undefined => PART_KINDS.get(type)

/** The words of a whole part. */
export const wordsOfPart = (part: Fields, kind: PartKind): unknown => (kind === 'refusal' ? part.refusal : part.text)

/** Summaries are numbered by themselves, a call has one part, and everything else of an item is its content. */
export const indexOfPart = (event: Fields, kind: PartKind): number | undefined => {
  if (kind === 'arguments' || kind === 'input') return undefined
  const index = kind === 'summary_text' ? event.summary_index : event.content_index
  return typeof index === 'number' ? index : undefined
}

/** Items that mean something to every model. All others belong to hosted tools or to one client, and are left out. */
export type ForwardedItemType =
  | 'message'
  | 'reasoning'
  | 'function_call'
  | 'function_call_output'
  | 'custom_tool_call'
  | 'custom_tool_call_output'
  | 'additional_tools'
  /** One that its provider alone can read: every other has become a message by now. */
  | 'compaction'

const CARRIED: ReadonlySet<unknown> = new Set<ForwardedItemType>([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'additional_tools',
  'compaction',
])

/** Known items that go to no lane: of hosted tools, or of tools of one model or client. The conversation may have begun elsewhere. */
const LEFT_OUT: ReadonlySet<unknown> = new Set([
  ...['web_search_call', 'file_search_call', 'code_interpreter_call', 'image_generation_call'],
  ...['computer_call', 'computer_call_output', 'tool_search_call', 'tool_search_output'],
  ...['mcp_list_tools', 'mcp_call', 'mcp_approval_request', 'mcp_approval_response'],
  ...['local_shell_call', 'local_shell_call_output', 'shell_call', 'shell_call_output'],
  ...['apply_patch_call', 'apply_patch_call_output', 'program', 'program_output'],
  ...['configuration_update', 'agent_message', 'context_compaction'],
])

export const isLeftOutType = (type: unknown): boolean => LEFT_OUT.has(type)

export const isForwardedType = (type: unknown): type is ForwardedItemType => CARRIED.has(type)

/** Clients leave the type of a message out, and that of a reference. Undefined: it is neither. */
export function typeOfItem(item: Readonly<Fields>): unknown {
  if (!isAbsent(item.type)) return item.type
  if (!isAbsent(item.role)) return 'message'
  return typeof item.id === 'string' ? 'item_reference' : undefined
}

export const isOutputType = (type: unknown): boolean => typeof type === 'string' && type.endsWith('_output')

/** Whose `call_id` an output may answer: a call that goes to a model. */
export const isCallType = (type: unknown): boolean => type === 'function_call' || type === 'custom_tool_call'

/** How a response says that it is over. */
export type ResponseEnding =
  | { readonly kind: 'completed' }
  | { readonly kind: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly kind: 'failed'; readonly said: UpstreamError }

/** How an answer is over that is one. */
export type AnswerEnding = Exclude<ResponseEnding, { kind: 'failed' }>

/** From the last event of a stream, or from a whole response, whose status is all that it has. */
export function readEnding(response: Fields, event: string | undefined): ResponseEnding | undefined {
  const named = event === undefined ? undefined : ENDINGS.get(event)
  const said = typeof response.status === 'string' ? response.status : undefined
  // Servers that end every stream with `response.completed` tell the truth in the status.
  const status = said !== undefined && OVER.has(said) && (named ?? 'completed') === 'completed' ? said : named
  switch (status) {
    case 'completed':
      return { kind: 'completed' }
    case 'incomplete':
      return { kind: 'incomplete', reason: reasonOf(response.incomplete_details) }
    case 'failed':
    case 'cancelled':
      return { kind: 'failed', said: failureOf(response, status) }
    default:
      return undefined
  }
}

const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['response.completed', 'completed'],
  ['response.done', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['response.cancelled', 'cancelled'],
])

const OVER = new Set(['completed', 'incomplete', 'failed', 'cancelled'])

export const isEnding = (event: string): boolean => ENDINGS.has(event)

const reasonOf = (details: unknown): 'max_output_tokens' | 'content_filter' =>
  isObject(details) && details.reason === 'content_filter' ? 'content_filter' : 'max_output_tokens'

const failureOf = ({ error }: Fields, status: string): UpstreamError =>
  isObject(error) || typeof error === 'string'
    ? readError(error)
    : { message: `The provider's response has the status "${status}".`, code: undefined }
