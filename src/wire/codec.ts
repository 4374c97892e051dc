import type { TurnEvent } from '../model/event.ts'
import type { Problem } from '../model/problem.ts'
import type { SettledCharge } from '../model/settled-charge.ts'
import type { RequestBody } from '../model/turn.ts'
import type { Usage } from '../model/usage.ts'
import type { UpstreamSaid } from './provider-error.ts'
import type { FrameSplitter } from './sse/split-frames.ts'

/** Ids that are ours on what we write. */
export interface MintIds {
  completionId(): string
  callId(): string
  /** `msg_`, `rs_`, `fc_`, `ctc_`, `cmp_` and random letters. */
  itemId(prefix: 'msg' | 'rs' | 'fc' | 'ctc' | 'cmp'): string
}

/** What has been learned so far of a stream that a lane sends. */
export interface Heard {
  /** The last usage that was reported. */
  usage: Usage | undefined
  /** Bytes of text, reasoning and tool arguments that were produced: the base of an estimate where usage is absent. */
  outputBytes: number
  /** Of those, how many wait here for their turn and have not been handed on. */
  heldBytes: number
  /** The lane has said why the answer ends; its counts may still come. */
  finished: boolean
  /** The lane has said that nothing more comes. */
  done: boolean
  /** The lane's own error inside the stream. */
  error: UpstreamSaid | undefined
  /** Something came that is not the lane's protocol. */
  garbled: boolean
}

export const nothingHeard = (): Heard => ({
  usage: undefined,
  outputBytes: 0,
  heldBytes: 0,
  finished: false,
  done: false,
  error: undefined,
  garbled: false,
})

/** A lane's language, read: the frames of one streamed answer become events. */
export interface EventReader {
  /** One whole frame. What is no event (comments, pings, what nobody knows) gives none. */
  read(frame: Buffer): readonly TurnEvent[]
  readonly heard: Heard
}

/** What carries one lane's answer to the client: frames in, the client's bytes out. */
export interface Carrier {
  read(frame: Buffer): CarriedFrame
  /** The frames that come next and differ from the last one only in their words, as one piece; undefined for none. */
  readAlike(frames: FrameSplitter): CarriedFrame | undefined
  readonly heard: Heard
  /** What says that the answer is complete: the last bytes of a stream, or the JSON body. Only after `heard.finished`. */
  close(settled: SettledCharge): Buffer
}

export interface CarriedFrame {
  /** Undefined when nothing of it is for the client, or not yet. */
  readonly bytes: Buffer | undefined
  /** There is text, reasoning, a refusal or a tool call in the bytes. */
  readonly isContent: boolean
}

/** A lane's JSON answer, for a client of the same protocol. */
export type CarriedReply =
  | {
      readonly kind: 'reply'
      readonly usage: Usage | undefined
      readonly outputBytes: number
      close(settled: SettledCharge): Buffer
    }
  | { readonly kind: 'error'; readonly said: UpstreamSaid }
  | { readonly kind: 'garbled' }

/**
 * A client's language, spoken: one answer from its first byte to its last. It is opened once per turn and outlives a lane
 * that failed before any content: the ids and numbers that a client has seen go on.
 */
export interface Voice {
  /** What breaks a silence; undefined where a comment will do. Called at any moment before the end. */
  keepAlive(): Buffer | undefined
  /** Writes another protocol's answer, event by event; whatever an earlier carrier has held back is forgotten. */
  translate(reader: EventReader): Carrier
  /** How it is said that the answer has failed, once its head has gone: the last bytes of the stream. */
  fail(problem: Problem): Buffer
}

/** The body of a reply, with the places of its members. */
export type ReplyBody = RequestBody
