import type { Fields } from '../../lib/types.ts'
import { latin1OfText } from '../json/strings.ts'
import { type AnnotationEvent, type DeltaEvent, nameOfCall, type PartKind } from './item-events.ts'
import { createResponseObject, type ResponseOptions, type ResponseState } from './response-object.ts'
import {
  type EmittedItem,
  type EmittedPart,
  type HowShown,
  itemAtEnd,
  itemAtStart,
  logprobsOf,
  partAtEnd,
  partAtStart,
  type TextEnvelope,
} from './write-item.ts'

/** An event of the client's stream, before it has a number; words with nothing beside them are most of all events. */
export type UnsentEvent = readonly [type: string, fields: Fields] | UnsentWords

interface UnsentWords {
  readonly around: TextEnvelope
  readonly text: string
}

/** With its number. */
export const frameText = (framing: Framing, event: UnsentEvent): string =>
  'around' in event ? wordsText(framing, event) : framing.frame(...event)

const wordsText = (framing: Framing, { around: { head, before, behind }, text }: UnsentWords): string =>
  framing.numbered(head, before + JSON.stringify(text).slice(1, -1) + behind)

export const startOfItem = (said: EmittedItem, how: HowShown): UnsentEvent => [
  'response.output_item.added',
  { output_index: said.outputIndex, item: itemAtStart(said, how) },
]

export const endOfItem = (said: EmittedItem, how: HowShown): UnsentEvent => [
  'response.output_item.done',
  { output_index: said.outputIndex, item: itemAtEnd(said, how) },
]

export const deltaOf = (step: DeltaEvent, said: EmittedItem, part: EmittedPart): UnsentEvent =>
  step.event === undefined
    ? { around: aroundPlainWords(said, part), text: step.text }
    : [`${NAMES[part.kind]}.delta`, deltaFields(said, part, step.text, step.event)]

export function annotationOf({ event, index }: AnnotationEvent, said: EmittedItem, part: EmittedPart): UnsentEvent {
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
export const emptyDelta = (said: EmittedItem, part: EmittedPart): UnsentEvent => ({
  around: aroundPlainWords(said, part),
  text: '',
})

/** What is around the words of a delta, for others that say the same beside them. */
export const textEnvelope = ({ event }: DeltaEvent, said: EmittedItem, part: EmittedPart): TextEnvelope =>
  event === undefined ? aroundPlainWords(said, part) : around(event, said, part)

/** Nothing of it is the provider's: it is the same as text. */
function aroundPlainWords(said: EmittedItem, part: EmittedPart): TextEnvelope {
  part.around ??= around(undefined, said, part)
  return part.around
}

function around(event: Fields | undefined, said: EmittedItem, part: EmittedPart): TextEnvelope {
  const members = latin1OfText(`,${JSON.stringify(deltaFields(said, part, '', event)).slice(1, -1)}`)
  // Before them stand only ids and places.
  const at = members.indexOf('"delta":""') + '"delta":"'.length
  return { head: frameHead(`${NAMES[part.kind]}.delta`), before: members.slice(0, at), behind: members.slice(at) }
}

export function startOfPart(said: EmittedItem, part: EmittedPart): readonly UnsentEvent[] {
  if (part.kind === 'arguments' || part.kind === 'input') return []
  const fields = { ...addressOf(said, part), part: partAtStart(part) }
  return [
    [part.kind === 'summary_text' ? 'response.reasoning_summary_part.added' : 'response.content_part.added', fields],
  ]
}

export function endOfPart(said: EmittedItem, shown: EmittedPart): readonly UnsentEvent[] {
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

function addressOf({ id, outputIndex }: EmittedItem, { kind, index }: EmittedPart): Fields {
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

function deltaFields(said: EmittedItem, part: EmittedPart, delta: string, event: Fields | undefined): Fields {
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

/**
 * What all frames of one answer share: the response that they tell of, and their numbers without a gap. One per turn; it
 * outlives a lane that failed before any content. Frames come as text, so that several leave as one Buffer, and get
 * their number when they are made: whatever is made has to be sent, in this order.
 */
export interface Framing {
  /** True once `response.created` has been said. */
  readonly isOpen: boolean
  /** `response.created` and `response.in_progress`, unless they have been said; nothing then. Comes before any other frame. */
  opening(): string
  /** One frame. Its type comes first, then its number, whatever the fields say of these two. */
  frame(type: string, fields: Fields): string
  /** One frame whose head was made by `frameHead`, and whose other members are JSON already, each behind a comma. */
  numbered(head: string, members: string): string
  /** Frames that differ in their words, which stand as a JSON string inside their members; all as a character for each byte. */
  numberedRun(
    head: string,
    around: { readonly before: string; readonly behind: string },
    pieces: readonly string[],
  ): Buffer
  /** One frame with the whole response object. */
  responseFrame(type: string, state: ResponseState): string
  /** The whole response object in a state. */
  responseJson(state: ResponseState): string
  /** From here on the body of the request is not needed. */
  forgetBody(): void
  /** A way back to here: what is made from now on will not be sent. */
  bookmark(): () => void
}

export const createFraming = (options: ResponseOptions): Framing => {
  const object = createResponseObject(options)
  let nextNumber = 0
  const framing = {
    isOpen: false,
    opening() {
      if (framing.isOpen) return ''
      framing.isOpen = true
      const begun = `,"response":${object.json({ status: 'in_progress', output: [] })}`
      return ['response.created', 'response.in_progress']
        .map((type) => framing.numbered(frameHead(type), begun))
        .join('')
    },
    frame(type: string, fields: Fields) {
      const { type: _type, sequence_number: _number, ...others } = fields
      const members = JSON.stringify(others).slice(1, -1)
      return framing.numbered(frameHead(type), members === '' ? '' : `,${members}`)
    },
    numbered(head: string, members: string) {
      const number = nextNumber
      nextNumber += 1
      return `${head}${number}${members}}\n\n`
    },
    numberedRun(head: string, { before, behind }: { before: string; behind: string }, pieces: readonly string[]) {
      let frames = ''
      for (const piece of pieces) frames += framing.numbered(head, before + piece + behind)
      return Buffer.from(frames, 'latin1')
    },
    responseFrame: (type: string, state: ResponseState) =>
      framing.numbered(frameHead(type), `,"response":${object.json(state)}`),
    responseJson: object.json,
    forgetBody: object.forgetBody,
    bookmark() {
      const then = { nextNumber, isOpen: framing.isOpen }
      return () => {
        nextNumber = then.nextNumber
        framing.isOpen = then.isOpen
      }
    },
  }
  return framing
}

/** A frame up to its number. The event's name is its type once more: clients look at one or the other. */
const frameHead = (type: string): string => `event: ${type}\ndata: {"type":"${type}","sequence_number":`
