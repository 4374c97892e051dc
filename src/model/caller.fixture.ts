import type { Caller } from './caller.ts'
import type { AccountId, AccountRow, KeyId, KeyRow } from './ids.ts'

/** Whoever has a wallet key and no limits of its own. */
export const CALLER: Caller = {
  accountId: 'acct_1' as AccountId,
  account: 1 as AccountRow,
  keyId: 'key_1' as KeyId,
  key: 1 as KeyRow,
  keyName: 'test',
  kind: 'wallet',
  models: undefined,
  limits: {},
  caps: [],
  plan: undefined,
}
