import { type RandomBytes, randomId } from '../../lib/random-id.ts'
import type { TurnEvent } from '../../model/event.ts'
import type { Refused } from '../../model/problem.ts'
import type { Compacted, RequestBody, TurnRequest } from '../../model/turn.ts'
import type { StreamState } from './stream-state.ts'

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
