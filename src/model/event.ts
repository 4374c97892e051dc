import type { AccountId } from './ids.ts'
import type { Usage } from './price.ts'
import type { LaneWire } from './wire.ts'

/**
 * A piece of an answer, independent of protocols. Adapters decode it from a lane's frames, encoders write a client's frames
 * from it. Texts may be empty.
 *
 * Pieces of a message, reasoning or summary belong to the last one that was started; text after a tool call or reasoning
 * starts a new message. Tool calls have a number, from 0 in the order of their beginnings, because some providers stream
 * several at once.
 */
export type TurnEvent =
  /** A new message, even where one is open: providers split commentary from the final answer. */
  | { readonly type: 'message-start'; readonly phase: Phase | undefined }
  | { readonly type: 'text-delta'; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  | { readonly type: 'refusal-delta'; readonly text: string }
  | { readonly type: 'reasoning-start' }
  /** Raw reasoning, as open models think it. */
  | { readonly type: 'reasoning-delta'; readonly text: string }
  /** Another part of the reasoning summary. */
  | { readonly type: 'summary-start' }
  | { readonly type: 'summary-delta'; readonly text: string }
  /** Signed or encrypted reasoning that only its provider can read. */
  | { readonly type: 'reasoning-seal'; readonly opaque: Opaque }
  | CallStart
  /** Arguments of a function, which may not be valid JSON, or the input of a custom tool. */
  | { readonly type: 'tool-call-delta'; readonly call: number; readonly text: string }
  | { readonly type: 'tool-call-end'; readonly call: number }
  | { readonly type: 'usage'; readonly usage: Usage }
  /** Why the answer ends. Usage may still follow. */
  | { readonly type: 'turn-end'; readonly reason: FinishReason }

export interface CallStart {
  readonly type: 'tool-call-start'
  readonly call: number
  /** Minted here, never the provider's own. */
  readonly callId: string
  readonly name: string
  readonly namespace: string | undefined
  readonly tool: ToolKind
}

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter'

/** Whether a message leads up to the answer or is it. */
export type Phase = 'commentary' | 'final_answer'

/** A function takes JSON arguments, a custom tool takes free text. */
export type ToolKind = 'function' | 'custom'

/** Opaque content of a provider, which is only sent back to the provider it came from. */
export interface Opaque {
  readonly wire: LaneWire
  /** The provider and its model, as in `Lane.origin`. */
  readonly origin: string
  readonly data: string
}

export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[] | undefined
  readonly top: readonly Omit<TokenLogprob, 'top'>[]
}

/** Content sealed for one purpose does not open for another. */
export type SealPurpose = 'reasoning' | 'compaction' | 'calls'

/**
 * Seals content that a client carries for us, so that it cannot be read or changed, and only opens for the same account.
 * Every node with the same keyring can open it.
 */
export interface Seals {
  seal(purpose: SealPurpose, owner: AccountId, content: string): string
  /** Undefined: it is not ours, not for this account or purpose, or was changed. */
  open(purpose: SealPurpose, owner: AccountId, envelope: string): string | undefined
}
