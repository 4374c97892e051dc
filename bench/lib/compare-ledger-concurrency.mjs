import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../dist/db/open-database.js'
import { systemClock } from '../../dist/lib/clock.js'
import { measureCpu, openAccounts, openBenchLedger, sendRequests } from './ledger-load.mjs'
import { median } from './measure.mjs'

const WARM_UP = 4000

export async function compareConcurrency({ folder, requests, rounds }) {
  console.log(
    `${requests} requests a round, ${rounds} rounds, median; synchronous=FULL, one account, wallet, no Idempotency-Key\n`,
  )
  console.log('| concurrent | CPU us/request | requests/s | row writes/request | commits | requests/commit |')
  console.log('|---|---|---|---|---|---|')
  for (const concurrent of [1, 8, 64, 256]) {
    console.log(await measure({ folder, concurrent, rounds, requests: concurrent === 1 ? requests / 10 : requests }))
  }
}

async function measure({ folder, concurrent, rounds, requests }) {
  const own = join(folder, String(concurrent))
  mkdirSync(own)
  const database = await openDatabase({ path: join(own, 'ledger.db'), clock: systemClock })
  const accounts = await openAccounts(database, 1)
  let commits = 0
  const ledger = await openBenchLedger(database, () => commits++)
  const load = { accounts, concurrent, requests: Math.ceil(requests) }
  await sendRequests(ledger, { ...load, requests: Math.min(WARM_UP, requests) })
  const measured = []
  for (let round = 0; round < rounds; round++) {
    const before = { writes: await rowWrites(database), commits }
    const { cpu, rate } = await measureCpu(ledger, load)
    const writes = ((await rowWrites(database)) - before.writes) / load.requests
    const committed = commits - before.commits
    measured.push({ cpu, rate, writes, commits: committed, perCommit: load.requests / committed })
  }
  await ledger.close()
  await database.close()
  const of = (name) => median(measured.map((round) => round[name]))
  return `| ${concurrent} | ${of('cpu').toFixed(1)} | ${Math.round(of('rate'))} | ${of('writes').toFixed(2)} | ${of('commits')} | ${of('perCommit').toFixed(1)} |`
}

async function rowWrites(database) {
  const [row] = await database.file.all('SELECT total_changes() AS changes', [])
  return Number(row.changes)
}
