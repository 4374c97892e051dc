import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../dist/db/open-database.js'
import { verifyLedgerState } from '../../dist/ledger/verify.js'
import { systemClock } from '../../dist/lib/clock.js'
import { fillLedger } from './fill-ledger.mjs'
import { measureCpu, openAccounts, openBenchLedger, sendRequests } from './ledger-load.mjs'
import { median } from './measure.mjs'

/** Enough that the balances of one batch lie on many pages of the file. */
const ACCOUNTS = 1000
const WARM_UP = 4000
const CONCURRENT = [8, 64]

/** The same requests on an empty file and on a full one, in turns: what is other than the file is the same for both. */
export async function compareSizes({ folder, requests, receipts, rounds, verify }) {
  const empty = await open(folder, 0)
  const full = await open(folder, receipts)
  console.log(
    `${receipts} receipts of ${ACCOUNTS} accounts: ${full.megabytes} MB, filled in ${full.seconds} s; ` +
      `${requests} requests a round, ${rounds} rounds in turns; CPU us/request\n`,
  )
  for (const { ledger, accounts } of [empty, full]) {
    await sendRequests(ledger, { accounts, concurrent: 64, requests: WARM_UP })
  }
  for (const concurrent of CONCURRENT) await compare(empty, full, { concurrent, requests, rounds })
  for (const { ledger } of [empty, full]) await ledger.close()
  if (verify) await verifyFull(full)
  for (const { database } of [empty, full]) await database.close()
}

async function open(folder, receipts) {
  // The journal lies beside the file, one in a folder.
  const own = join(folder, String(receipts))
  mkdirSync(own)
  const path = join(own, 'ledger.db')
  const database = await openDatabase({ path, clock: systemClock })
  const accounts = await openAccounts(database, ACCOUNTS)
  const started = performance.now()
  await fillLedger(database, { receipts, accounts: ACCOUNTS })
  const seconds = Math.round((performance.now() - started) / 1000)
  const ledger = await openBenchLedger(database)
  return { database, ledger, accounts, seconds, megabytes: Math.round(statSync(path).size / 1e6) }
}

async function compare(empty, full, { concurrent, requests, rounds }) {
  console.log(`| ${concurrent} concurrent | empty | full | ratio |\n|---|---|---|---|`)
  const ratios = []
  for (let round = 1; round <= rounds; round++) {
    const before = await measureCpu(empty.ledger, { accounts: empty.accounts, concurrent, requests })
    const after = await measureCpu(full.ledger, { accounts: full.accounts, concurrent, requests })
    ratios.push(after.cpu / before.cpu)
    console.log(`| round ${round} | ${before.cpu.toFixed(1)} | ${after.cpu.toFixed(1)} | ${ratios.at(-1).toFixed(3)} |`)
  }
  console.log(`| median | | | ${median(ratios).toFixed(3)} |\n`)
}

async function verifyFull({ database }) {
  const started = performance.now()
  const { report } = await verifyLedgerState({ db: database.db })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`db verify: ${report.receipts} receipts, ${report.violations} violations, ${seconds} s`)
}
