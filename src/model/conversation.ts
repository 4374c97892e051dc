import type { FinishReason, Opaque, Phase, TokenLogprob, ToolKind } from './event.ts'

/** A request to a model, independent of protocols: decoded from the client's request, encoded for the lane. */
export interface Conversation {
  /** Precedes everything else and is not part of the exchange (Responses' `instructions`). */
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
  /** The client requests that the provider caches the prompt up to here. */
  readonly cacheMark?: CacheMark
}

export interface CacheMark {
  /** The field that carried it. */
  readonly field: 'cache_control' | 'prompt_cache_breakpoint'
  /** It requests another lifetime than the default five minutes. */
  readonly hasOwnTtl: boolean
}

export interface FilePart {
  readonly type: 'file'
  readonly data: string | undefined
  readonly url: string | undefined
  readonly id: string | undefined
  readonly name: string | undefined
}

/** A tool that the client runs. Hosted tools are removed before. */
export type ToolDefinition = FunctionTool | CustomTool

interface FunctionTool extends CanBeMarked {
  readonly type: 'function'
  readonly name: string
  readonly namespace: string | undefined
  readonly description: string | undefined
  /** A JSON schema; undefined: no parameters. */
  readonly parameters: Readonly<Record<string, unknown>> | undefined
  /** Undefined: not set, which the two protocols treat differently. */
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

/** Without the effort, which the catalogue decides, and without sealing, which every capable server is asked for. */
interface ReasoningRequest {
  /** `auto`, `concise` or `detailed`. */
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
  /** Undefined: none requested. */
  readonly topLogprobs: number | undefined
}

/** Names by which a provider may distinguish users and conversations. */
export interface Identity {
  readonly user: string | undefined
  readonly safetyIdentifier: string | undefined
  readonly promptCacheKey: string | undefined
}

/** The provider's defaults. */
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

export const userMessage = (text: string): ConversationItem => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'text', text }],
  phase: undefined,
  name: undefined,
})

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

/** The texts among parts, as one string. */
export const partsText = (parts: readonly ContentPart[], separator: string): string =>
  parts.flatMap((part) => (isText(part) ? [part.text] : [])).join(separator)

/** The assistant's texts and refusals, each as one string. */
export const textAndRefusals = (parts: readonly ContentPart[]): readonly [text: string, refusal: string] => {
  const textOf = (kind: ContentPart['type']) =>
    partsText(
      parts.filter(({ type }) => type === kind),
      '',
    )
  return [textOf('text'), textOf('refusal')]
}

/** A whole answer, independent of protocols: its items in the order of their beginnings. */
export interface Reply {
  readonly items: readonly ReplyItem[]
  /** Undefined while the answer is running, and when it broke off. */
  readonly finish: FinishReason | undefined
}

export type ReplyItem = ReplyMessage | ReasoningItem | CallItem

export interface ReplyMessage {
  readonly type: 'message'
  readonly phase: Phase | undefined
  readonly content: readonly ReplyPart[]
}

export type ReplyPart =
  | { readonly type: 'text'; readonly text: string; readonly logprobs: readonly TokenLogprob[] }
  | { readonly type: 'refusal'; readonly text: string }
