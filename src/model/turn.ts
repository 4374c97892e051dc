import type { Effort } from './effort.ts'
import type { Opaque } from './event.ts'

/** What a client wants its answer as. */
export type Delivery = 'json' | 'stream'

/** A client's language. */
export type Protocol = 'chat' | 'responses'

/**
 * A request as admission needs it: parsed at the door, trusted inside. Everything that only the lane has to understand
 * stays in `body`, as bytes.
 */
export type TurnRequest = ChatRequest | ResponsesRequest

export interface ChatRequest extends AnyRequest {
  readonly protocol: 'chat'
  /** Whether the client asked for the usage chunk of a stream. */
  readonly wantsUsage: boolean
  /** It declares `functions`, the form before `tools`, and expects its call as `function_call`. */
  readonly functionForm: boolean
}

/**
 * Its `body` is the expanded one: what it referred to by id is in it, and the references are not. Where a conversation was
 * made short, its summary stands in the place of the sealed item.
 */
export interface ResponsesRequest extends AnyRequest {
  readonly protocol: 'responses'
  /**
   * The items of this request alone, each as JSON: they are stored with its answer, which may then be asked for by its id.
   * Undefined: nothing is stored.
   */
  readonly storedInput: (() => readonly Buffer[]) | undefined
  readonly previousResponseId: string | undefined
  /** What the sealed items of its input hold, by the envelope that stands in the body. */
  readonly sealed: Map<string, Opaque>
}

/** How a conversation was asked to be made short: by the last item of its input, or at an endpoint of its own. */
type Compacts = 'by-trigger' | 'at-endpoint'

interface AnyRequest {
  readonly body: RequestBody
  /** The id exactly as the client wrote it, effort suffix included. */
  readonly model: string
  readonly effort: Effort | undefined
  /** The field that carried the effort, for messages. */
  readonly effortParam: string
  readonly delivery: Delivery
  readonly outputCap: number | undefined
  /** The field that carried the cap, for messages. */
  readonly outputCapParam: string
  readonly choices: number
  /** The member that has what was said so far. */
  readonly inputField: 'messages' | 'input'
  /** Beside the parts that are not text. */
  readonly demands: readonly Demand[]
  /** Whose seals the lane has to be able to open, because a part of the conversation is nothing but one. */
  readonly boundTo: string | undefined
  /** Undefined: it wants the next turn of the conversation. Else the conversation made short. */
  readonly compacts: Compacts | undefined
  /** Of what the client has sent, with all that it refers to. What we add to it is not in it. */
  readonly inputSize: InputSize
  /** Parts that are not text, as far as they go to a model: only models that list the kind take them. */
  readonly otherInputs: readonly OtherInput[]
  /** Types of the tools that were left out because only a provider could run them. */
  readonly ignoredTools: readonly string[]
  /** The names of tools that its translation has to tell apart: declared ones, and those of calls in the past. */
  readonly toolNames: number
  /** Kinds of tools, declared or in the history, that a server may not know; for such a server the request is translated. */
  readonly toolKinds: readonly KindBeyondFunctions[]
  /** Members that are written anew, or dropped, whatever the lane. */
  readonly rewritten: Map<string, Buffer | null>
  /** Fields that go to the provider only where the operator's `pass_fields` lists them; else they are named as ignored. */
  readonly optionalFields: readonly string[]
}

export type KindBeyondFunctions = 'custom' | 'namespace'

/** What a request asks for that is done as it says or not at all, because without it the answer would be another one. */
export type Demand = 'n' | 'stop' | 'tool_choice' | 'response_format' | PartDemand

/** Parts that a protocol may have no place for: those of which there is an address only. */
export type PartDemand = 'image_url' | 'file_url'

/** Bytes and counts that bound the input from above, before any tokenizer. */
export interface InputSize {
  /** The whole body: whatever of it becomes input, it is not more than this. */
  readonly bodyBytes: number
  /** Only what certainly is input: the base of estimates. */
  readonly inputBytes: number
  readonly messages: number
  readonly tools: number
}

/** A part that is not text. */
export interface OtherInput {
  readonly kind: 'image' | 'audio' | 'file'
  /** Where it stands. */
  readonly param: string
  readonly form: InputForm
  /** How much of the body is its data. */
  readonly dataBytes: number
}

/**
 * What a part comes as, because that says how many tokens it can become: an address that its provider follows, the data of a
 * picture, that of a document, or data that may be read as text.
 */
export type InputForm = 'address' | 'picture' | 'document' | 'text'

/**
 * The client's own bytes, with the places of its top-level members, so that they can be retargeted without re-writing. Empty
 * once the answer streams, where nobody needs them any more.
 */
export interface RequestBody {
  bytes: Buffer
  members: readonly JsonMember[]
}

/** The value of one of its members, as the client wrote it. */
export function memberBytes({ bytes, members }: RequestBody, name: string): Buffer | undefined {
  const member = members.find((candidate) => candidate.name === name)
  return member && bytes.subarray(member.valueStart, member.valueEnd)
}

/** Where one `"name": value` of the outermost object stands; offsets into the bytes, ends exclusive. */
export interface JsonMember {
  readonly name: string
  /** The name contains a backslash escape: readers disagree about such names. */
  readonly escaped: boolean
  readonly nameStart: number
  readonly valueStart: number
  readonly valueEnd: number
}

/** A conversation made short: by a summary that every model can read, or as its provider alone can read it. */
export type Compacted =
  | { readonly kind: 'summary'; readonly text: string }
  | { readonly kind: 'native'; readonly opaque: Opaque }

/** How large a conversation was before it was compacted and after that, in whole tokens: said on the receipt. */
export interface CompactedTokens {
  readonly tokensBefore: number
  readonly tokensAfter: number
}
