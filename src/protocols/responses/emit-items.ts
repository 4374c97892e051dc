import { assertNever, type Fields } from '../../lib/types.ts'
import type { MintIds } from '../shared/event-reader.ts'
import {
  annotationOf,
  deltaOf,
  endOfItem,
  endOfPart,
  startOfItem,
  startOfPart,
  type UnsentEvent,
} from './item-frames.ts'
import {
  type AnnotationEvent,
  type DeltaEvent,
  type ItemEvent,
  isCall,
  type OutputPart,
  type PartKind,
} from './item-events.ts'
import {
  type EmittedItem,
  type EmittedPart,
  emitItem,
  type ItemStatus,
  itemAtEnd,
  type Sealing,
  type SealsShown,
} from './write-item.ts'

export interface EmitOptions extends Sealing {
  readonly mint: MintIds
  readonly seals: SealsShown
  /** A client that has asked for summaries gets raw reasoning as one. */
  readonly rawReasoning: 'as-summary' | 'as-it-comes'
}

/** What the client is told of an answer's items: those that say something, in their order, without a gap between them. */
interface EmittedItems {
  /** What the client is told of a step. */
  follow(step: ItemEvent): readonly UnsentEvent[]
  /** The answer is over, in this way: what the client is told of that. */
  end(status: 'completed' | 'incomplete'): readonly UnsentEvent[]
  /** Where words are being told; undefined where no part is open. */
  place(): Place | undefined
  /** The items as the client knows them; one that is open has this status. */
  items(openAs?: ItemStatus): readonly Fields[]
  /** The same with what is sealed, whoever has asked for it: providers want it back. */
  storedItems(): readonly Fields[]
}

interface Place {
  readonly said: EmittedItem
  readonly part: EmittedPart
}

interface EmitState {
  readonly how: EmitOptions
  /** All that were begun, whether there is anything to be told of them or not. */
  readonly all: EmittedItem[]
  toldCount: number
  /**
   * An item that has come to its end stays open until another one follows or the answer ends: if the answer turns out to
   * have been cut, the last item that the client knows is the one that is incomplete.
   */
  last: EmittedItem | undefined
  open: Place | undefined
  /** Seals behind a message, of which nobody has been told yet. */
  readonly waiting: EmittedItem[]
  /** Annotations of a part that has no words yet. */
  early: AnnotationEvent[]
}

export function createItemEmitter(how: EmitOptions): EmittedItems {
  const saying: EmitState = { how, all: [], toldCount: 0, last: undefined, open: undefined, waiting: [], early: [] }
  const { all } = saying
  return {
    follow: (step) => follow(saying, saidOf(saying, step), step),
    end: (status) => endLast(saying, status),
    place: () => saying.open,
    items: (openAs = 'incomplete') => all.filter(isTold).map((said) => itemAtEnd(said, { ...how, openAs })),
    storedItems: () =>
      all.filter(isTold).map((said) => itemAtEnd(said, { ...how, seals: 'shown', openAs: 'incomplete' })),
  }
}

const isTold = ({ outputIndex }: EmittedItem): boolean => outputIndex !== undefined

/** Items come one after the other: a step belongs to the last one, or begins the next. */
function saidOf(saying: EmitState, { item }: ItemEvent): EmittedItem {
  const last = saying.all[saying.all.length - 1]
  if (last?.item === item) return last
  const said = emitItem(item, saying.how.mint)
  saying.all.push(said)
  saying.early = []
  return said
}

const NOTHING: readonly UnsentEvent[] = []

function follow(saying: EmitState, said: EmittedItem, step: ItemEvent): readonly UnsentEvent[] {
  switch (step.type) {
    case 'item-start':
      // A call says something by its name; a message or a reasoning is told of with its first words.
      return isCall(step.item.kind) ? tell(saying, said) : NOTHING
    case 'part-start':
      return isCall(step.item.kind) ? begin(saying, said, addPart(said, step.part, step.part.kind)) : NOTHING
    case 'delta':
      return sayWords(saying, said, step)
    case 'annotation':
      return annotate(saying, said, step)
    case 'part-end':
      return endPart(saying, said, step.part)
    case 'item-end':
      // That it is over is told when the next item is, or with the end of the answer. One with nothing but a seal is told of
      // here, even to who is not shown the seal: who refers to it by its id later sends the seal back.
      return step.item.opaque !== undefined && !waitsForCall(saying, said) ? tell(saying, said) : NOTHING
    default:
      return assertNever(step)
  }
}

/**
 * Some providers sign what they have said behind it. To who does not see the seal that is nothing behind the message, where
 * many look for the answer: it is told of when something follows that it has led to, and else not at all.
 */
function waitsForCall(saying: EmitState, said: EmittedItem): boolean {
  const waits = saying.how.seals === 'hidden' && !isTold(said) && saying.last?.item.kind === 'message'
  if (waits) saying.waiting.push(said)
  return waits
}

function tell(saying: EmitState, said: EmittedItem): readonly UnsentEvent[] {
  if (isTold(said)) return NOTHING
  const waiting = saying.waiting.splice(0)
  return [...waiting, said].flatMap((each) => tellNext(saying, each))
}

function tellNext(saying: EmitState, said: EmittedItem): readonly UnsentEvent[] {
  const before = endLast(saying, 'completed')
  said.outputIndex = saying.toldCount
  saying.toldCount += 1
  saying.last = said
  return [...before, startOfItem(said, saying.how)]
}

/** What a provider says of the item alone does not count: only the last of an answer that was cut is incomplete. */
function endLast({ last, how }: EmitState, status: 'completed' | 'incomplete'): readonly UnsentEvent[] {
  if (last === undefined || last.status !== undefined) return NOTHING
  last.status = status
  return [endOfItem(last, how)]
}

function addPart(said: EmittedItem, part: OutputPart, kind: PartKind): EmittedPart {
  const added = { part, kind, index: said.parts.length, around: undefined }
  said.parts.push(added)
  return added
}

/** A part is told of with its first words, and with it an item that has not been told of yet. */
function begin(saying: EmitState, said: EmittedItem, part: EmittedPart): readonly UnsentEvent[] {
  const annotations = saying.early.filter((step) => step.part === part.part)
  saying.early = []
  saying.open = { said, part }
  const started = [...tell(saying, said), ...startOfPart(said, part)]
  return [...started, ...annotations.map((step) => annotationOf(step, said, part))]
}

const partOf = ({ open }: EmitState, { parts }: EmittedItem, spoken: OutputPart): EmittedPart | undefined =>
  open?.part.part === spoken ? open.part : parts.find(({ part }) => part === spoken)

function sayWords(saying: EmitState, said: EmittedItem, step: DeltaEvent): readonly UnsentEvent[] {
  const known = partOf(saying, said, step.part)
  if (known !== undefined) return [deltaOf(step, said, known)]
  const kind = kindToTell(said, step.part.kind, saying.how.rawReasoning)
  if (kind === undefined) return NOTHING
  const part = addPart(said, step.part, kind)
  return [...begin(saying, said, part), deltaOf(step, said, part)]
}

/**
 * As what words are told; undefined for those that are not. A reasoning has summaries or a text, never both: its own
 * summary goes before its text, and what has been told cannot be taken back.
 */
function kindToTell({ parts }: EmittedItem, kind: PartKind, raw: EmitOptions['rawReasoning']): PartKind | undefined {
  if (kind === 'reasoning_text') {
    if (parts.some(({ part }) => part.kind === 'summary_text')) return undefined
    return raw === 'as-summary' ? 'summary_text' : kind
  }
  if (kind === 'summary_text' && parts.some((part) => part.kind === 'reasoning_text')) return undefined
  return kind
}

function annotate(saying: EmitState, said: EmittedItem, step: AnnotationEvent): readonly UnsentEvent[] {
  const part = partOf(saying, said, step.part)
  if (part !== undefined) return [annotationOf(step, said, part)]
  saying.early.push(step)
  return NOTHING
}

function endPart(saying: EmitState, said: EmittedItem, spoken: OutputPart): readonly UnsentEvent[] {
  const part = partOf(saying, said, spoken)
  saying.open = undefined
  return part === undefined ? NOTHING : endOfPart(said, part)
}
