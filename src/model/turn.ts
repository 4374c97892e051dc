import type { Effort } from './effort.ts'
import type { Opaque } from './event.ts'
import type { PricedValues } from './price.ts'

export type Delivery = 'json' | 'stream'

export type Protocol = 'chat' | 'responses'

/** A parsed request, trusted from here on. What only the lane interprets stays in `body`, as bytes. */
export type TurnRequest = ChatRequest | ResponsesRequest

export interface ChatRequest extends AnyRequest {
  readonly protocol: 'chat'
  /** Whether the client asked for the usage chunk of a stream. */
  readonly wantsUsage: boolean
  /** It uses the older `functions` instead of `tools`, and expects calls as `function_call`. */
  readonly functionForm: boolean
  /** What its messages have that some servers would refuse. */
  readonly messageSigns: ReadonlySet<MessageSign>
}

/** A message of a developer, with a name, with a call or its result, or of an assistant. */
/** `answer`: an assistant message with members that some answers have and some servers refuse. */
export type MessageSign = 'developer' | 'name' | 'call' | 'assistant' | 'answer'

/** `body` is expanded: it contains what it referred to by id, and a summary in the place of a sealed compaction. */
export interface ResponsesRequest extends AnyRequest {
  readonly protocol: 'responses'
  /** The items of this request alone, each as JSON, to be stored with its answer. Undefined: nothing is stored. */
  readonly storedInput: (() => readonly Buffer[]) | undefined
  readonly previousResponseId: string | undefined
  /** It is stored, and runs to its end without its client, unless it is cancelled. */
  readonly inBackground: boolean
  /** The content of sealed items in its input, by their envelope. */
  readonly sealed: Map<string, Opaque>
  /** A compaction stands for what came before it. */
  readonly isCompacted: boolean
}

/** How compaction was requested: by the last item of the input, or at its own endpoint. */
type Compacts = 'by-trigger' | 'at-endpoint'

interface AnyRequest {
  readonly body: RequestBody
  /** The id as the client wrote it, with an effort suffix. */
  readonly model: string
  readonly effort: Effort | undefined
  /** The field of the effort, for error messages. */
  readonly effortParam: string
  readonly delivery: Delivery
  readonly outputCap: number | undefined
  /** The field of the cap, for error messages. */
  readonly outputCapParam: string
  readonly choices: number
  /** The member with the conversation. */
  readonly inputField: 'messages' | 'input'
  readonly demands: readonly Demand[]
  /** What it asks for that changes the price. */
  readonly priced?: PricedValues | undefined
  /** The origin whose seals the lane must be able to open, because a part of the conversation is only sealed. */
  readonly boundTo: string | undefined
  /** Undefined: the request is not a compaction. */
  readonly compacts: Compacts | undefined
  /** Of what the client has sent, with everything it refers to, without what we add. */
  readonly inputSize: InputSize
  /** Parts that are not text. Only models that list the kind take them. */
  readonly otherInputs: readonly OtherInput[]
  /** Types of hosted tools that were left out. */
  readonly ignoredTools: readonly string[]
  /** How many names of tools its translation has to distinguish: of declared tools, and of earlier calls. */
  readonly toolNames: number
  /** Kinds of tools, declared or in the history, for which the request is translated if a server does not support them. */
  readonly toolKinds: readonly KindBeyondFunctions[]
  /** Members that are replaced, or dropped, for every lane. */
  readonly rewritten: Map<string, Buffer | null>
  /** Fields that go to the provider only if the operator's `pass_fields` lists them; else they are reported as ignored. */
  readonly optionalFields: readonly string[]
}

export type KindBeyondFunctions = 'custom' | 'namespace'

/** Features that must not be ignored, because the answer would be a different one without them. */
export type Demand = 'n' | 'stop' | 'tool_choice' | 'response_format' | PartDemand

/** Parts by address, which a protocol may not support. */
export type PartDemand = 'image_url' | 'file_url'

/** Bytes and counts that bound the input tokens from above. */
export interface InputSize {
  /** The whole body: an upper bound of the input. */
  readonly bodyBytes: number
  /** What certainly is input: the base of estimates. */
  readonly inputBytes: number
  readonly messages: number
  readonly tools: number
}

/** A part that is not text. */
export interface OtherInput {
  readonly kind: 'image' | 'audio' | 'file'
  /** Its place in the request. */
  readonly param: string
  readonly form: InputForm
  /** The bytes of its data in the body. */
  readonly dataBytes: number
}

/** The form of a part, which bounds its tokens: an address that the provider fetches, or data of a kind. */
export type InputForm = 'address' | 'picture' | 'document' | 'text'

/**
 * The client's bytes, with the places of its top-level members, so that members can be replaced without re-encoding. Emptied
 * once the answer streams.
 */
export interface RequestBody {
  bytes: Buffer
  members: readonly JsonMember[]
  /** False: no object in it has a `cache_control`. Undefined where that is not known. */
  readonly hasCacheMarks?: boolean | undefined
}

/** The place of one `"name": value` of the outermost object; offsets into the bytes, ends exclusive. */
export interface JsonMember {
  readonly name: string
  /** The name contains a backslash escape, which parsers treat differently. */
  readonly escaped: boolean
  readonly nameStart: number
  readonly valueStart: number
  readonly valueEnd: number
}

/** A compacted conversation: a summary that every model can read, or an opaque form of one provider. */
export type Compacted =
  | { readonly kind: 'summary'; readonly text: string }
  | { readonly kind: 'native'; readonly opaque: Opaque }

/** The tokens of a conversation before and after its compaction, for the receipt. */
export interface CompactedTokens {
  readonly tokensBefore: number
  readonly tokensAfter: number
}
