import type { Fields } from '../lib/types.ts'
import type { Conversation } from '../model/conversation.ts'
import type { LaneWire, Wire } from '../model/event.ts'
import type { TurnRequest } from '../model/turn.ts'
import { anthropicDialect } from './anthropic/dialects.ts'
import { createEventReader as createAnthropicReader } from './anthropic/read-events.ts'
import { writeRequest as writeAnthropicRequest } from './anthropic/write-request.ts'
import { chatDialect } from './chat/dialects.ts'
import { parseRewritten, readConversation as readChatConversation } from './chat/parse-conversation.ts'
import { createEventReader as createChatReader } from './chat/read-events.ts'
import { writeRequest as writeChatRequest } from './chat/write-request.ts'
import { namesOfLostTtls, namesOfMarks } from './fields/content-parts.ts'
import { geminiDialect } from './gemini/dialects.ts'
import { createEventReader as createGeminiReader } from './gemini/read-events.ts'
import { writeRequest as writeGeminiRequest } from './gemini/write-request.ts'
import { parseInPieces } from './json/in-pieces.ts'
import { responsesDialect } from './responses/dialects.ts'
import { beyondConversation, readConversation as readResponsesConversation } from './responses/parse-conversation.ts'
import { createEventReader as createResponsesReader } from './responses/read-events.ts'
import { writeRequest as writeResponsesRequest } from './responses/write-request.ts'
import type { EventReader, MintIds, ReaderOptions } from './shared/codec-types.ts'
import {
  type DialectTraits,
  type KnownTraits,
  type LaneTarget,
  type WrittenRequest,
  withExactNumbers,
  withTraits,
} from './shared/lane-target.ts'

/** A provider's protocol: its dialects, its requests and its streams. */
interface LaneCodec<Dialect extends DialectTraits> {
  /** By its name; an unknown name gives the plain protocol. */
  dialect(name: string): Dialect
  writeRequest(conversation: Conversation, target: LaneTarget<Dialect>): WrittenRequest
  createEventReader(options: ReaderOptions<Dialect>): EventReader
}

/** One row per wire. */
const LANE_CODECS = {
  chat: { dialect: chatDialect, writeRequest: writeChatRequest, createEventReader: createChatReader },
  responses: {
    dialect: responsesDialect,
    writeRequest: writeResponsesRequest,
    createEventReader: createResponsesReader,
  },
  anthropic: {
    dialect: anthropicDialect,
    writeRequest: writeAnthropicRequest,
    createEventReader: createAnthropicReader,
  },
  gemini: { dialect: geminiDialect, writeRequest: writeGeminiRequest, createEventReader: createGeminiReader },
} as const satisfies Readonly<Record<LaneWire, LaneCodec<DialectTraits>>>

/** A lane's protocol, with the oddities of its server and its model. */
export type LaneDialect = ReturnType<(typeof LANE_CODECS)[LaneWire]['dialect']>

const codecOf = (wire: LaneWire): LaneCodec<LaneDialect> => LANE_CODECS[wire]

export const codecs = {
  /** By the wire of an upstream, the name of its dialect, and what is known of the model and the interface. */
  dialect: (wire: Wire, name: string, known: KnownTraits = {}): LaneDialect =>
    withTraits(codecOf(wire === 'demo' ? 'chat' : wire).dialect(name), known),

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
    const written = codecOf(target.dialect.wire).writeRequest(conversation, target)
    const lost = written.keepsMarks === true ? namesOfLostTtls(conversation) : namesOfMarks(conversation)
    return lost.length === 0 ? written : { ...written, leftOut: [...written.leftOut, ...lost] }
  },

  createEventReader: (
    { dialect, origin }: { readonly dialect: LaneDialect; readonly origin: string },
    mint: MintIds,
  ): EventReader => codecOf(dialect.wire).createEventReader({ dialect, origin, mint }),
}
