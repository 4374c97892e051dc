// How long the searches and lists of operators hold the thread of the ledger and the main loop, slice by slice, in a file with
// many accounts, each with a key, a person, a plan, a window in use and an act. One statement at a time: its wall time on a busy
// machine says more about the neighbours, so the CPU time of the whole process stands beside it.
//
//   npm run bench -- searches [--accounts 20000]        1,000,000 take about two minutes and 1.2 GB of the temporary folder
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Kysely } from 'kysely'
import { listAccountsLike, listCodePage } from '../dist/db/accounts.js'
import { countRunningPlans } from '../dist/db/allowances.js'
import { listAuditBefore } from '../dist/db/audit.js'
import { LEDGER_TIMES_AHEAD, LEDGER_TIMES_UNCLEAR, listTimesAhead } from '../dist/db/clock.js'
import { listShownKeys, listWholeKeys } from '../dist/db/keys.js'
import { createStoreDialect } from '../dist/db/kysely-dialect.js'
import { openDatabase } from '../dist/db/open-database.js'
import { listPeople } from '../dist/db/people.js'
import { oneReadAtATime } from '../dist/db/sqlite/open-sqlite.js'
import { systemClock } from '../dist/lib/clock.js'
import { describeMachine } from './lib/measure.mjs'

const { values } = parseArgs({ options: { accounts: { type: 'string', default: '20000' } } })
const ACCOUNTS = Number(values.accounts)
/** One account has so many revoked keys besides. */
const KEYS_OF_ONE = Math.min(ACCOUNTS, 100_000)
const LAST = Number.MAX_SAFE_INTEGER

const folder = mkdtempSync(join(tmpdir(), 'millrace-searches-'))
const database = await openDatabase({ path: join(folder, 'ledger.db'), clock: systemClock })
try {
  await fill(database.file)
  const slices = []
  const file = oneReadAtATime(timed(database.file, slices), systemClock)
  const db = new Kysely({ dialect: createStoreDialect(file) })
  console.log(`# searches: ${describeMachine()}, load ${loadavg()[0].toFixed(1)}, ${ACCOUNTS} accounts\n`)
  console.log('| search | found | statements | ms in all | wall ms p50 | p99 | max | CPU ms p99 | max | heap MiB |')
  console.log('|---|---|---|---|---|---|---|---|---|---|')
  for (const [name, run] of Object.entries(searchesOf(db, file))) await measure(name, run, slices)
} finally {
  await database.close()
  rmSync(folder, { recursive: true })
}

function searchesOf(db, file) {
  const page = { before: LAST, limit: 201 }
  const like = (search) => () => listAccountsLike(db, { ...page, search })
  return {
    'accounts, first page': like(undefined),
    'accounts with a common text': like('@example'),
    'accounts with a text of few': like(`u${ACCOUNTS >> 1}@`),
    'accounts with a text of none': like('nobody'),
    'accounts by the start of an id': like(`acct_${'0'.repeat(3)}${String(ACCOUNTS >> 1).padStart(9, '0')}`),
    'keys of all, first page': () => listWholeKeys(db, undefined, page),
    [`keys of one with ${KEYS_OF_ONE}, a word of none`]: () => listShownKeys(db, 1, { ...page, words: ['nothing'] }),
    'people, first page': () => listPeople(db, { after: 0, limit: 201 }),
    'codes, first page': () => listCodePage(db, page),
    'acts on a target of none': () => listAuditBefore(db, { ...page, account: undefined, target: 'key_none' }),
    'how many are on each plan': () => countRunningPlans(db, 10),
    'what is ahead of a clock (db clock)': () => countAhead(file),
  }
}

async function countAhead(file) {
  const found = []
  for (const table of [...LEDGER_TIMES_AHEAD, ...LEDGER_TIMES_UNCLEAR])
    for await (const rows of listTimesAhead(file, table, { from: 2000, to: 1000 })) found.push(...rows.slice(0, 1))
  return found
}

async function measure(name, run, slices) {
  await run()
  slices.length = 0
  const began = performance.now()
  const found = await run()
  const all = performance.now() - began
  const wall = slices.map(({ ms }) => ms)
  const cpu = slices.map(({ cpuMs }) => cpuMs)
  const heap = process.memoryUsage().heapUsed / 2 ** 20
  const figures = [at(wall, 0.5), at(wall, 0.99), at(wall, 1), at(cpu, 0.99), at(cpu, 1)].map((ms) => ms.toFixed(1))
  console.log(
    `| ${name} | ${found.length} | ${slices.length} | ${all.toFixed(0)} | ${figures.join(' | ')} | ${heap.toFixed(0)} |`,
  )
}

function at(values, share) {
  return values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? 0
}

/** What stands between a question and its answer, on both threads. */
function timed(file, slices) {
  const all = async (sql, parameters) => {
    const [began, cpu] = [performance.now(), process.cpuUsage()]
    const rows = await file.all(sql, parameters)
    const { user, system } = process.cpuUsage(cpu)
    slices.push({ ms: performance.now() - began, cpuMs: (user + system) / 1000 })
    return rows
  }
  return { ...file, all }
}

async function fill(file) {
  const numbers = (count) => `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})`
  const accounts = numbers(ACCOUNTS)
  const some = numbers(KEYS_OF_ONE)
  const models = `'["gpt-*","claude-*"]'`
  const statements = [
    `INSERT INTO accounts (id, email, status, created_at)
      ${accounts} SELECT printf('acct_000%09dabcdefghjk', n), printf('u%d@example.com', n), 'active', 1 FROM n`,
    `INSERT INTO buckets (row, unit, kind, account, subject) ${accounts} SELECT n + 2, 'usd', 'wallet', n, 'wallet' FROM n`,
    `INSERT INTO buckets (row, unit, kind, account, subject, period_start, period_end)
      ${accounts} SELECT n + 1099511627776, 'quota', 'window', n, 'window:5h', 500, 900 FROM n`,
    `INSERT INTO keys (id, account, kind, name, digest, shown, models, created_at)
      ${accounts} SELECT printf('key_%d', n), n, 'wallet', 'work', randomblob(32), 'mr_wallet_ab...yz', ${models}, 1 FROM n`,
    `INSERT INTO keys (id, account, kind, name, digest, shown, models, created_at, revoked_at)
      ${some} SELECT printf('key_old%d', n), 1, 'wallet', 'old', randomblob(32), 'mr_wallet_ab...yz', ${models}, 1, 2 FROM n`,
    `INSERT INTO people (id, email, role, account, password, created_at, password_changed_at)
      ${accounts} SELECT printf('usr_%d', n), printf('u%d@example.com', n), 'owner', n, 'hash', 1, 1 FROM n`,
    `INSERT INTO subscriptions (account, plan, billing_day, started_at)
      ${accounts} SELECT n, CASE n % 3 WHEN 0 THEN 'lean' ELSE 'pro' END, 1, 1 FROM n`,
    `INSERT INTO codes (id, batch, digest, shown, amount_nano, note, created_at, created_by)
      ${accounts} SELECT printf('code_%d', n), 'b', randomblob(32), 'AB..', 5, '', 1, 'operator' FROM n`,
    `INSERT INTO audit (seq, at, actor, action, target, account, detail, prev_hash, hash)
      ${accounts} SELECT n, 1, 'operator', 'key_created', printf('key_%d', n), n, '', x'00', x'00' FROM n`,
  ]
  for (const sql of statements) await file.atomic([{ sql, rows: [[]] }])
}
