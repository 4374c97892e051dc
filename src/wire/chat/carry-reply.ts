import type { ChatRequest, RequestBody } from '../../model/turn.ts'
import type { CarriedReply } from '../carrier.ts'
import type { MintIds } from '../mint-ids.ts'
import { closingOfReply } from './close-answer.ts'
import type { ChatDialect } from './dialects.ts'
import { readReply } from './read-reply.ts'

/** A JSON answer of a lane that speaks Chat, for a client that does. */
export function carryReply(
  turn: ChatRequest,
  body: RequestBody,
  value: unknown,
  options: { readonly dialect: ChatDialect; readonly mint: MintIds },
): CarriedReply {
  const reply = readReply(body, value, options)
  if (reply.kind !== 'reply') return reply
  const { usage, outputBytes, rewritten } = reply
  return { kind: 'reply', usage, outputBytes, close: (settled) => closingOfReply(body, rewritten, turn, settled) }
}
