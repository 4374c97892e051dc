import { CALLER } from '../model/caller.fixture.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountId, AccountRow, KeyId, KeyRow } from '../model/ids.ts'

export interface Person {
  readonly key: number
  readonly account: number
  /** What the key itself carries, in place of what is configured. */
  readonly ownRequests: number | undefined
}

/** Two keys of one account, and two accounts with one key. */
export const PEOPLE: readonly Person[] = [
  { key: 1, account: 1, ownRequests: undefined },
  { key: 2, account: 1, ownRequests: undefined },
  { key: 3, account: 2, ownRequests: undefined },
  { key: 4, account: 3, ownRequests: 7 },
]

export const callerOf = ({ key, account, ownRequests }: Person): Caller => ({
  ...CALLER,
  accountId: `acct_${account}` as AccountId,
  account: account as AccountRow,
  keyId: `key_${key}` as KeyId,
  key: key as KeyRow,
  limits: ownRequests === undefined ? {} : { requestsPerMinute: ownRequests },
})
