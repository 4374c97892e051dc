// The ledger of one checkout, in a process of its own: fills a file, and does a round of requests each time that it is asked to.
//
// Forked with: the checkout, how many accounts, how many receipts are there before.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [checkout, accountsText, receiptsText] = process.argv.slice(2)
const of = (path) => import(pathToFileURL(join(checkout, path)))
const { measureCpu, openAccounts, openBenchLedger } = await of('bench/lib/ledger-load.mjs')
const { fillLedger } = await of('bench/lib/fill-ledger.mjs')
const { openDatabase } = await of('dist/db/open-database.js')
const { systemClock } = await of('dist/lib/clock.js')

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
const database = await openDatabase({ path: join(folder, 'ledger.db'), clock: systemClock })
const accounts = await openAccounts(database, Number(accountsText))
await fillLedger(database, { receipts: Number(receiptsText), accounts: accounts.length })
const ledger = await openBenchLedger(database)

process.on('message', async ({ concurrent, requests }) => {
  process.send(await measureCpu(ledger, { accounts, concurrent, requests }))
})
process.on('disconnect', async () => {
  await ledger.close()
  await database.close()
  rmSync(folder, { recursive: true })
  process.exit()
})
process.send('ready')
