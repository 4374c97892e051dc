import { assertNever } from '../../lib/assert-never.ts'
import type { Fields } from '../../lib/is-object.ts'
import { latin1OfText } from '../json/rewrite-string.ts'
import { frameHead } from './envelope.ts'
import type { ItemStep, PartKind, SpokenPart } from './spoken-item.ts'
import { itemAtEnd, itemAtStart, logprobsOf, partAtEnd, partAtStart, type SaidItem } from './write-item.ts'

/** An event of the client's stream, before it has a number. */
export type UnsentEvent = readonly [type: string, fields: Fields]

/** The frames that a step becomes; `sealed` tells whether the client has asked for what only the provider can read. */
export function framesOf(step: ItemStep, said: SaidItem, sealed: 'shown' | 'hidden'): readonly UnsentEvent[] {
  switch (step.type) {
    case 'item-start':
      return [['response.output_item.added', { output_index: said.outputIndex, item: itemAtStart(said) }]]
    case 'part-start':
      return startOfPart(step.part, said)
    case 'delta':
      return [[`${NAMES[step.part.kind]}.delta`, deltaFields(said, step.part, step.text, step.event)]]
    case 'annotation': {
      const { annotation } = step.event
      const at = { ...addressOf(said, step.part), annotation_index: step.index, annotation }
      return [['response.output_text.annotation.added', withOwn(at, step.event)]]
    }
    case 'part-end':
      return endOfPart(step.part, said)
    case 'item-end':
      return [['response.output_item.done', { output_index: said.outputIndex, item: itemAtEnd(said, { sealed }) }]]
    default:
      return assertNever(step)
  }
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
export const emptyDelta = (said: SaidItem, part: SpokenPart): UnsentEvent => [
  `${NAMES[part.kind]}.delta`,
  deltaFields(said, part, '', undefined),
]

/** What is around the words of a delta behind its number, as a character for each byte. */
export function aroundWords({ part, event }: Extract<ItemStep, { type: 'delta' }>, said: SaidItem): AroundWords {
  const members = latin1OfText(`,${JSON.stringify(deltaFields(said, part, '', event)).slice(1, -1)}`)
  // Before them stand only ids and places.
  const at = members.indexOf('"delta":""') + '"delta":"'.length
  return { head: frameHead(`${NAMES[part.kind]}.delta`), before: members.slice(0, at), behind: members.slice(at) }
}

export interface AroundWords {
  readonly head: string
  readonly before: string
  readonly behind: string
}

function startOfPart(part: SpokenPart, said: SaidItem): readonly UnsentEvent[] {
  if (part.kind === 'arguments' || part.kind === 'input') return []
  const fields = { ...addressOf(said, part), part: partAtStart(part) }
  return [
    [part.kind === 'summary_text' ? 'response.reasoning_summary_part.added' : 'response.content_part.added', fields],
  ]
}

function endOfPart(part: SpokenPart, said: SaidItem): readonly UnsentEvent[] {
  const { kind, text } = part
  const done = `${NAMES[kind]}.done`
  const at = addressOf(said, part)
  if (kind === 'arguments') {
    const { name } = said.item.fields
    return [[done, withOwn({ ...at, name, arguments: text }, part.ended)]]
  }
  if (kind === 'input') return [[done, withOwn({ ...at, input: text }, part.ended)]]
  const words =
    kind === 'refusal' ? { refusal: text } : kind === 'output_text' ? { text, logprobs: logprobsOf(part) } : { text }
  const ended = kind === 'summary_text' ? 'response.reasoning_summary_part.done' : 'response.content_part.done'
  return [
    [done, withOwn({ ...at, ...words }, part.ended)],
    [ended, { ...at, part: partAtEnd(part) }],
  ]
}

function addressOf({ id, outputIndex }: SaidItem, { kind, index }: SpokenPart): Fields {
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

function deltaFields(said: SaidItem, part: SpokenPart, delta: string, event: Fields | undefined): Fields {
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
