import { sql } from 'kysely'
import { fillDiskFor } from '../../support/full-disk.ts'
import { onPostgres } from '../../support/server-on-postgres.ts'
import type { TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'

/** Writes that fail from now on, as on a disk that is full. */
export type BrokenWrite = 'INSERT ON receipts' | 'UPDATE ON receipts' | 'INSERT ON transfers' | 'INSERT ON meta'

/** Returns how to mend it: the books are open again when that resolves. */
export async function breakLedger(server: TestServer, ...writes: BrokenWrite[]): Promise<() => Promise<void>> {
  const makeRoom = await fillDiskFor(server.app.operations.db, ...writes)
  return async () => {
    await makeRoom()
    await until(() => server.app.ledgerAvailable())
  }
}

/** The books can be written, the file of answers takes no response. */
export async function breakResponses({ app, content }: TestServer): Promise<() => Promise<void>> {
  if (onPostgres) return fillDiskFor(app.operations.db, 'INSERT ON responses')
  const run = (sql: string) => content.atomic([{ sql, rows: [[]] }])
  await run(
    `CREATE TRIGGER broken_responses BEFORE INSERT ON responses BEGIN SELECT RAISE(ABORT, 'no space left'); END`,
  )
  return async () => {
    await run('DROP TRIGGER broken_responses')
  }
}

/** The ledger takes no write at all, and one operation has tried. */
export async function makeLedgerUnavailable(server: TestServer): Promise<() => Promise<void>> {
  const { id } = await openAccount(server, { credit: '0' })
  const repair = await breakLedger(server, 'UPDATE ON receipts', 'INSERT ON transfers', 'INSERT ON meta')
  await server.attempt('wallet.credit', { account: id, amount: '1.00', reason: 'walk', ref: 'lost' }).catch(() => {})
  return repair
}

/** One account does not add up any more, and the audit has seen it. */
export async function freezeAccounts(server: TestServer, accounts: readonly string[]): Promise<() => Promise<void>> {
  const move = async (by: number) => {
    for (const account of accounts)
      await sql`UPDATE buckets SET posted_nano = posted_nano + ${by} WHERE kind = 'wallet'
        AND account = (SELECT row FROM accounts WHERE id = ${account})`.execute(server.app.operations.db)
  }
  await move(1)
  const { frozen } = await server.operate('db.verify', {})
  if (accounts.some((account) => !frozen.includes(account))) throw new Error('the audit has not noticed')
  return async () => {
    await move(-1)
    await server.operate('db.verify', {})
  }
}
