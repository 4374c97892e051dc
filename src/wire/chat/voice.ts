import type { TurnEvent } from '../../model/event.ts'
import type { ChatRequest } from '../../model/turn.ts'
import type { CarriedFrame, Carrier } from '../carrier.ts'
import { createReplyCollector } from '../collect-reply.ts'
import type { EventReader } from '../event-reader.ts'
import type { MintIds } from '../mint-ids.ts'
import type { Voice } from '../voice.ts'
import { closingOfStream } from './close-answer.ts'
import { failureFrame } from './problem.ts'
import { type ChunkStamp, createEventWriter } from './write-events.ts'
import { writeReply } from './write-reply.ts'

export interface ChatVoiceOptions {
  readonly turn: ChatRequest
  /** The public id of the model that the client asked for. */
  readonly model: string
  readonly requestId: string
  readonly mint: Pick<MintIds, 'completionId'>
  /** Wall time in milliseconds. */
  readonly now: () => number
}

/** One answer in chat's words, whatever its lane speaks. */
export function openChatVoice({ turn, model, requestId, mint, now }: ChatVoiceOptions): Voice {
  const stamp: ChunkStamp = { id: mint.completionId(), created: Math.floor(now() / 1000), model }
  return {
    // A comment does, and whoever writes to the socket knows how to make one.
    keepAlive: () => undefined,
    translate: (reader) =>
      turn.delivery === 'json' ? carryReply(reader, stamp) : carryStream(reader, stamp, turn.wantsUsage),
    fail: (problem) => failureFrame(problem, requestId),
  }
}

const NOTHING: CarriedFrame = { bytes: undefined, isContent: false }

function carryStream(reader: EventReader, stamp: ChunkStamp, wantsUsage: boolean): Carrier {
  const writer = createEventWriter(stamp)
  const head = { id: stamp.id, created: stamp.created, systemFingerprint: undefined }
  return {
    heard: reader.heard,
    read(frame) {
      const events = reader.read(frame)
      return { bytes: writer.write(events), isContent: events.some(isContent) }
    },
    readAlike: () => undefined,
    close: (settled) => closingOfStream({ model: stamp.model, wantsUsage }, head, settled),
  }
}

/** Collected until its charge is known: the body is its own end. */
function carryReply(reader: EventReader, stamp: ChunkStamp): Carrier {
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
