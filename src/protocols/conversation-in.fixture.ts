import type { Fields } from '../lib/types.ts'
import type { Conversation } from '../model/conversation.ts'
import type { TurnRequest } from '../model/turn.ts'
import { codecs } from './codecs.ts'

/** What a request says to its model, read as for a lane of another protocol. */
export function conversationIn(request: TurnRequest): Conversation {
  const value = JSON.parse(String(request.body.bytes)) as Fields
  if (request.protocol === 'responses') return codecs.readConversation(request, value)
  for (const [name, bytes] of request.rewritten) value[name] = bytes === null ? undefined : JSON.parse(String(bytes))
  return codecs.readConversation(request, value)
}
