import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Of a ledger, for the audits. */
export const TABLES = [
  ...['accounts', 'people', 'teams', 'keys', 'buckets', 'spend_counters', 'receipts', 'transfers', 'entries', 'claims'],
  'prices',
]

/** The rows themselves, read while no server runs and before any command could resolve what it left. */
export async function readLedgerRows({ dist, data }) {
  const load = (file) => import(pathToFileURL(join(dist, file)).href)
  const [{ openDatabase }, { openContent }, { systemClock: clock }] = await Promise.all([
    load('db/open-database.js'),
    load('db/content/open-content.js'),
    load('lib/clock.js'),
  ])
  const database = await openDatabase({ path: join(data, 'ledger.db'), clock })
  const content = await openContent({ path: join(data, 'content.db'), clock })
  try {
    const ledgerRows = {}
    for (const table of TABLES) ledgerRows[table] = await database.file.all(`SELECT * FROM ${table}`, [])
    const usageEntries = await database.file.all('SELECT * FROM usage_entries', [])
    // A stored stream that came with a key is kept once, with its response.
    const answers = await content.all(
      'SELECT request_id FROM answers UNION ALL SELECT request_id FROM responses WHERE as_sent = 1',
      [],
    )
    const responses = await content.all('SELECT request_id, status FROM responses', [])
    return { ...ledgerRows, usageEntries, answers, responses }
  } finally {
    await database.close()
    await content.close()
  }
}

/** The same of what a kill has left, in a copy: to open the file itself would already mend it. */
export function copyWreck(data) {
  const copy = mkdtempSync(join(tmpdir(), 'millrace-chaos-wreck-'))
  for (const file of ['ledger.db', 'ledger.db-wal', 'content.db', 'content.db-wal']) {
    if (existsSync(join(data, file))) copyFileSync(join(data, file), join(copy, file))
  }
  return { data: copy, clear: () => rmSync(copy, { recursive: true, force: true }) }
}
