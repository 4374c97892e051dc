import { type RandomBytes, randomId } from '../../lib/random-id.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { FinishReason, TurnEvent } from '../../model/event.ts'
import type { Usage } from '../../model/price.ts'
import type { Problem, Refused } from '../../model/problem.ts'
import type { Compacted, Delivery, RequestBody, TurnRequest } from '../../model/turn.ts'
import type { UpstreamError } from '../refusals/provider-error.ts'
import type { FrameSplitter } from '../sse/frames.ts'
import type { StreamState } from './stream-state.ts'

/**
 * Writes one answer in the client's protocol, from its first byte to its last. It is created once per turn and outlives a lane
 * that failed before any content: the ids and numbers that a client has seen continue.
 */
export interface ClientEncoder {
  /** Bytes that break a silence; undefined where a comment will do. Called at any moment before the end. */
  keepAlive(): Buffer | undefined
  /** Translates another protocol's answer, event by event; whatever an earlier adapter has held back is dropped. */
  translate(reader: EventReader): StreamAdapter
  /** The last bytes of a stream whose answer has failed after its head was sent. */
  fail(problem: Problem): Buffer
}

/** The encoder of a protocol that lanes speak too: it relays the answer of such a lane. */
export interface RelayEncoder<RelayedLane> extends ClientEncoder {
  relay(lane: RelayedLane): StreamAdapter
  relayReply(reply: ReceivedReply, lane: RelayedLane): EncodedReply
}

/** A JSON answer as it came, and its value. */
export interface ReceivedReply {
  readonly body: RequestBody
  readonly value: unknown
}

/** Turns the frames of one lane's answer into the client's bytes. */
export interface StreamAdapter {
  read(frame: Buffer): EncodedFrame
  /** The next frames that differ from the last one only in their text, as one piece; undefined for none. */
  readonly readRepeated?: ((frames: FrameSplitter) => EncodedFrame | undefined) | undefined
  readonly state: StreamState
  /** The end of a complete answer: the last bytes of a stream, or the JSON body. Only after `state.finished`. */
  close(settled: SettledCharge): Buffer
  /** The size of what replaces a compacted conversation. Only after `state.finished`. */
  compactedSize?(): CompactedSize
}

/** What a model will read of a compacted conversation. */
export interface CompactedSize {
  readonly bytes: number
  /** There is also data that only its provider can read: about as long as the answer that it has counted. */
  readonly hasSealed: boolean
}

export interface EncodedFrame {
  /** Undefined when nothing of it is for the client, or not yet. Texts of one read become bytes together, which is cheaper. */
  readonly bytes: Buffer | string | undefined
  /** There is text, reasoning, a refusal or a tool call in the bytes. */
  readonly isContent: boolean
}

/**
 * An answer that begins with a tool call is no content before its end, so that it can be asked for once more if the arguments of
 * a call turn out not to be JSON.
 */
export function holdCalls(adapter: StreamAdapter): StreamAdapter {
  let hasContent = false
  const held = (encoded: EncodedFrame): EncodedFrame => {
    hasContent ||= encoded.isContent && adapter.state.calls === adapter.state.answerCalls
    return hasContent ? encoded : { ...encoded, isContent: false }
  }
  return {
    state: adapter.state,
    read: (frame) => held(adapter.read(frame)),
    readRepeated(frames) {
      const encoded = adapter.readRepeated?.(frames)
      return encoded && held(encoded)
    },
    close: (settled) => adapter.close(settled),
  }
}

export const NOTHING_ENCODED: EncodedFrame = { bytes: undefined, isContent: false }

/** A lane's JSON answer, for a client of the same protocol. */
export type EncodedReply =
  | {
      readonly kind: 'reply'
      readonly usage: Usage | undefined
      readonly outputBytes: number
      readonly served: Pick<StreamState, 'serviceTier' | 'speed' | 'inferenceGeo'>
      close(settled: SettledCharge): Buffer
    }
  | { readonly kind: 'error'; readonly error: UpstreamError }
  | { readonly kind: 'invalid'; readonly what: string }

/** Reads the frames of one streamed answer, in the lane's protocol, as events. */
export interface EventReader {
  /**
   * Reads one whole frame. Comments, pings and unknown frames give no events. `[DONE]`, which `close` of an adapter adds where the
   * stream has ended without it, gives the last events of a reader that waits for the end of the stream with them.
   */
  read(frame: Buffer): readonly TurnEvent[]
  /** How the answer ends, where that was read and its events still wait. */
  readonly ending?: FinishReason | undefined
  /** Counts the last frame, whose only event was a text, with another text; undefined where that would not be all. */
  readonly repeatText?: ((text: string) => void) | undefined
  readonly state: StreamState
}

export interface ReaderOptions<Dialect> {
  readonly dialect: Dialect
  readonly origin: string
  readonly mint: MintIds
}

/** In one answer: some models make a dozen calls at once. More would fill our memory, and the client's. */
export const CALLS_MAX = 4096

/** Reads the answer of a lane that compacts a conversation. */
export interface CompactionReader {
  read(frame: Buffer): void
  /** All of it is held back until the whole is there. */
  readonly state: StreamState
  /** Only after `state.finished`, without an error. */
  compacted(): Compacted
}

/** A body that was bounded and parsed: the bytes with their members, and the object. */
export interface ParsedBody extends RequestBody {
  readonly value: Readonly<Record<string, unknown>>
}

export type ReadRequestOutcome<Request = TurnRequest> = { readonly kind: 'read'; readonly request: Request } | Refused

/** How a provider is called. */
export interface ProviderEndpoint {
  /** Behind the base URL. */
  readonly path: (call: CalledModel) => string
  /** The header that carries the credential. */
  readonly credential: (key: string) => Header
  /** What else every call carries. */
  readonly headers?: (upstream: { readonly apiVersion: string | undefined }) => readonly Header[]
  /** Headers that depend on the request body. */
  readonly headersOfCall?: (body: Buffer) => readonly Header[]
}

export type Header = readonly [name: string, value: string]

export interface CalledModel {
  readonly model: string
  readonly delivery: Delivery
}

/** Mints our own ids for what we write. */
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
