import type { SettledCharge } from '../model/ending.ts'
import type { Usage } from '../model/usage.ts'
import type { Heard } from './event-reader.ts'
import type { UpstreamSaid } from './provider-error.ts'
import type { FrameSplitter } from './sse/split-frames.ts'

/** What carries one lane's answer to the client: frames in, the client's bytes out. */
export interface Carrier {
  read(frame: Buffer): CarriedFrame
  /** The frames that come next and differ from the last one only in their words, as one piece; undefined for none. */
  readAlike(frames: FrameSplitter): CarriedFrame | undefined
  readonly heard: Heard
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
