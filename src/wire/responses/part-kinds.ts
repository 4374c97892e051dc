import type { Fields } from '../../lib/is-object.ts'
import type { ItemKind, PartKind } from './spoken-item.ts'

/** Events that carry words: which part they belong to, and under which name the whole of it stands in the last one. */
export interface WordsEvent {
  readonly kind: PartKind
  readonly stage: 'delta' | 'done'
  readonly wholeField: 'text' | 'refusal' | 'arguments' | 'input'
}

const pair = (name: string, kind: PartKind, wholeField: WordsEvent['wholeField']): [string, WordsEvent][] => [
  [`response.${name}.delta`, { kind, stage: 'delta', wholeField }],
  [`response.${name}.done`, { kind, stage: 'done', wholeField }],
]

export const WORDS_EVENTS: ReadonlyMap<string, WordsEvent> = new Map([
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
