import type { TurnEvent } from '../../model/event.ts'
import { streamEnvelope } from '../../model/problem.ts'
import type { ChatRequest } from '../../model/turn.ts'
import {
  type EventReader,
  holdCalls,
  type MintIds,
  NOTHING_ENCODED,
  type RelayEncoder,
  type StreamAdapter,
} from '../shared/codec-types.ts'
import { createReplyCollector } from '../shared/collect-reply.ts'
import { DONE_FRAME, dataFrame } from '../sse/frames.ts'
import { RepeatedText } from '../sse/repeated-text.ts'
import type { ChatDialect } from './dialects.ts'
import { readReply } from './read-reply.ts'
import { ChatTap } from './tap.ts'
import { type ChunkStamp, ChunkWriter, closingWithUsage, writeReply } from './write-events.ts'

/** A lane that speaks Chat itself: its frames are relayed, and repaired where clients need it. */
interface ChatLane {
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
  /** A stream that begins with a tool call is held back until it is complete. */
  readonly holdsCalls?: boolean | undefined
}

/** Encodes one answer as Chat Completions, whatever its lane speaks. */
export function createChatEncoder(options: ChatEncoderOptions): ChatEncoder {
  const { request, model, requestId, mint, now, holdsCalls } = options
  let stamp: ChunkStamp | undefined
  return {
    protocol: 'chat',
    // A comment will do, and the sink writes it.
    keepAlive: () => undefined,
    /**
     * An error frame and the end, without `[DONE]` and without a finish reason. SDKs throw on the frame; a stream that merely
     * ends would pass for a whole answer.
     */
    fail: (problem) => dataFrame(streamEnvelope(problem, requestId)),
    relay({ dialect }) {
      const tap = new ChatTap({ publicModel: model, dialect, mint, request, now })
      return holdsCalls ? holdCalls(tap) : tap
    },
    relayReply: (reply, { dialect }) => readReply(reply, { dialect, mint, request }),
    translate(reader) {
      stamp ??= { id: mint.completionId(), created: Math.floor(now() / 1000), model }
      if (request.delivery === 'json') return translateReply(reader, stamp)
      const adapter = translateStream(reader, stamp, request.wantsUsage)
      return holdsCalls ? holdCalls(adapter) : adapter
    },
  }
}

function translateStream(reader: EventReader, stamp: ChunkStamp, wantsUsage: boolean): StreamAdapter {
  const writer = new ChunkWriter(stamp)
  const head = { id: stamp.id, created: stamp.created, systemFingerprint: undefined }
  const repeated = new RepeatedText()
  let end: Buffer | undefined
  return {
    state: reader.state,
    read(frame) {
      const events = reader.read(frame)
      // A usage counts up to the text that it came with.
      repeated.learn(frame, reader.repeatText && reader.state.usage === undefined ? onlyText(events) : undefined)
      return { bytes: writer.write(events), isContent: events.some(isContent) }
    },
    readRepeated(frames) {
      const texts = repeated.take(frames)
      if (texts.length === 0) return undefined
      for (const text of texts) reader.repeatText?.(text)
      return { bytes: writer.write(texts.map((text) => ({ type: 'text-delta', text }))), isContent: true }
    },
    close(settled) {
      // The reader may wait for the end of the stream with its last events.
      end ??= Buffer.from(writer.write(reader.read(DONE_FRAME)) ?? '')
      return Buffer.concat([end, wantsUsage ? closingWithUsage(stamp.model, head, settled) : DONE_FRAME])
    },
  }
}

/** Collects the answer until its charge is known, because a JSON body has the charge in it. */
function translateReply(reader: EventReader, stamp: ChunkStamp): StreamAdapter {
  const collector = createReplyCollector()
  return {
    state: reader.state,
    read(frame) {
      for (const event of reader.read(frame)) collector.add(event)
      return NOTHING_ENCODED
    },
    close(settled) {
      for (const event of reader.read(DONE_FRAME)) collector.add(event)
      return writeReply(collector.reply(), stamp, settled)
    },
  }
}

/** The text of a message, where a frame gave no other event. */
function onlyText(events: readonly TurnEvent[]): string | undefined {
  const [event] = events
  return events.length === 1 && event?.type === 'text-delta' && event.logprobs === undefined ? event.text : undefined
}

const isContent = (event: TurnEvent): boolean =>
  event.type === 'tool-call-start' || ('text' in event && event.text !== '')
