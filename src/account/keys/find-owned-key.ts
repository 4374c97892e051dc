import type { AccountRow } from '../../model/ids.ts'
import { findAccountByRow, type StoredAccount } from '../../store/accounts.ts'
import { findKeyById, type StoredKey } from '../../store/keys.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { quoted } from '../naming.ts'
import { type Refused, refused } from '../outcome.ts'

/** What every operation on one key is asked with: its id. */
export interface OneKey {
  readonly key: string
}

export type OwnedKey = { readonly kind: 'found'; readonly key: StoredKey; readonly owner: StoredAccount } | Refused

/** `of` narrows it to the keys of one account: everybody else's look like none. */
export async function findOwnedKey(deps: { readonly db: LedgerDb }, id: string, of?: AccountRow): Promise<OwnedKey> {
  // Somebody who pastes the secret instead of the id must not see it again in a message or a log.
  if (/^mr_(wallet|builder)_/.test(id)) {
    return refused('key_not_found', 'That is a key itself. Name it by its key_ id; see: millrace keys list')
  }
  const key = await findKeyById(deps.db, id)
  const owner = key && (await findAccountByRow(deps.db, key.account))
  if (key === undefined || owner === undefined || (of !== undefined && key.account !== of)) {
    return refused('key_not_found', `There is no key ${quoted(id)}. See: millrace keys list`)
  }
  return { kind: 'found', key, owner }
}
