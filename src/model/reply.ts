import type { FinishReason, Opaque, Phase, TokenLogprob, ToolKind } from './event.ts'

/** A whole answer, in no protocol's words: its items in the order of their beginnings. */
export interface Reply {
  readonly items: readonly ReplyItem[]
  /** Undefined while the answer goes on, and of one that broke off. */
  readonly finish: FinishReason | undefined
}

export type ReplyItem =
  | { readonly type: 'message'; readonly phase: Phase | undefined; readonly content: readonly ReplyPart[] }
  | {
      readonly type: 'reasoning'
      readonly summary: readonly string[]
      readonly text: string
      readonly opaque: Opaque | undefined
    }
  | {
      readonly type: 'tool-call'
      readonly tool: ToolKind
      readonly callId: string
      readonly name: string
      readonly namespace: string | undefined
      readonly text: string
    }

export type ReplyPart =
  | { readonly type: 'text'; readonly text: string; readonly logprobs: readonly TokenLogprob[] }
  | { readonly type: 'refusal'; readonly text: string }
