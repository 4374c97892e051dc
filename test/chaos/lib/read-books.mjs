import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The rows themselves, read while no server runs and before any command could resolve what it left. */
export async function readBooks({ dist, data }) {
  const load = (file) => import(pathToFileURL(join(dist, file)).href)
  const [{ openDatabase }, { systemClock }] = await Promise.all([load('store/open-database.js'), load('lib/clock.js')])
  const database = await openDatabase({ path: join(data, 'ledger.db'), clock: systemClock })
  try {
    const all = (table) => database.file.all(`SELECT * FROM ${table}`, [])
    const [accounts, buckets, receipts, transfers, claims] = [
      await all('accounts'),
      await all('buckets'),
      await all('receipts'),
      await all('transfers'),
      await all('claims'),
    ]
    return { accounts, buckets, receipts, transfers, claims }
  } finally {
    await database.close()
  }
}
