import type { Change } from '../books/changes.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Durability } from './batcher.ts'
import type { LedgerCore } from './core.ts'

/**
 * What was decided on an account joins the batch that is about to be recorded, and the account stays in memory until it
 * is: before, the file would bring back an account that knows nothing of it.
 */
export function record(core: LedgerCore, account: AccountRow, changes: readonly Change[]): Promise<Durability> {
  const durable = core.batcher.enqueue(changes)
  core.shelf.keepUntil(account, durable)
  return durable
}
