import type { Fields } from '../../lib/types.ts'
import type { Opaque } from '../../model/event.ts'
import type { StreamState } from '../shared/stream-state.ts'

/**
 * An answer as items, always in the order of the Responses grammar: items and parts do not interleave, and
 * each start has its end. Answers of lanes that speak Responses are read into these events, and every answer for a Responses
 * client is written from them.
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
  /** The provider's own event, for its other fields; undefined where it has none, or where the text came later. */
  readonly event: Fields | undefined
}

export interface AnnotationEvent {
  readonly type: 'annotation'
  readonly item: OutputItem
  readonly part: OutputPart
  readonly event: Fields
  readonly index: number
}

/**
 * The fields of events that we write ourselves. With `obfuscation`: padding hides text lengths from eavesdroppers, and a rewritten
 * event has another length.
 */
export const OUR_EVENT_FIELDS: ReadonlySet<string> = new Set([
  ...['type', 'sequence_number', 'obfuscation', 'item_id', 'output_index', 'content_index', 'summary_index'],
  ...['delta', 'text', 'refusal', 'arguments', 'input', 'name', 'logprobs', 'annotation', 'annotation_index'],
  ...['response_id', '__proto__'],
])

/** Whether a delta has more than its text and the fields that we write ourselves: nearly none has. */
export function hasProviderFields(delta: Fields): boolean {
  if (Array.isArray(delta.logprobs) && delta.logprobs.length > 0) return true
  for (const name in delta) if (!OUR_EVENT_FIELDS.has(name)) return true
  return false
}

const ITEM_KINDS = ['message', 'reasoning', 'function_call', 'custom_tool_call', 'compaction'] as const
export type ItemKind = (typeof ITEM_KINDS)[number]

/** A message and a reasoning have parts; a call has exactly one, its arguments or input. */
export type PartKind = 'output_text' | 'refusal' | 'reasoning_text' | 'summary_text' | 'arguments' | 'input'

export interface OutputItem {
  readonly kind: ItemKind
  /** The provider's own fields, as they came last. */
  fields: Fields
  /** The id of a call, where it was minted already. */
  readonly callId: string | undefined
  /** Sealed data that only its provider can read. */
  opaque: Opaque | undefined
  readonly parts: OutputPart[]
  /** Undefined until the item has ended. */
  status: 'completed' | 'incomplete' | undefined
}

export interface OutputPart {
  readonly kind: PartKind
  /** The provider's own index among the content, or among the summaries, of its item. It may have gaps. */
  readonly key: number
  /** The provider's own part, as it came last. */
  fields: Fields
  /** The provider's own event that ended its text, for the other fields of that event. */
  ended: Fields | undefined
  /** The provider has repeated the whole text. Text behind that is a repetition. */
  isWhole: boolean
  text: string
  readonly annotations: unknown[]
}

/** Reads the answer of a lane of any protocol into item events. */
export interface ItemEventSource {
  read(frame: Buffer): readonly ItemEvent[]
  /** Reads the last frame, whose only event was `last`, with another text; undefined where that would not be all. */
  readonly repeatDelta: ((last: DeltaEvent, text: string) => DeltaEvent) | undefined
  readonly state: StreamState
  /** Undefined until the lane has said that the answer is complete, or why it is not. */
  ending(): AnswerEnding | undefined
}

export type AnswerEnding =
  | { readonly kind: 'completed' }
  | { readonly kind: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }

/** A plain text of a message. Not the whole text that ends a part: one like it would have to agree with it. */
export const isRepeatable = (event: ItemEvent | undefined): event is DeltaEvent =>
  event?.type === 'delta' && event.part.kind === 'output_text' && event.event === undefined && !event.part.isWhole

export const isCall = (kind: ItemKind): kind is 'function_call' | 'custom_tool_call' =>
  kind === 'function_call' || kind === 'custom_tool_call'

/** Empty where a call has no name yet. */
export const nameOfCall = ({ fields }: OutputItem): string => (typeof fields.name === 'string' ? fields.name : '')

/** Undefined for the items of hosted tools and for unknown items, which the client does not get. */
export const itemKindOf = ({ type }: Fields): ItemKind | undefined => ITEM_KINDS.find((kind) => kind === type)

/** The item that a part belongs to. */
export const ITEM_OF_PART: Readonly<Record<PartKind, ItemKind>> = {
  output_text: 'message',
  refusal: 'message',
  reasoning_text: 'reasoning',
  summary_text: 'reasoning',
  arguments: 'function_call',
  input: 'custom_tool_call',
}

const PART_KINDS: ReadonlyMap<unknown, PartKind> = new Map<unknown, PartKind>([
  ['output_text', 'output_text'],
  ['text', 'output_text'],
  ['refusal', 'refusal'],
  ['reasoning_text', 'reasoning_text'],
  ['summary_text', 'summary_text'],
])

export const partKindOf = ({ type }: Fields): PartKind | undefined => PART_KINDS.get(type)

export const textOfPart = (part: Fields, kind: PartKind): unknown => (kind === 'refusal' ? part.refusal : part.text)

/** The provider's index of a part: among summaries, or among the content. A call has one part without an index. */
export function partKeyOf(event: Fields, kind: PartKind): number | undefined {
  if (kind === 'arguments' || kind === 'input') return undefined
  const key = kind === 'summary_text' ? event.summary_index : event.content_index
  return typeof key === 'number' ? key : undefined
}
