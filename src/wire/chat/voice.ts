import type { TurnEvent } from '../../model/event.ts'
import type { ChatRequest, RequestBody } from '../../model/turn.ts'
import { createReplyCollector } from '../collect-reply.ts'
import type { EventReader } from '../event-reader.ts'
import type { MintIds } from '../mint-ids.ts'
import type { CarriedFrame, CarriedReply, Carrier, RelayVoice } from '../voice.ts'
import { closingOfReply, closingOfStream } from './close-answer.ts'
import type { ChatDialect } from './dialects.ts'
import { failureFrame } from './problem.ts'
import { readReply } from './read-reply.ts'
import { type ChatTapOptions, createChatTap } from './tap.ts'
import { type ChunkStamp, createEventWriter } from './write-events.ts'
import { writeReply } from './write-reply.ts'

/** A lane that speaks Chat itself: its bytes pass, mended where clients need it. */
interface ChatLane {
  /** The name that the lane has for the model. */
  readonly model: string
  readonly dialect: ChatDialect
}

export interface ChatVoice extends RelayVoice<ChatLane> {
  readonly protocol: 'chat'
}

interface ChatVoiceOptions {
  readonly turn: ChatRequest
  /** The id of the model as clients know it. */
  readonly model: string
  readonly requestId: string
  readonly mint: MintIds
  /** Wall time in milliseconds. */
  readonly now: () => number
}

/** One answer in Chat's words, whatever its lane speaks. */
export function openChatVoice({ turn, model, requestId, mint, now }: ChatVoiceOptions): ChatVoice {
  let stamp: ChunkStamp | undefined
  return {
    protocol: 'chat',
    // A comment does, and whoever writes to the socket knows how to make one.
    keepAlive: () => undefined,
    fail: (problem) => failureFrame(problem, requestId),
    relay: (lane) =>
      carryStream(turn, {
        laneModel: lane.model,
        publicModel: model,
        dialect: lane.dialect,
        mint,
        choices: turn.choices,
        now,
      }),
    relayReply: ({ body, value }, { dialect }) => carryReply(turn, body, value, { dialect, mint }),
    translate(reader) {
      stamp ??= { id: mint.completionId(), created: Math.floor(now() / 1000), model }
      return turn.delivery === 'json' ? translateReply(reader, stamp) : translateStream(reader, stamp, turn.wantsUsage)
    },
  }
}

/** A stream of a lane that speaks Chat, for a client that does: its frames pass, a tap listens. */
function carryStream(turn: ChatRequest, options: ChatTapOptions): Carrier {
  const { heard, read, readAlike } = createChatTap(options)
  return { heard, read, readAlike, close: (settled) => closingOfStream(turn, heard.head, settled) }
}

/** A JSON answer of a lane that speaks Chat, for a client that does. */
function carryReply(
  turn: ChatRequest,
  body: RequestBody,
  value: unknown,
  options: { readonly dialect: ChatDialect; readonly mint: MintIds },
): CarriedReply {
  const reply = readReply(body, value, options)
  if (reply.kind !== 'reply') return reply
  const { usage, outputBytes, rewritten } = reply
  return { kind: 'reply', usage, outputBytes, close: (settled) => closingOfReply(body, rewritten, turn, settled) }
}

const NOTHING: CarriedFrame = { bytes: undefined, isContent: false }

/** Another protocol's answer, streamed. */
function translateStream(reader: EventReader, stamp: ChunkStamp, wantsUsage: boolean): Carrier {
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
function translateReply(reader: EventReader, stamp: ChunkStamp): Carrier {
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
