// What a report of usage takes over a year of receipts, made by test/browser/seed-year.mjs, and how long it takes to count
// that year again. The folder is the seeded one, with no server on it.
//
//   npm run bench -- usage FOLDER [--rounds 7] [--count]
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createRefusedTurnCounter, createUsageKeeper } from '../dist/admin/count-usage.js'
import { exportUsage, usageOverview, usageReport } from '../dist/admin/usage-report.js'
import { listAccounts } from '../dist/db/accounts.js'
import { openContent } from '../dist/db/content/open-content.js'
import { forgetUsage } from '../dist/db/content/usage-totals.js'
import { listWholeKeys } from '../dist/db/keys.js'
import { openDatabase } from '../dist/db/open-database.js'
import { systemClock } from '../dist/lib/clock.js'
import { describeMachine, median } from './lib/measure.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '7' }, count: { type: 'boolean', default: false } },
})
const [folder] = positionals
if (folder === undefined) throw new Error('Which folder?')
const ROUNDS = Number(options.rounds)
const DAY = 86_400_000

const path = (name) => join(folder, 'data', name)
const database = await openDatabase({ path: path('ledger.db'), clock: systemClock })
const content = await openContent({ path: path('content.db'), clock: systemClock })
const onFailure = (error) => {
  throw error
}
const usage = createUsageKeeper({ db: database.db, content, clock: systemClock, intervalMs: 500, onFailure })
const refusedTurns = createRefusedTurnCounter({ content, clock: systemClock, intervalMs: 3_600_000, onFailure })
const deps = { db: database.db, content, usage, refusedTurns, clock: systemClock }
try {
  const [account] = await listAccounts(database.db, { after: 0, limit: 1 })
  const [{ receipts }] = await database.file.all('SELECT COUNT(*) AS receipts FROM receipts WHERE account = ?', [
    account.row,
  ])
  console.log(`# usage: ${describeMachine()}\n`)
  if (options.count) await countAnew(account, receipts)
  await usage.catchUp()
  await sayRoom(receipts)
  await timeAll(account)
} finally {
  await usage.close()
  await refusedTurns.close()
  await content.close()
  await database.close()
}

async function countAnew(account, receipts) {
  await forgetUsage(content, account.row)
  const [began, cpu] = [performance.now(), process.cpuUsage()]
  await usage.catchUp()
  const wall = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(cpu)
  console.log(
    `counted ${receipts} receipts again in ${wall.toFixed(1)} s, ${((user + system) / 1e6).toFixed(1)} s of CPU in all threads\n`,
  )
}

async function sayRoom(receipts) {
  const [{ rows }] = await content.all('SELECT COUNT(*) AS rows FROM usage', [])
  const [{ series }] = await content.all('SELECT COUNT(*) AS series FROM usage_series', [])
  const [contentMb, ledgerMb] = ['content.db', 'ledger.db'].map((name) => (statSync(path(name)).size / 1e6).toFixed(1))
  console.log(
    `${receipts} receipts (ledger.db ${ledgerMb} MB): ${series} series, ${rows} rows (content.db ${contentMb} MB)\n`,
  )
}

async function timeAll(account) {
  const keys = (
    await listWholeKeys(database.db, account.row, { before: Number.MAX_SAFE_INTEGER, limit: 1000 })
  ).reverse()
  const range = (days) => {
    const to = systemClock.now() + DAY
    const day = (at) => new Date(at).toISOString().slice(0, 10)
    return { account: account.id, from: day(to - days * DAY), to: day(to), zone: 'Asia/Kolkata' }
  }
  const sendTurn = (query) => () => usageReport(deps, query)
  const year = range(366)
  const questions = {
    'a year by day, by model': sendTurn({ ...year, step: 'day', by: 'model' }),
    'a year by day, by key': sendTurn({ ...year, step: 'day', by: 'key' }),
    'a year by day, by kind': sendTurn({ ...year, step: 'day', by: 'kind' }),
    'a year by day, by model, of one key': sendTurn({ ...year, step: 'day', by: 'model', key: keys[0].id }),
    'a year by day, by key, of one model and kind': sendTurn({
      ...year,
      step: 'day',
      by: 'key',
      model: 'fast-coder',
      kind: 'wallet',
    }),
    'a year by month, by model': sendTurn({ ...year, step: 'month', by: 'model' }),
    '16 days by hour, by model': sendTurn({ ...range(16), step: 'hour', by: 'model' }),
    '16 days by hour, by key, of the plan': sendTurn({ ...range(16), step: 'hour', by: 'key', kind: 'builder' }),
    'the overview': () => usageOverview(deps, { account: account.id, zone: 'Asia/Kolkata' }),
    'a year by day, by key, as CSV': () => exportUsage(deps, { ...year, step: 'day', by: 'key' }),
  }
  console.log('| question | median ms | slowest ms | kB |\n|---|---|---|---|')
  for (const [name, question] of Object.entries(questions)) console.log(await time(name, question))
}

async function time(name, question) {
  const took = []
  let answer
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    answer = await question()
    took.push(performance.now() - began)
    if (answer.kind !== 'done') throw new Error(answer.message)
  }
  const kilobytes = JSON.stringify(answer.value).length / 1000
  return `| ${name} | ${median(took).toFixed(1)} | ${Math.max(...took).toFixed(1)} | ${kilobytes.toFixed(0)} |`
}
