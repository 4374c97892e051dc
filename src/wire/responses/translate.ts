import type { Fields } from '../../lib/is-object.ts'
import type { FinishReason, TurnEvent } from '../../model/event.ts'
import type { CarriedFrame, Carrier } from '../carrier.ts'
import { type EventReader, type Heard, nothingHeard } from '../event-reader.ts'
import { type CollectorOptions, createItemCollector, type ItemCollector, wasCut } from './collect-items.ts'
import type { Envelope } from './envelope.ts'
import { type ItemStatus, isWorthShowing, itemFields, type SealsShown } from './output-item.ts'
import { createEventWriter } from './write-events.ts'

/** Another protocol's answer on its way to a client. */
export interface Translation extends Pick<Carrier, 'read' | 'readAlike' | 'heard'> {
  /** What the answer has ended as. */
  ending(): { readonly reason: FinishReason; readonly output: readonly Fields[] }
  /** What of the items has not been handed out: something only where the answer has no content. */
  rest(): string
  /** The items that the client has been told of; one that is still open in this status. */
  openItems(openAs: ItemStatus): readonly Fields[]
  /** The same with what is sealed in them, whoever has asked for it: for who stores the response. */
  storedItems(): readonly Fields[]
  emptyDelta(): Buffer | undefined
}

export interface TranslationOptions extends CollectorOptions {
  readonly reader: EventReader
  readonly seals: SealsShown
}

const NOTHING: CarriedFrame = { bytes: undefined, isContent: false }

export function translateStream(options: TranslationOptions, envelope: Envelope): Translation {
  const collector = createItemCollector(options)
  const writer = createEventWriter(envelope, collector, options.seals)
  const heard = nothingHeard()
  let canGoOn = false
  return {
    heard,
    read(frame) {
      const events = hear(options.reader, collector, heard, frame)
      const { text, isContent } = writer.write()
      canGoOn = events.length === 1 && 'text' in events[0]! && writer.canGoOn
      heard.heldBytes = Math.min(heard.heldBytes + collector.unsaidBytes, heard.outputBytes)
      return text === '' ? NOTHING : { bytes: Buffer.from(text), isContent }
    },
    readAlike(frames) {
      const run = canGoOn ? options.reader.readAlike(frames) : undefined
      if (run === undefined) return undefined
      heard.outputBytes = options.reader.heard.outputBytes
      return { bytes: writer.goOn(run), isContent: true }
    },
    ending: () => ({ reason: reasonOf(collector), output: writer.openItems('incomplete') }),
    rest: () => writer.writeRest().text,
    openItems: writer.openItems,
    storedItems: writer.storedItems,
    emptyDelta: writer.emptyDelta,
  }
}

/** A client that wants JSON is told nothing before the whole. */
export function translateReply(options: TranslationOptions): Translation {
  const collector = createItemCollector(options)
  const heard = nothingHeard()
  const openItems = (openAs: ItemStatus, seals = options.seals) => {
    const shown = collector.items.filter(isWorthShowing)
    return shown.map((item, at) => itemFields(item, at === shown.length - 1 ? openAs : 'completed', seals))
  }
  const statusOfLast = ({ reason }: ItemCollector) =>
    reason === undefined || wasCut(reason) ? 'incomplete' : 'completed'
  return {
    heard,
    read(frame) {
      hear(options.reader, collector, heard, frame)
      heard.heldBytes = heard.outputBytes
      return NOTHING
    },
    readAlike: () => undefined,
    ending: () => ({ reason: reasonOf(collector), output: openItems(statusOfLast(collector)) }),
    rest: () => '',
    openItems: (openAs) => openItems(openAs),
    storedItems: () => openItems(statusOfLast(collector), 'shown'),
    emptyDelta: () => undefined,
  }
}

/** The reader may hold something back too, so what it has heard is taken over, not shared. */
function hear(reader: EventReader, collector: ItemCollector, heard: Heard, frame: Buffer): readonly TurnEvent[] {
  const events = reader.read(frame)
  for (const event of events) collector.take(event)
  Object.assign(heard, reader.heard)
  return events
}

function reasonOf({ reason }: ItemCollector): FinishReason {
  if (reason === undefined) throw new Error('an answer cannot be closed before its reader has told its end')
  return reason
}
