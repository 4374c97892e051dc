import type { AccountId } from './ids.ts'
import type { Usage } from './price.ts'

/**
 * A piece of an answer, in no protocol's words. Readers make them of a lane's frames, writers make a client's frames of
 * them, so each meaning is translated once per protocol. Texts may be empty; what is absent is left out.
 *
 * The pieces of a message, of a reasoning and of a summary belong to the one that was begun last: text after a tool call or
 * a reasoning begins a new message by itself. Tool calls carry a number, from 0 in the order of their beginnings, because
 * some providers write several at once.
 */
export type TurnEvent =
  /** A new message, even where one is open: providers split commentary from the final answer. */
  | { readonly type: 'message-start'; readonly phase: Phase | undefined }
  | { readonly type: 'text-delta'; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  | { readonly type: 'refusal-delta'; readonly text: string }
  | { readonly type: 'reasoning-start' }
  /** Raw reasoning, as open models think it. */
  | { readonly type: 'reasoning-delta'; readonly text: string }
  /** A further part of what the provider tells of its reasoning. */
  | { readonly type: 'summary-start' }
  | { readonly type: 'summary-delta'; readonly text: string }
  /** Signed or encrypted reasoning that only its provider can read. */
  | { readonly type: 'reasoning-seal'; readonly opaque: Opaque }
  | CallStart
  /** Arguments of a function, which may not be valid JSON, or the input of a custom tool. */
  | { readonly type: 'tool-call-delta'; readonly call: number; readonly text: string }
  | { readonly type: 'tool-call-end'; readonly call: number }
  | { readonly type: 'usage'; readonly usage: Usage }
  /** Why the answer ends. Its counts may still come. */
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

/** Foreign content that is only carried, and given back to whom it came from and to nobody else. */
export interface Opaque {
  readonly wire: LaneWire
  /** The provider and its model, as `Lane.origin` tells them apart. */
  readonly origin: string
  readonly data: string
}

export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[] | undefined
  readonly top: readonly Omit<TokenLogprob, 'top'>[]
}

/** The protocols that providers speak over the network. What each takes has a row in `protocols/codecs.ts` and in `providers/provider-kinds.ts`. */
const LANE_WIRES = ['chat', 'responses', 'anthropic', 'gemini'] as const
export type LaneWire = (typeof LANE_WIRES)[number]

/** The built-in demo is asked in this process, and speaks Chat. */
export const WIRES = [...LANE_WIRES, 'demo'] as const
export type Wire = (typeof WIRES)[number]

/** What an envelope holds: what was sealed as one of these opens as nothing else. */
export type SealPurpose = 'reasoning' | 'compaction'

/**
 * Our envelope around what a client carries for us: nobody can read or change it, and nobody but the account that was
 * given it can give it back. Every node with the same key ring makes and opens the same ones.
 */
export interface Seals {
  seal(purpose: SealPurpose, owner: AccountId, content: string): string
  /** Undefined: it is not ours, not for this account or purpose, or was changed on the way. */
  open(purpose: SealPurpose, owner: AccountId, envelope: string): string | undefined
}
