import type { ChatRequest } from '../../model/turn.ts'
import type { Carrier } from '../carrier.ts'
import { closingOfStream } from './close-answer.ts'
import { type ChatTapOptions, createChatTap } from './tap.ts'

/** A stream of a lane that speaks Chat, for a client that does: its frames pass, a tap listens. */
export function carryStream(turn: ChatRequest, options: ChatTapOptions): Carrier {
  const { heard, read, readAlike } = createChatTap(options)
  return { heard, read, readAlike, close: (settled) => closingOfStream(turn, heard.head, settled) }
}
