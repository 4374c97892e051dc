import type { PartKind } from './output-item.ts'

/** The events by which one kind of part is told. */
export interface PartEvents {
  readonly delta: string
  /** All its words at once. */
  readonly done: string
  /** Under which name `done` has them. */
  readonly words: 'text' | 'refusal' | 'arguments' | 'input'
  /** What frames the words of a part that has a number in its item; a call has nothing around them. */
  readonly around: PartFrames | undefined
}

interface PartFrames {
  readonly added: string
  readonly done: string
  /** Under which name its number stands. */
  readonly index: 'content_index' | 'summary_index'
}

const CONTENT: PartFrames = {
  added: 'response.content_part.added',
  done: 'response.content_part.done',
  index: 'content_index',
}

const SUMMARY: PartFrames = {
  added: 'response.reasoning_summary_part.added',
  done: 'response.reasoning_summary_part.done',
  index: 'summary_index',
}

const events = (stem: string, words: PartEvents['words'], around: PartFrames | undefined): PartEvents => ({
  delta: `response.${stem}.delta`,
  done: `response.${stem}.done`,
  words,
  around,
})

export const PART_EVENTS: Readonly<Record<PartKind, PartEvents>> = {
  output_text: events('output_text', 'text', CONTENT),
  refusal: events('refusal', 'refusal', CONTENT),
  reasoning_text: events('reasoning_text', 'text', CONTENT),
  summary_text: events('reasoning_summary_text', 'text', SUMMARY),
  arguments: events('function_call_arguments', 'arguments', undefined),
  input: events('custom_tool_call_input', 'input', undefined),
}
