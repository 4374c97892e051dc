import type { Conversation } from '../model/conversation.ts'
import type { TurnRequest } from '../model/turn.ts'
import { type ChatDialect, chatDialect } from './chat/dialects.ts'
import { readConversation as readChatConversation } from './chat/read-conversation.ts'
import { createEventReader as createChatReader } from './chat/read-events.ts'
import { writeRequest as writeChatRequest } from './chat/write-request.ts'
import type { EventReader } from './event-reader.ts'
import type { LaneTarget, WrittenRequest } from './lane-target.ts'
import type { MintIds } from './mint-ids.ts'
import { type ResponsesDialect, responsesDialect } from './responses/dialects.ts'
import { readConversation as readResponsesConversation } from './responses/read-conversation.ts'
import { createEventReader as createResponsesReader } from './responses/read-events.ts'
import { writeRequest as writeResponsesRequest } from './responses/write-request.ts'

/** A lane's language, with the oddities of its server. */
export type LaneDialect = ChatDialect | ResponsesDialect

/** A lane, as whoever listens to it has to know it. */
export interface SpeakingLane {
  readonly dialect: LaneDialect
  readonly origin: string
}

/** The protocols by what they are needed for: the one place that knows them all. */
export const codecs = {
  /** By the wire of an upstream and the name of its dialect; the built-in demo speaks Chat. */
  dialect: (wire: string, name: string): LaneDialect =>
    wire === 'responses' ? responsesDialect(name) : chatDialect(name),

  /** What a client's request says, in no protocol's words. */
  readConversation: (turn: TurnRequest): Conversation =>
    turn.protocol === 'chat' ? readChatConversation(turn) : readResponsesConversation(turn),

  /** The same in a lane's words. */
  writeRequest(conversation: Conversation, target: LaneTarget<LaneDialect>): WrittenRequest {
    const { dialect } = target
    return dialect.wire === 'chat'
      ? writeChatRequest(conversation, { ...target, dialect })
      : writeResponsesRequest(conversation, { ...target, dialect })
  },

  /** Reads what a lane streams. */
  createEventReader: ({ dialect, origin }: SpeakingLane, mint: MintIds): EventReader =>
    dialect.wire === 'chat'
      ? createChatReader({ dialect, origin, mint })
      : createResponsesReader({ dialect, origin, mint }),
}
