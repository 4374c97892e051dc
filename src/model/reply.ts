import type { CallItem, ReasoningItem } from './conversation.ts'
import type { FinishReason, Phase, TokenLogprob } from './event.ts'

/** A whole answer, in no protocol's words: its items in the order of their beginnings. */
export interface Reply {
  readonly items: readonly ReplyItem[]
  /** Undefined while the answer goes on, and of one that broke off. */
  readonly finish: FinishReason | undefined
}

/** What was thought and called is what a conversation has of it that goes on from there. */
export type ReplyItem = ReplyMessage | ReasoningItem | CallItem

export interface ReplyMessage {
  readonly type: 'message'
  readonly phase: Phase | undefined
  readonly content: readonly ReplyPart[]
}

export type ReplyPart =
  | { readonly type: 'text'; readonly text: string; readonly logprobs: readonly TokenLogprob[] }
  | { readonly type: 'refusal'; readonly text: string }
