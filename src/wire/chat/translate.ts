import type { TurnEvent } from '../../model/event.ts'
import type { CarriedFrame, Carrier } from '../carrier.ts'
import { createReplyCollector } from '../collect-reply.ts'
import type { EventReader } from '../event-reader.ts'
import { closingOfStream } from './close-answer.ts'
import { type ChunkStamp, createEventWriter } from './write-events.ts'
import { writeReply } from './write-reply.ts'

const NOTHING: CarriedFrame = { bytes: undefined, isContent: false }

/** Another protocol's answer, streamed. */
export function translateStream(reader: EventReader, stamp: ChunkStamp, wantsUsage: boolean): Carrier {
  const writer = createEventWriter(stamp)
  const head = { id: stamp.id, created: stamp.created, systemFingerprint: undefined }
  return {
    heard: reader.heard,
    read(frame) {
      const events = reader.read(frame)
      return { bytes: writer.write(events), isContent: events.some(isContent) }
    },
    readAlike(frames) {
      const run = writer.canGoOn ? reader.readAlike(frames) : undefined
      return run && { bytes: writer.goOn(run), isContent: true }
    },
    close: (settled) => closingOfStream({ model: stamp.model, wantsUsage }, head, settled),
  }
}

/** The same as JSON, collected until its charge is known: the body is its own end. */
export function translateReply(reader: EventReader, stamp: ChunkStamp): Carrier {
  const collector = createReplyCollector()
  return {
    heard: reader.heard,
    read(frame) {
      for (const event of reader.read(frame)) collector.add(event)
      return NOTHING
    },
    readAlike: () => undefined,
    close: (settled) => writeReply(collector.reply(), stamp, settled),
  }
}

function isContent(event: TurnEvent): boolean {
  switch (event.type) {
    case 'text-delta':
    case 'refusal-delta':
    case 'reasoning-delta':
    case 'summary-delta':
    case 'tool-call-delta':
      return event.text !== ''
    case 'tool-call-start':
      return true
    default:
      return false
  }
}
