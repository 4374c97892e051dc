import type { FinishReason, Opaque, Phase, TokenLogprob, ToolKind } from './event.ts'

/** What is sent to a model, in no protocol's words: read from the client's request, written in the lane's. */
export interface Conversation {
  /** What comes before everything else and is not part of the exchange (Responses' `instructions`). */
  readonly instructions: string | undefined
  readonly items: readonly ConversationItem[]
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice: ToolChoice | undefined
  readonly parallelToolCalls: boolean | undefined
  readonly format: AnswerFormat | undefined
  readonly verbosity: string | undefined
  readonly reasoning: ReasoningRequest
  readonly sampling: Sampling
  readonly identity: Identity
}

export type ConversationItem = MessageItem | ReasoningItem | CallItem | ResultItem

export interface MessageItem {
  readonly type: 'message'
  readonly role: 'system' | 'developer' | 'user' | 'assistant'
  readonly content: readonly ContentPart[]
  readonly phase: Phase | undefined
  readonly name: string | undefined
}

export interface ReasoningItem {
  readonly type: 'reasoning'
  readonly summary: readonly string[]
  readonly text: string
  readonly opaque: Opaque | undefined
}

export interface CallItem {
  readonly type: 'tool-call'
  readonly tool: ToolKind
  readonly callId: string
  readonly name: string
  readonly namespace: string | undefined
  /** The arguments exactly as the model wrote them, or the input of a custom tool. */
  readonly text: string
}

export interface ResultItem {
  readonly type: 'tool-result'
  readonly tool: ToolKind
  readonly callId: string
  readonly content: readonly ContentPart[]
}

export type ContentPart = CanBeMarked &
  (
    | { readonly type: 'text'; readonly text: string }
    | { readonly type: 'refusal'; readonly text: string }
    | { readonly type: 'image'; readonly url: string; readonly detail: string | undefined }
    | FilePart
    | { readonly type: 'audio'; readonly data: string; readonly format: string }
  )

interface CanBeMarked {
  /** The client asks the provider to cache the prompt up to here. */
  readonly cacheMark?: CacheMark
}

export interface CacheMark {
  /** The field that carried it. */
  readonly field: 'cache_control' | 'prompt_cache_breakpoint'
  /** It asks for being kept otherwise than for the usual five minutes. */
  readonly hasOwnTtl: boolean
}

export interface FilePart {
  readonly type: 'file'
  readonly data: string | undefined
  readonly url: string | undefined
  readonly id: string | undefined
  readonly name: string | undefined
}

/** A tool that the client runs itself. Hosted ones never get this far. */
export type ToolDefinition = FunctionTool | CustomTool

interface FunctionTool extends CanBeMarked {
  readonly type: 'function'
  readonly name: string
  readonly namespace: string | undefined
  readonly description: string | undefined
  /** A JSON schema; undefined: no parameters. */
  readonly parameters: Readonly<Record<string, unknown>> | undefined
  /** Undefined: the client has not said. The two protocols mean different things by that. */
  readonly strict: boolean | undefined
}

export interface CustomTool extends CanBeMarked {
  readonly type: 'custom'
  readonly name: string
  readonly namespace: string | undefined
  readonly description: string | undefined
  readonly grammar: { readonly syntax: string; readonly definition: string } | undefined
}

export interface ToolName {
  readonly name: string
  readonly namespace: string | undefined
  readonly tool: ToolKind
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | ({ readonly type: 'tool' } & ToolName)
  | { readonly type: 'allowed'; readonly mode: 'auto' | 'required'; readonly tools: readonly ToolName[] }

export type AnswerFormat = { readonly type: 'text' | 'json_object' } | SchemaFormat

export interface SchemaFormat {
  readonly type: 'json_schema'
  readonly name: string
  readonly description: string | undefined
  readonly schema: Readonly<Record<string, unknown>> | undefined
  readonly strict: boolean | undefined
}

/** The effort is not here: the catalogue decides it. Nor is whether to seal it: every server that can is asked to. */
interface ReasoningRequest {
  /** How the client wants to be told of the reasoning: `auto`, `concise`, `detailed`. */
  readonly summary: string | undefined
}

export interface Sampling {
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly presencePenalty: number | undefined
  readonly frequencyPenalty: number | undefined
  readonly stop: readonly string[]
  readonly seed: number | undefined
  readonly logitBias: Readonly<Record<string, unknown>> | undefined
  /** Undefined: none are asked for. */
  readonly topLogprobs: number | undefined
}

/** Names by which a provider may tell users and conversations apart. */
export interface Identity {
  readonly user: string | undefined
  readonly safetyIdentifier: string | undefined
  readonly promptCacheKey: string | undefined
}

/** Whatever the provider does by itself. */
export const NO_SAMPLING: Sampling = {
  temperature: undefined,
  topP: undefined,
  presencePenalty: undefined,
  frequencyPenalty: undefined,
  stop: [],
  seed: undefined,
  logitBias: undefined,
  topLogprobs: undefined,
}

/** What a user says in plain words. */
export const userMessage = (text: string): ConversationItem => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'text', text }],
  phase: undefined,
  name: undefined,
})

/** Nothing is said and nothing is asked for. */
export const EMPTY_CONVERSATION: Conversation = {
  instructions: undefined,
  items: [],
  tools: [],
  toolChoice: undefined,
  parallelToolCalls: undefined,
  format: undefined,
  verbosity: undefined,
  reasoning: { summary: undefined },
  sampling: NO_SAMPLING,
  identity: { user: undefined, safetyIdentifier: undefined, promptCacheKey: undefined },
}

type TextPart = Extract<ContentPart, { readonly type: 'text' | 'refusal' }>

export const isText = (part: ContentPart): part is TextPart => part.type === 'text' || part.type === 'refusal'

/** The words among parts, as the string that every server takes. */
export const partsText = (parts: readonly ContentPart[], separator: string): string =>
  parts.flatMap((part) => (isText(part) ? [part.text] : [])).join(separator)

/** What the assistant said, and what it refused: where both go into one text, they stay apart. */
export const textAndRefusals = (parts: readonly ContentPart[]): readonly [said: string, refused: string] => {
  const wordsOf = (kind: ContentPart['type']) =>
    partsText(
      parts.filter(({ type }) => type === kind),
      '',
    )
  return [wordsOf('text'), wordsOf('refusal')]
}

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
