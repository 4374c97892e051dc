import type { LogFields } from '../http/edge-deps.ts'
import type { TurnRecord } from '../turn/end/turn-record.ts'
import type { AskedTurn } from '../turn/turn.ts'

/**
 * What the one log line of a request says about its turn, in the words of that line. Ids, counts and money; never
 * contents. How long it all took is said by the edge, which also counts the reading of the body.
 */
export const turnLogFields = (
  { request, caller }: AskedTurn,
  { problem, firstByteMs, totalMs: _, ...record }: TurnRecord,
): LogFields => ({
  ...record,
  ...(problem !== undefined && { code: problem }),
  first_byte_ms: firstByteMs,
  account_id: caller.accountId,
  key_id: caller.keyId,
  kind: caller.kind,
  delivery: request.delivery,
})
