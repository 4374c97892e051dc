import type { Fields } from '../../lib/is-object.ts'
import type { WordsRun } from '../alike-words.ts'
import { type Envelope, frameHead } from './envelope.ts'
import { logprobFields, type OutputItem, type OutputPart, partFields } from './output-item.ts'
import { PART_EVENTS } from './part-events.ts'

/** A part that the client has been told of and that may still grow. */
export interface OpenPart {
  readonly part: OutputPart
  readonly place: Fields
  /** A delta up to its number, and from there to its words: the same for all of a part, so made once. */
  readonly deltaHead: string
  readonly beforeWords: string
}

/** Where a part stands: its item, and its number in there. */
export interface PartPlace {
  readonly item: OutputItem
  readonly outputIndex: number
  readonly partIndex: number
}

export function openPart(part: OutputPart, { item, outputIndex, partIndex }: PartPlace): OpenPart {
  const { around, delta } = PART_EVENTS[part.kind]
  const place: Fields = { item_id: item.id, output_index: outputIndex }
  if (around !== undefined) place[around.index] = partIndex
  return {
    part,
    place,
    deltaHead: frameHead(delta),
    beforeWords: `,${JSON.stringify(place).slice(1, -1)},"delta":`,
  }
}

export function writePartAdded(envelope: Envelope, { part, place }: OpenPart): string {
  const { around } = PART_EVENTS[part.kind]
  if (around === undefined) return ''
  return envelope.frameText(around.added, { ...place, part: partFields({ ...part, text: '', logprobs: [] }) })
}

/** What has come since the last time. */
export function writeDelta(envelope: Envelope, open: OpenPart): string {
  const { part } = open
  if (part.unsaid === '' && part.unsaidLogprobs.length === 0) return ''
  const words = part.unsaid
  part.unsaid = ''
  if (part.kind !== 'output_text') return writeWords(envelope, open, words, '')
  if (part.unsaidLogprobs.length === 0) return writeWords(envelope, open, words, NO_LOGPROBS)
  const logprobs = JSON.stringify(part.unsaidLogprobs.map(logprobFields))
  part.unsaidLogprobs = []
  return writeWords(envelope, open, words, `,"logprobs":${logprobs}`)
}

/** The same of words that have been sent one by one: they are the part's, and none of them is left to be sent. */
export function writeDeltas(envelope: Envelope, open: OpenPart, { pieces, text }: WordsRun): Buffer {
  const { part, deltaHead, beforeWords } = open
  part.text += text
  const behind = part.kind === 'output_text' ? `"${NO_LOGPROBS}` : '"'
  return envelope.numberedRun(deltaHead, { before: `${beforeWords}"`, behind }, pieces)
}

/** Breaks a silence: every client takes it for a sign of life, and none sees anything new. */
export const writeEmptyDelta = (envelope: Envelope, open: OpenPart): string =>
  writeWords(envelope, open, '', open.part.kind === 'output_text' ? NO_LOGPROBS : '')

/** Clients with strict types want the list, however empty. */
const NO_LOGPROBS = ',"logprobs":[]'

const writeWords = (envelope: Envelope, open: OpenPart, words: string, behind: string): string =>
  envelope.numbered(open.deltaHead, `${open.beforeWords}${JSON.stringify(words)}${behind}`)

export function writePartDone(envelope: Envelope, { part, place }: OpenPart, { about }: OutputItem): string {
  const { done, words, around } = PART_EVENTS[part.kind]
  const told: Fields = { ...place, [words]: part.text }
  if (part.kind === 'output_text') told.logprobs = part.logprobs.map(logprobFields)
  if (part.kind === 'arguments' && about.kind === 'call') told.name = about.name
  const said = envelope.frameText(done, told)
  return around === undefined ? said : said + envelope.frameText(around.done, { ...place, part: partFields(part) })
}
