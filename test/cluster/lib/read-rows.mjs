import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { TABLES } from '../../program/read-ledger.mjs'

/** The rows in the form of those of a file (`test/program/read-ledger.mjs`), for the same audit. */
export async function readRows(dist, url) {
  const { openPostgres } = await import(pathToFileURL(join(dist, 'db/postgres/open-database.js')).href)
  const database = await openPostgres({ url, onTrouble() {}, mayLoseCommits: true })
  try {
    const rows = {}
    for (const table of TABLES) rows[table] = await database.file.all(`SELECT * FROM ${table} ORDER BY 1`, [])
    // PostgreSQL counts what a cap has spent from the start of its period, without a first receipt.
    for (const counter of rows.spend_counters) {
      const first = rows.receipts.find(({ opened_at: at }) => at >= counter.period_start)
      counter.first_receipt = first?.row ?? Number.POSITIVE_INFINITY
      counter.carried_nano = 0n
    }
    const usageEntries = await database.file.all('SELECT * FROM usage_entries', [])
    const answers = await database.content.all(
      'SELECT request_id FROM answers UNION ALL SELECT request_id FROM responses WHERE as_sent = 1',
      [],
    )
    return { ...rows, usageEntries, answers }
  } finally {
    await database.close()
  }
}
