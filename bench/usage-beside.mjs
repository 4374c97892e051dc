// What it costs the books that usage is counted beside them: CPU of all threads per request, and how long the event loop was
// busy, with and without, in rotation, each on files of its own.
//
//   npm run bench -- usage-beside [--rounds 5] [--requests 20000] [--accounts 50]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createUsageKeeper } from '../dist/admin/count-usage.js'
import { openContent } from '../dist/db/content/open-content.js'
import { openDatabase } from '../dist/db/open-database.js'
import { systemClock } from '../dist/lib/clock.js'
import { measureCpu, openAccounts, openBenchLedger } from './lib/ledger-load.mjs'
import { describeMachine, median } from './lib/measure.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '20000' },
    accounts: { type: 'string', default: '50' },
  },
})
const [ROUNDS, REQUESTS, ACCOUNTS] = [options.rounds, options.requests, options.accounts].map(Number)

const homes = { without: await open(false), with: await open(true) }
try {
  console.log(`# usage-beside: ${describeMachine()}`)
  console.log(`${ROUNDS} rounds of ${REQUESTS} requests on ${ACCOUNTS} accounts, 64 at once; median and rounds\n`)
  const results = { without: [], with: [] }
  for (const home of Object.values(homes)) await measure(home)
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? ['without', 'with'] : ['with', 'without']
    for (const name of order) results[name].push(await measure(homes[name]))
  }
  console.log('| usage | CPU us a request | of it the main thread |\n|---|---|---|')
  for (const name of ['without', 'with'])
    console.log(`| ${name} | ${say(results[name], 'cpu')} | ${say(results[name], 'main')} |`)
  const ratio = (what) =>
    (median(results.with.map((each) => each[what])) / median(results.without.map((each) => each[what]))).toFixed(3)
  console.log(`| ratio | ${ratio('cpu')} | ${ratio('main')} |`)
} finally {
  for (const home of Object.values(homes)) await home.close()
}

async function open(counting) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-usage-beside-'))
  const database = await openDatabase({ path: join(folder, 'ledger.db'), clock: systemClock })
  const content = await openContent({ path: join(folder, 'content.db'), clock: systemClock })
  const accounts = await openAccounts(database, ACCOUNTS)
  const onFailure = (error) => console.error(error)
  const keeper = createUsageKeeper({ db: database.db, content, clock: systemClock, intervalMs: 500, onFailure })
  const ledger = await openBenchLedger(database, ({ changes }) => {
    if (!counting) return
    for (const change of changes) if (change.kind === 'receipt-closed') keeper.noteAccount(change.account)
  })
  return {
    ledger,
    accounts,
    async close() {
      await ledger.close()
      await keeper.close()
      await content.close()
      await database.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function measure({ ledger, accounts }) {
  const before = performance.eventLoopUtilization()
  const { cpu } = await measureCpu(ledger, { accounts, concurrent: 64, requests: REQUESTS })
  return { cpu, main: (performance.eventLoopUtilization(before).active * 1000) / REQUESTS }
}

function say(results, what) {
  const all = results.map((each) => each[what].toFixed(1))
  return `${median(results.map((each) => each[what])).toFixed(1)} (${all.join(', ')})`
}
