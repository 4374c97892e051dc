import { setTimeout as sleep } from 'node:timers/promises'

/** What belongs to an account, in an order in which rows find what they refer to. */
const ROWS_OF_ACCOUNT = [
  ['accounts', 'row = $1'],
  ['keys', 'account = $1'],
  ['buckets', 'account = $1'],
  ['spend_counters', 'account = $1'],
  ['subscriptions', 'account = $1'],
  ['nodes', 'row IN (SELECT node FROM receipts WHERE account = $1)'],
  ['prices', '(model, version) IN (SELECT model, price_version FROM receipts WHERE account = $1)'],
  ['receipts', 'account = $1'],
  ['transfers', 'account = $1'],
  ['entries', 'transfer IN (SELECT row FROM transfers WHERE account = $1)'],
  ['claims', 'receipt IN (SELECT row FROM receipts WHERE account = $1)'],
]
const POLL_MS = 10
/** Another account may have brought them already. */
const SHARED = new Set(['nodes', 'prices'])

/**
 * Freezes the account where it is, waits for its running turns, copies its rows, changes the map, and lets it go on in the new
 * cell. Until then its clients are told to try again. The frozen copy stays, as what `from` has charged.
 */
export async function moveAccount({ account: { row }, from, to, routersKnowAfterMs, onCopied }) {
  await from.pool.query('UPDATE accounts SET frozen_at = 1 WHERE row = $1', [row])
  // An admission that has not seen it has the lock of the wallet until its turn is there to be waited for.
  await from.pool.query("SELECT FROM buckets WHERE kind = 'wallet' AND account = $1 FOR UPDATE", [row])
  const openTurns = async () =>
    (await from.pool.query("SELECT FROM receipts WHERE account = $1 AND state = 'open'", [row])).rows.length
  while ((await openTurns()) > 0) await sleep(POLL_MS)
  await copyRows(row, from, to)
  onCopied()
  // A router with the old map asks the frozen copy, and is told to try again.
  await sleep(routersKnowAfterMs)
  await to.pool.query('UPDATE accounts SET frozen_at = NULL WHERE row = $1', [row])
}

async function copyRows(row, from, to) {
  const reader = await from.pool.connect()
  const writer = await to.pool.connect()
  try {
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await writer.query('BEGIN')
    // It may have been here before. What it left is part of what comes back.
    const before = await externalOf(writer, row)
    await deleteRows(writer, row)
    for (const [table, where] of ROWS_OF_ACCOUNT) {
      const { rows } = await reader.query(`SELECT to_jsonb(${table}) AS row FROM ${table} WHERE ${where}`, [row])
      const isShared = SHARED.has(table)
      await writer.query(
        `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1)
          ${isShared ? 'ON CONFLICT DO NOTHING' : ''}`,
        [JSON.stringify(rows.map((each) => each.row))],
      )
    }
    const after = await externalOf(writer, row)
    await writer.query('UPDATE buckets SET posted_nano = posted_nano + $1 WHERE row = 1', [String(after - before)])
    await writer.query('COMMIT')
    await reader.query('COMMIT')
  } catch (error) {
    await writer.query('ROLLBACK')
    await reader.query('ROLLBACK')
    throw error
  } finally {
    reader.release()
    writer.release()
  }
}

/** What the outside world has given this account, as its entries say. */
async function externalOf(db, row) {
  const { rows } = await db.query(
    'SELECT coalesce(sum(delta_nano), 0)::text AS sum FROM entries JOIN transfers ON row = transfer WHERE account = $1 AND bucket = 1',
    [row],
  )
  return BigInt(rows[0].sum)
}

async function deleteRows(db, row) {
  await db.query('ALTER TABLE entries DISABLE TRIGGER entries_are_final')
  await db.query('DELETE FROM proved_accounts WHERE account = $1', [row])
  for (const [table, where] of ROWS_OF_ACCOUNT.toReversed()) {
    if (!SHARED.has(table)) await db.query(`DELETE FROM ${table} WHERE ${where}`, [row])
  }
  await db.query('ALTER TABLE entries ENABLE TRIGGER entries_are_final')
}
