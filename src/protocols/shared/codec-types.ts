import { type RandomBytes, randomId } from '../../lib/random-id.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { TurnEvent } from '../../model/event.ts'
import type { Problem, Refused } from '../../model/problem.ts'
import type { Compacted, RequestBody, TurnRequest } from '../../model/turn.ts'
import type { Usage } from '../../model/price.ts'
import type { UpstreamError } from '../refusals/provider-error.ts'
import type { FrameSplitter } from '../sse/frames.ts'
import type { StreamState } from './stream-state.ts'

/**
 * A client's language, spoken: one answer from its first byte to its last. It is opened once per turn and outlives a lane
 * that failed before any content: the ids and numbers that a client has seen go on.
 */
export interface ClientEncoder {
  /** What breaks a silence; undefined where a comment will do. Called at any moment before the end. */
  keepAlive(): Buffer | undefined
  /** Writes another protocol's answer, event by event; whatever an earlier carrier has held back is forgotten. */
  translate(reader: EventReader): StreamAdapter
  /** How it is said that the answer has failed, once its head has gone: the last bytes of the stream. */
  fail(problem: Problem): Buffer
}

/** Of a client whose language lanes speak, too: what such a lane says is relayed. */
export interface RelayEncoder<RelayedLane> extends ClientEncoder {
  relay(lane: RelayedLane): StreamAdapter
  /** The same of a JSON answer. */
  relayReply(reply: ReceivedReply, lane: RelayedLane): EncodedReply
}

/** A JSON answer as it came, and what it says. */
export interface ReceivedReply {
  readonly body: RequestBody
  readonly value: unknown
}

/** What carries one lane's answer to the client: frames in, the client's bytes out. */
export interface StreamAdapter {
  read(frame: Buffer): EncodedFrame
  /** The next frames that differ from the last one only in their text, as one piece; undefined for none. Only the Chat relay has it. */
  readTemplated?(frames: FrameSplitter): EncodedFrame | undefined
  readonly state: StreamState
  /** What says that the answer is complete: the last bytes of a stream, or the JSON body. Only after `heard.finished`. */
  close(settled: SettledCharge): Buffer
  /** Of a conversation that was made short: what stands in its place. Only after `heard.finished`. */
  compactedSize?(): CompactedSize
}

/** What a model will read of a conversation that was made short. */
export interface CompactedSize {
  readonly bytes: number
  /** Beside these there is what its provider alone can read: about as long as what it has counted as its answer. */
  readonly hasSealed: boolean
}

export interface EncodedFrame {
  /** Undefined when nothing of it is for the client, or not yet. */
  readonly bytes: Buffer | undefined
  /** There is text, reasoning, a refusal or a tool call in the bytes. */
  readonly isContent: boolean
}

/** Of a frame that tells its client nothing, or not yet. */
export const NOTHING_ENCODED: EncodedFrame = { bytes: undefined, isContent: false }

/** A lane's JSON answer, for a client of the same protocol. */
export type EncodedReply =
  | {
      readonly kind: 'reply'
      readonly usage: Usage | undefined
      readonly outputBytes: number
      close(settled: SettledCharge): Buffer
    }
  | { readonly kind: 'error'; readonly said: UpstreamError }
  | { readonly kind: 'invalid'; readonly what: string }

/** A lane's language, read: the frames of one streamed answer become events. */
export interface EventReader {
  /** One whole frame. What is no event (comments, pings, what nobody knows) gives none. */
  read(frame: Buffer): readonly TurnEvent[]
  readonly state: StreamState
}

/** Whom it listens to, and what it needs for that. */
export interface ReaderOptions<Dialect> {
  readonly dialect: Dialect
  readonly origin: string
  readonly mint: MintIds
}

/** Of one answer: some models make a dozen at once. Who sends more is filling our memory, and our client's. */
export const CALLS_MAX = 4096

/** Listens to a lane that was asked to make a conversation short. */
export interface CompactionReader {
  read(frame: Buffer): void
  /** Nothing of it has been handed on before the whole is there. */
  readonly state: StreamState
  /** Only after `heard.finished`, without an error. */
  compacted(): Compacted
}

/** A body that was bounded and parsed at the door: the bytes with their members, and the object that they stand for. */
export interface ParsedBody extends RequestBody {
  readonly value: Readonly<Record<string, unknown>>
}

/** What a client's language makes of a body: a request, or what is wrong with it. */
export type ReadRequestOutcome<Request = TurnRequest> = { readonly kind: 'read'; readonly request: Request } | Refused

/** Ids that are ours on what we write. */
export interface MintIds {
  completionId(): string
  responseId(): string
  callId(): string
  /** `msg_`, `rs_`, `fc_`, `ctc_`, `cmp_` and random letters. */
  itemId(prefix: 'msg' | 'rs' | 'fc' | 'ctc' | 'cmp'): string
}

export const mintIdsOf = (random: RandomBytes): MintIds => ({
  completionId: () => randomId('chatcmpl-', random),
  responseId: () => randomId('resp_', random),
  callId: () => randomId('call_', random),
  itemId: (prefix) => randomId(`${prefix}_`, random),
})
