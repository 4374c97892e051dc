import type { TurnEvent } from '../../model/event.ts'
import { type Problem, streamEnvelope } from '../../model/problem.ts'
import type { ChatRequest } from '../../model/turn.ts'
import {
  type EncodedReply,
  type EventReader,
  type MintIds,
  NOTHING_ENCODED,
  type ReceivedReply,
  type RelayEncoder,
  type StreamAdapter,
} from '../shared/codec-types.ts'
import { createReplyCollector } from '../shared/collect-reply.ts'
import { dataFrame } from '../sse/frames.ts'
import type { ChatDialect } from './dialects.ts'
import { type ReplyOptions, readReply } from './read-reply.ts'
import { type ChatTapOptions, createChatTap } from './tap.ts'
import { type ChunkStamp, closingOfReply, closingOfStream, createEventWriter, writeReply } from './write-events.ts'

/** A lane that speaks Chat itself: its bytes pass, mended where clients need it. */
interface ChatLane {
  /** The name that the lane has for the model. */
  readonly model: string
  readonly dialect: ChatDialect
}

export interface ChatEncoder extends RelayEncoder<ChatLane> {
  readonly protocol: 'chat'
}

interface ChatEncoderOptions {
  readonly request: ChatRequest
  /** The id of the model as clients know it. */
  readonly model: string
  readonly requestId: string
  readonly mint: MintIds
  /** Wall time in milliseconds. */
  readonly now: () => number
}

/** One answer in Chat's words, whatever its lane speaks. */
export function createChatEncoder({ request, model, requestId, mint, now }: ChatEncoderOptions): ChatEncoder {
  let stamp: ChunkStamp | undefined
  return {
    protocol: 'chat',
    // A comment does, and whoever writes to the socket knows how to make one.
    keepAlive: () => undefined,
    fail: (problem) => failureFrame(problem, requestId),
    relay: (lane) =>
      relayStream(request, {
        laneModel: lane.model,
        publicModel: model,
        dialect: lane.dialect,
        mint,
        choices: request.choices,
        functionForm: request.functionForm,
        now,
      }),
    relayReply: (reply, { dialect }) =>
      carryReply(request, reply, { dialect, mint, choices: request.choices, functionForm: request.functionForm }),
    translate(reader) {
      stamp ??= { id: mint.completionId(), created: Math.floor(now() / 1000), model }
      return request.delivery === 'json'
        ? translateReply(reader, stamp)
        : translateStream(reader, stamp, request.wantsUsage)
    },
  }
}

/** A stream of a lane that speaks Chat, for a client that does: its frames pass, a tap listens. */
function relayStream(request: ChatRequest, options: ChatTapOptions): StreamAdapter {
  const { state, read, readTemplated } = createChatTap(options)
  return {
    state,
    read,
    readTemplated,
    close: (settled) => closingOfStream(request, state.head, settled),
  }
}

/** A JSON answer of a lane that speaks Chat, for a client that does. */
function carryReply(request: ChatRequest, { body, value }: ReceivedReply, options: ReplyOptions): EncodedReply {
  const reply = readReply(value, options)
  if (reply.kind !== 'reply') return reply
  const { usage, outputBytes, rewritten } = reply
  return { kind: 'reply', usage, outputBytes, close: (settled) => closingOfReply(body, rewritten, request, settled) }
}

/** Another protocol's answer, streamed. */
function translateStream(reader: EventReader, stamp: ChunkStamp, wantsUsage: boolean): StreamAdapter {
  const writer = createEventWriter(stamp)
  const head = { id: stamp.id, created: stamp.created, systemFingerprint: undefined }
  return {
    state: reader.state,
    read(frame) {
      const events = reader.read(frame)
      return { bytes: writer.write(events), isContent: events.some(isContent) }
    },
    close: (settled) => closingOfStream({ model: stamp.model, wantsUsage }, head, settled),
  }
}

/** The same as JSON, collected until its charge is known: the body is its own end. */
function translateReply(reader: EventReader, stamp: ChunkStamp): StreamAdapter {
  const collector = createReplyCollector()
  return {
    state: reader.state,
    read(frame) {
      for (const event of reader.read(frame)) collector.add(event)
      return NOTHING_ENCODED
    },
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

/**
 * How Chat says that an answer broke off: an error frame and the end, without `[DONE]` and without a finish reason. SDKs
 * throw on the frame; a stream that merely ends would pass for a whole answer.
 */
const failureFrame = (subject: Problem, requestId: string): Buffer => dataFrame(streamEnvelope(subject, requestId))
