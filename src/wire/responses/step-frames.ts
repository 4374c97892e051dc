import type { Fields } from '../../lib/is-object.ts'
import { latin1OfText } from '../json/strings.ts'
import { type Framing, frameHead } from './framing.ts'
import { type AnnotationStep, type DeltaStep, nameOfCall, type PartKind } from './spoken-item.ts'
import {
  type AroundWords,
  type HowShown,
  itemAtEnd,
  itemAtStart,
  logprobsOf,
  partAtEnd,
  partAtStart,
  type SaidItem,
  type SaidPart,
} from './write-item.ts'

/** An event of the client's stream, before it has a number; words with nothing beside them are most of all events. */
export type UnsentEvent = readonly [type: string, fields: Fields] | UnsentWords

interface UnsentWords {
  readonly around: AroundWords
  readonly text: string
}

/** With its number. */
export const frameText = (framing: Framing, event: UnsentEvent): string =>
  'around' in event ? wordsText(framing, event) : framing.frame(...event)

const wordsText = (framing: Framing, { around: { head, before, behind }, text }: UnsentWords): string =>
  framing.numbered(head, before + JSON.stringify(text).slice(1, -1) + behind)

export const startOfItem = (said: SaidItem, how: HowShown): UnsentEvent => [
  'response.output_item.added',
  { output_index: said.outputIndex, item: itemAtStart(said, how) },
]

export const endOfItem = (said: SaidItem, how: HowShown): UnsentEvent => [
  'response.output_item.done',
  { output_index: said.outputIndex, item: itemAtEnd(said, how) },
]

export const deltaOf = (step: DeltaStep, said: SaidItem, part: SaidPart): UnsentEvent =>
  step.event === undefined
    ? { around: aroundPlainWords(said, part), text: step.text }
    : [`${NAMES[part.kind]}.delta`, deltaFields(said, part, step.text, step.event)]

export function annotationOf({ event, index }: AnnotationStep, said: SaidItem, part: SaidPart): UnsentEvent {
  const at = { ...addressOf(said, part), annotation_index: index, annotation: event.annotation }
  return ['response.output_text.annotation.added', withOwn(at, event)]
}

const NAMES: Readonly<Record<PartKind, string>> = {
  output_text: 'response.output_text',
  refusal: 'response.refusal',
  reasoning_text: 'response.reasoning_text',
  summary_text: 'response.reasoning_summary_text',
  arguments: 'response.function_call_arguments',
  input: 'response.custom_tool_call_input',
}

/** An empty delta breaks a silence: every client takes it, and nothing is said by it. */
export const emptyDelta = (said: SaidItem, part: SaidPart): UnsentEvent => ({
  around: aroundPlainWords(said, part),
  text: '',
})

/** What is around the words of a delta, for others that say the same beside them. */
export const aroundWords = ({ event }: DeltaStep, said: SaidItem, part: SaidPart): AroundWords =>
  event === undefined ? aroundPlainWords(said, part) : around(event, said, part)

/** Nothing of it is the provider's: it is the same as text. */
function aroundPlainWords(said: SaidItem, part: SaidPart): AroundWords {
  part.around ??= around(undefined, said, part)
  return part.around
}

function around(event: Fields | undefined, said: SaidItem, part: SaidPart): AroundWords {
  const members = latin1OfText(`,${JSON.stringify(deltaFields(said, part, '', event)).slice(1, -1)}`)
  // Before them stand only ids and places.
  const at = members.indexOf('"delta":""') + '"delta":"'.length
  return { head: frameHead(`${NAMES[part.kind]}.delta`), before: members.slice(0, at), behind: members.slice(at) }
}

export function startOfPart(said: SaidItem, part: SaidPart): readonly UnsentEvent[] {
  if (part.kind === 'arguments' || part.kind === 'input') return []
  const fields = { ...addressOf(said, part), part: partAtStart(part) }
  return [
    [part.kind === 'summary_text' ? 'response.reasoning_summary_part.added' : 'response.content_part.added', fields],
  ]
}

export function endOfPart(said: SaidItem, shown: SaidPart): readonly UnsentEvent[] {
  const { kind, part } = shown
  const { text } = part
  const done = `${NAMES[kind]}.done`
  const at = addressOf(said, shown)
  if (kind === 'arguments') {
    // A name that is none is empty in the item too.
    return [[done, withOwn({ ...at, name: nameOfCall(said.item), arguments: text }, part.ended)]]
  }
  if (kind === 'input') return [[done, withOwn({ ...at, input: text }, part.ended)]]
  const words =
    kind === 'refusal' ? { refusal: text } : kind === 'output_text' ? { text, logprobs: logprobsOf(part) } : { text }
  const ended = kind === 'summary_text' ? 'response.reasoning_summary_part.done' : 'response.content_part.done'
  return [
    [done, withOwn({ ...at, ...words }, part.ended)],
    [ended, { ...at, part: partAtEnd(shown) }],
  ]
}

function addressOf({ id, outputIndex }: SaidItem, { kind, index }: SaidPart): Fields {
  switch (kind) {
    case 'arguments':
    case 'input':
      return { item_id: id, output_index: outputIndex }
    case 'summary_text':
      return { item_id: id, output_index: outputIndex, summary_index: index }
    default:
      return { item_id: id, output_index: outputIndex, content_index: index }
  }
}

function deltaFields(said: SaidItem, part: SaidPart, delta: string, event: Fields | undefined): Fields {
  const fields = addressOf(said, part)
  fields.delta = delta
  if (part.kind === 'output_text') fields.logprobs = Array.isArray(event?.logprobs) ? event.logprobs : []
  return withOwn(fields, event)
}

/** What a provider says beyond what we have written ourselves stays. */
function withOwn(fields: Fields, event: Fields | undefined): Fields {
  for (const name in event) if (!OURS.has(name)) fields[name] = event[name]
  return fields
}

/** Padding hides lengths from who listens on the way; what is written anew has other lengths. */
const OURS = new Set([
  ...['type', 'sequence_number', 'obfuscation', 'item_id', 'output_index', 'content_index', 'summary_index'],
  ...['delta', 'text', 'refusal', 'arguments', 'input', 'name', 'logprobs', 'annotation', 'annotation_index'],
  ...['response_id', '__proto__'],
])
