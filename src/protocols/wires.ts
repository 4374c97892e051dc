import type { Fields } from '../lib/types.ts'
import type { Conversation } from '../model/conversation.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { LaneWire, Wire } from '../model/wire.ts'
import { ANTHROPIC_DIALECTS, anthropicDialect } from './anthropic/dialects.ts'
import { createEventReader as createAnthropicReader } from './anthropic/read-events.ts'
import { writeRequest as writeAnthropicRequest } from './anthropic/write-request.ts'
import { CHAT_DIALECTS, chatDialect } from './chat/dialects.ts'
import { parseRewritten, readConversation as readChatConversation } from './chat/parse-conversation.ts'
import { createEventReader as createChatReader } from './chat/read-events.ts'
import { writeRequest as writeChatRequest } from './chat/write-request.ts'
import { namesOfLostTtls, namesOfMarks } from './fields/content-parts.ts'
import { GEMINI_DIALECTS, geminiDialect } from './gemini/dialects.ts'
import { createEventReader as createGeminiReader } from './gemini/read-events.ts'
import { writeRequest as writeGeminiRequest } from './gemini/write-request.ts'
import { parseInPieces } from './json/in-pieces.ts'
import { RESPONSES_DIALECTS, responsesDialect } from './responses/dialects.ts'
import { beyondConversation, readConversation as readResponsesConversation } from './responses/parse-conversation.ts'
import { createEventReader as createResponsesReader } from './responses/read-events.ts'
import { writeRequest as writeResponsesRequest } from './responses/write-request.ts'
import type { EventReader, MintIds, ProviderEndpoint, ReaderOptions } from './shared/codec-types.ts'
import {
  type DialectTraits,
  type KnownTraits,
  type LaneTarget,
  pricedFields,
  type WrittenRequest,
  withExactNumbers,
  withTraits,
} from './shared/lane-target.ts'

/** A provider's protocol: its dialects, its requests and streams, and how it is called. */
interface WireRow<Dialect extends DialectTraits> {
  readonly dialects: readonly Dialect[]
  /** Of an upstream whose configuration names none. */
  readonly defaultDialect: string
  /** By its name; an unknown name gives the plain protocol. */
  dialect(name: string): Dialect
  writeRequest(conversation: Conversation, target: LaneTarget<Dialect>): WrittenRequest
  createEventReader(options: ReaderOptions<Dialect>): EventReader
  readonly endpoint: ProviderEndpoint
}

export const bearer: ProviderEndpoint['credential'] = (key) => ['authorization', `Bearer ${key}`]

/** The registry of wires: one row each. */
const WIRE_ROWS = {
  chat: {
    dialects: CHAT_DIALECTS,
    defaultDialect: 'generic',
    dialect: chatDialect,
    writeRequest: writeChatRequest,
    createEventReader: createChatReader,
    endpoint: { path: () => '/chat/completions', credential: bearer },
  },
  responses: {
    dialects: RESPONSES_DIALECTS,
    defaultDialect: 'openai',
    dialect: responsesDialect,
    writeRequest: writeResponsesRequest,
    createEventReader: createResponsesReader,
    endpoint: { path: () => '/responses', credential: bearer },
  },
  anthropic: {
    dialects: ANTHROPIC_DIALECTS,
    defaultDialect: 'anthropic',
    dialect: anthropicDialect,
    writeRequest: writeAnthropicRequest,
    createEventReader: createAnthropicReader,
    endpoint: {
      path: () => '/messages',
      credential: (key) => ['x-api-key', key],
      headers: ({ apiVersion }) => [['anthropic-version', apiVersion ?? '2023-06-01']],
    },
  },
  gemini: {
    dialects: GEMINI_DIALECTS,
    defaultDialect: 'google',
    dialect: geminiDialect,
    writeRequest: writeGeminiRequest,
    createEventReader: createGeminiReader,
    endpoint: {
      // A colon ends the name, so one inside it is escaped; slashes separate its segments.
      path: ({ model, delivery }) =>
        `/models/${model.split('/').map(encodeURIComponent).join('/')}:${delivery === 'stream' ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      credential: (key) => ['x-goog-api-key', key],
    },
  },
} as const satisfies Readonly<Record<LaneWire, WireRow<DialectTraits>>>

/** A lane's protocol, with the oddities of its server and its model. */
export type LaneDialect = ReturnType<(typeof WIRE_ROWS)[LaneWire]['dialect']>

const rowOf = (wire: LaneWire): WireRow<LaneDialect> => WIRE_ROWS[wire]

export const codecs = {
  /** By the wire of an upstream, the name of its dialect, and what is known of the model and the interface. */
  dialect: (wire: Wire, name: string, known: KnownTraits = {}): LaneDialect =>
    withTraits(rowOf(wire === 'demo' ? 'chat' : wire).dialect(name), known),

  /**
   * The value of a client's request, parsed again, because the first parse was not kept. Numbers in schemas and past calls are
   * marked.
   */
  parseRequest: async (request: TurnRequest): Promise<Fields> =>
    withExactNumbers(
      request,
      request.protocol === 'chat'
        ? await parseRewritten(request)
        : ((await parseInPieces(request.body.bytes)) as Fields),
    ),

  readConversation: (request: TurnRequest, value: Fields): Conversation =>
    request.protocol === 'chat' ? readChatConversation(value) : readResponsesConversation(request, value),

  /** What a conversation cannot express: a lane to which the request is translated does not get it. */
  beyondConversation: (request: TurnRequest): readonly string[] =>
    request.protocol === 'chat' ? [] : beyondConversation(request),

  writeRequest(conversation: Conversation, target: LaneTarget<LaneDialect>): WrittenRequest {
    const unpriced = rowOf(target.dialect.wire).writeRequest(conversation, target)
    const written =
      target.priced === undefined ? unpriced : { ...unpriced, body: { ...unpriced.body, ...pricedFields(target) } }
    const lost = written.keepsMarks === true ? namesOfLostTtls(conversation) : namesOfMarks(conversation)
    return lost.length === 0 ? written : { ...written, leftOut: [...written.leftOut, ...lost] }
  },

  createEventReader: (
    { dialect, origin }: { readonly dialect: LaneDialect; readonly origin: string },
    mint: MintIds,
  ): EventReader => rowOf(dialect.wire).createEventReader({ dialect, origin, mint }),
}

/** Undefined for the demo, which is not called over the network. */
export const endpointOf = (wire: Wire): ProviderEndpoint | undefined =>
  wire === 'demo' ? undefined : WIRE_ROWS[wire].endpoint

export const defaultDialectOf = (wire: Wire): string => (wire === 'demo' ? 'demo' : WIRE_ROWS[wire].defaultDialect)

const NAMED_DIALECTS: readonly DialectTraits[] = Object.values(WIRE_ROWS)
  .flatMap(({ dialects }): readonly DialectTraits[] => dialects)
  .filter(({ name }) => name !== 'demo')

/** The dialects that the configuration may name, and their other names. */
export const DIALECT_NAMES: readonly string[] = [...new Set(NAMED_DIALECTS.map(({ name }) => name))]
export const DIALECT_ALIASES: Readonly<Record<string, string>> = Object.fromEntries(
  NAMED_DIALECTS.flatMap(({ name, aliases }) => aliases.map((alias) => [alias, name])),
)
