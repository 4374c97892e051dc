import type { Fields } from '../../lib/is-object.ts'
import type { WordsRun } from '../alike-words.ts'
import { type ItemCollector, wasCut } from './collect-items.ts'
import type { Envelope } from './envelope.ts'
import {
  type ItemStatus,
  isWorthShowing,
  itemFields,
  type OutputItem,
  type OutputPart,
  type SealsShown,
} from './output-item.ts'
import {
  type OpenPart,
  openPart,
  writeDelta,
  writeDeltas,
  writeEmptyDelta,
  writePartAdded,
  writePartDone,
} from './write-part.ts'

/** Writes the items of an answer as events, one item at a time, as far as they have grown. */
export interface EventWriter {
  /** What is new since the last time, as frames. Nothing before the first content: until then the lane may be another. */
  write(): Written
  /** The last that was written was one delta of a part that had been begun before: more words of it can follow. */
  readonly canGoOn: boolean
  goOn(run: WordsRun): Buffer
  /** The same at the end of the answer, which may have no content. */
  writeRest(): Written
  /** The items that the client has been told of; one that is still open in this status. */
  openItems(openAs: ItemStatus): readonly Fields[]
  /** The same with what is sealed, whoever has asked for it. */
  storedItems(): readonly Fields[]
  /** An empty piece of what is being said; undefined while nothing is. */
  emptyDelta(): Buffer | undefined
}

export interface Written {
  readonly text: string
  /** There is a text, a reasoning, a refusal or a call in it. */
  readonly isContent: boolean
}

interface Writing {
  readonly envelope: Envelope
  readonly collector: ItemCollector
  readonly seals: SealsShown
  /** The items that the client has been told the end of. */
  readonly done: DoneItem[]
  /** The one after these, once the client has been told of it. */
  open: OpenItem | undefined
  saidContent: boolean
}

interface DoneItem {
  readonly item: OutputItem
  readonly status: ItemStatus
}

interface OpenItem {
  readonly item: OutputItem
  /** Which of its parts comes next, or is being written. */
  turn: number
  /** How many of them have been shown to their end. */
  partsDone: number
  part: OpenPart | undefined
}

export function createEventWriter(envelope: Envelope, collector: ItemCollector, seals: SealsShown): EventWriter {
  const writing: Writing = { envelope, collector, seals, done: [], open: undefined, saidContent: false }
  const writeRest = (): Written => {
    writing.saidContent = false
    const text = envelope.openingText() + writeItems(writing)
    return { text, isContent: writing.saidContent }
  }
  const writer = {
    canGoOn: false,
    write() {
      const part = writing.open?.part
      const written = collector.hasContent ? writeRest() : NOTHING
      // Whatever else is written ends a part or begins one.
      writer.canGoOn = part !== undefined && writing.open?.part === part && written.text !== ''
      return written
    },
    goOn(run: WordsRun) {
      if (writing.open?.part === undefined) throw new Error('words go on in a part that is not open')
      return writeDeltas(envelope, writing.open.part, run)
    },
    writeRest,
    openItems: (openAs: ItemStatus) => itemsTold(writing, openAs, seals),
    storedItems: () => itemsTold(writing, 'incomplete', 'shown'),
    emptyDelta() {
      const part = writing.open?.part
      return part && Buffer.from(writeEmptyDelta(envelope, part))
    },
  }
  return writer
}

const NOTHING: Written = { text: '', isContent: false }

function itemsTold({ done, open }: Writing, openAs: ItemStatus, seals: SealsShown): Fields[] {
  const told = done.map(({ item, status }) => itemFields(item, status, seals))
  return open === undefined ? told : [...told, itemFields(open.item, openAs, seals)]
}

/**
 * An item that has come to its end stays open until another one follows or the answer ends: if the answer turns out to
 * have been cut, the last item is the one that is incomplete.
 */
function writeItems(writing: Writing): string {
  const { items, reason } = writing.collector
  let said = ''
  for (;;) {
    const item = items[writing.done.length]
    if (item === undefined || !isWorthShowing(item)) return said
    if (writing.open === undefined) said += writeItemAdded(writing, item)
    said += writeParts(writing, item)
    const next = items[writing.done.length + 1]
    const isLast = next === undefined || !isWorthShowing(next)
    if (!item.ended || (isLast && reason === undefined)) return said
    const isCut = isLast && reason !== undefined && wasCut(reason)
    said += writeItemDone(writing, item, isCut ? 'incomplete' : 'completed')
  }
}

function writeItemAdded(writing: Writing, item: OutputItem): string {
  writing.open = { item, turn: 0, partsDone: 0, part: undefined }
  writing.saidContent ||= item.about.kind === 'call'
  const empty = itemFields({ ...item, parts: [] }, 'in_progress', writing.seals)
  return writing.envelope.frameText('response.output_item.added', { output_index: writing.done.length, item: empty })
}

function writeItemDone(writing: Writing, item: OutputItem, status: ItemStatus): string {
  const output_index = writing.done.length
  const finished = itemFields(item, status, writing.seals)
  const part = writing.open?.part
  const words = part === undefined ? '' : writePartDone(writing.envelope, part, item)
  writing.done.push({ item, status })
  writing.open = undefined
  return words + writing.envelope.frameText('response.output_item.done', { output_index, item: finished })
}

function writeParts(writing: Writing, item: OutputItem): string {
  const { envelope, collector, done, open } = writing
  if (open === undefined) return ''
  writing.saidContent ||= item.unsaidBytes > 0
  collector.unsaidBytes -= item.unsaidBytes
  item.unsaidBytes = 0
  let said = ''
  for (;;) {
    const part = item.parts[open.turn]
    if (part === undefined) return said
    if (open.part === undefined && (part.text !== '' || item.about.kind === 'call')) {
      open.part = openPart(part, { item, outputIndex: done.length, partIndex: open.partsDone })
      said += writePartAdded(envelope, open.part)
    }
    if (open.part !== undefined) said += writeDelta(envelope, open.part)
    if (!hasWordsBehind(item.parts, open.turn)) return said
    if (open.part !== undefined) {
      said += writePartDone(envelope, open.part, item)
      open.part = undefined
      open.partsDone += 1
    }
    open.turn += 1
  }
}

function hasWordsBehind(parts: readonly OutputPart[], turn: number): boolean {
  for (let at = turn + 1; at < parts.length; at += 1) if (parts[at]?.text !== '') return true
  return false
}
