import type { Fields } from '../../lib/is-object.ts'
import type { Opaque } from '../../model/event.ts'
import type { Heard } from '../heard.ts'
import type { WordsRun } from '../sse/alike-words.ts'
import type { FrameSplitter } from '../sse/split-frames.ts'
import type { AnswerEnding } from './read-ending.ts'

/**
 * An answer as items, in the order of the grammar whatever came: items and their parts do not interleave, and each start
 * has its end. Every answer of a lane that speaks Responses is read into these steps, and every other one that a Responses
 * client is told; what is made of them (events, frames, or the items of a JSON answer) is the business of others.
 */
export type ItemStep =
  | { readonly type: 'item-start'; readonly item: SpokenItem }
  | { readonly type: 'part-start'; readonly item: SpokenItem; readonly part: SpokenPart }
  | DeltaStep
  | AnnotationStep
  | { readonly type: 'part-end'; readonly item: SpokenItem; readonly part: SpokenPart }
  | { readonly type: 'item-end'; readonly item: SpokenItem }

export interface DeltaStep {
  readonly type: 'delta'
  readonly item: SpokenItem
  readonly part: SpokenPart
  readonly text: string
  /** The provider's own event, for what else it says; undefined where it says nothing else, or came later. */
  readonly event: Fields | undefined
}

export interface AnnotationStep {
  readonly type: 'annotation'
  readonly item: SpokenItem
  readonly part: SpokenPart
  readonly event: Fields
  readonly index: number
}

export type ItemKind = 'message' | 'reasoning' | 'function_call' | 'custom_tool_call' | 'compaction'

/** A message and a reasoning have parts; a call has exactly one, its arguments or input. */
export type PartKind = 'output_text' | 'refusal' | 'reasoning_text' | 'summary_text' | 'arguments' | 'input'

export interface SpokenItem {
  readonly kind: ItemKind
  /** The provider's own fields, as they were heard last. */
  fields: Fields
  /** Of a call, where it has been minted already. */
  readonly callId: string | undefined
  /** What of it only its provider can read. */
  opaque: Opaque | undefined
  readonly parts: SpokenPart[]
  /** Undefined until it has ended. */
  status: 'completed' | 'incomplete' | undefined
}

export interface SpokenPart {
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
export const nameOfCall = ({ fields }: SpokenItem): string => (typeof fields.name === 'string' ? fields.name : '')

/** A lane's answer, read: whatever the lane speaks, its frames become steps. */
export interface StepSource {
  read(frame: Buffer): readonly ItemStep[]
  /** The frames that come next, each of which is the one step that the last one was, with other words; undefined for none. */
  readAlike(frames: FrameSplitter): WordsRun | undefined
  readonly heard: Heard
  /** Undefined until the lane has said that the answer is complete, or why it is not. */
  ending(): AnswerEnding | undefined
}
