import type { Caller } from '../model/caller.ts'
import type { Protocol } from '../model/turn.ts'
import { type ReadRequestOutcome, readRequest as readChatRequest } from '../wire/chat/read-request.ts'
import type { ParsedBody } from '../wire/parsed-body.ts'

/** A body, and in which protocol and by whom it was sent. */
export interface AskedTurn {
  readonly protocol: Protocol
  readonly caller: Caller
  readonly body: ParsedBody
}

/** The request that a body is. */
export function readTurn({ protocol, body }: AskedTurn): ReadRequestOutcome {
  if (protocol !== 'chat') throw new Error('Responses cannot be read yet')
  return readChatRequest(body)
}
