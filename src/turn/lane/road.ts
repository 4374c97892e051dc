import type { Model } from '../../catalog/catalog.ts'
import type { Effort } from '../../model/effort.ts'
import type { Delivery, TurnRequest } from '../../model/turn.ts'
import type { CacheSalt, LaneRequest } from '../../wire/lane-target.ts'
import type { MintIds } from '../../wire/mint-ids.ts'
import type { CallSeals } from '../../wire/seals/call-seals.ts'
import type { CarriedReply, Carrier, ReceivedReply } from '../../wire/voice.ts'
import type { TurnVoice } from '../open-voice.ts'

/**
 * How one request goes to one lane, and how its answer comes back: relayed where client and lane speak the same language,
 * translated where they do not.
 */
export interface Road {
  /** What the provider is asked for: an answer in another language is read as a stream, whatever the client wants. */
  readonly delivery: Delivery
  /** The request in the lane's words. */
  readonly sent: LaneRequest
  /** For an answer that streams. */
  carrier(): Carrier
  /** The provider is asked to make a conversation short in its own way; one that cannot may be asked in ours. */
  readonly nativeCompaction?: {
    /** It has answered, and not with that. */
    hasFailed(): boolean
  }
  /** For an answer in one piece, where the lane may be asked for one. */
  carryReply?(reply: ReceivedReply): CarriedReply
}

/** What is left of a road when the request has gone. */
export type RoadBack = Omit<Road, 'sent'>

export interface Journey {
  readonly request: TurnRequest
  readonly voice: TurnVoice
  readonly mint: MintIds
  /** Of the account whose turn it is. */
  readonly callSeals: CallSeals
  /** The account's salt for caches of prompts. */
  readonly cacheSalt: CacheSalt
  /** What it runs on, and what the operator lets pass to it. */
  readonly model: Pick<Model, 'lanes' | 'passFields'>
  readonly effort: Effort | undefined
  /** The most that the provider may produce: what the hold covers. */
  readonly outputCap: number
  /** The lane does not take back what was sealed. */
  readonly withoutSeals: boolean
  /** The lane was asked to make the conversation short by itself, and has not. */
  readonly withoutNativeCompaction: boolean
}
