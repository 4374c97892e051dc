import type { LogFields } from '../http/edge-deps.ts'
import type { TurnCall } from '../turn/serve-turn.ts'
import type { TurnRecord } from '../turn/turn-record.ts'

/** What the one log line of a request says about its turn. Ids, counts and money; never contents. */
export const turnLogFields = ({ turn, caller }: TurnCall, record: TurnRecord): LogFields => ({
  ...record,
  account_id: caller.accountId,
  key_id: caller.keyId,
  kind: caller.kind,
  delivery: turn.delivery,
})
