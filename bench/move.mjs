// How long `db move` takes with a year of receipts, from SQLite to PostgreSQL and back, and how much memory it needs. Ends with 1
// unless all tables are equal after each move and both folders have the same rows.
//
//   npm run bench -- move [--receipts 1000000] [--accounts 1000]
//
// Beside the receipts there are as many quarters of an hour of usage, and a hundredth as many kept answers, stored responses and items.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { openContent } from '../dist/db/content/open-content.js'
import { openDatabase } from '../dist/db/open-database.js'
import { connect } from '../dist/db/sqlite/connection.js'
import { systemClock } from '../dist/lib/clock.js'
import { findPostgresPrograms, startPostgres } from '../test/program/postgres.mjs'
import { commandAt, placeIn, runCommand } from '../test/program/program.mjs'
import { fillLedger } from './lib/fill-books.mjs'
import { describeMachine } from './lib/measure.mjs'

const { values } = parseArgs({
  options: { receipts: { type: 'string', default: '1000000' }, accounts: { type: 'string', default: '1000' } },
})
const [RECEIPTS, ACCOUNTS] = [values.receipts, values.accounts].map(Number)
const PAGES = Math.ceil(RECEIPTS / 100)
const SECRET = 'a-secret-of-thirty-two-characters-and-more'
/** When the schema was made, what is proved, and the position of the ledger at the last write of content.db. */
const NOT_COMPARED = /^(?:migrations|marks|proved_\w+|sqlite_\w+|of_ledger)$/

const programs = findPostgresPrograms()
if (programs === undefined) throw new Error('No PostgreSQL here (initdb, postgres; Debian: apt-get install postgresql)')
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
const postgres = await startPostgres(programs, { fsync: true })
const admin = new pg.Client({ host: postgres.host, user: postgres.user, database: 'postgres' })
await admin.connect()
try {
  await run()
} finally {
  await admin.end()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function run() {
  const first = placeFor('first', 'sqlite')
  console.log(`# move: ${describeMachine()}, ${postgres.version}, load ${loadavg()[0].toFixed(1)}`)
  await fill(first)
  const megabytes = ['ledger.db', 'content.db'].map((name) => Math.round(statSync(join(first.data, name)).size / 1e6))
  console.log(
    `${RECEIPTS} receipts of ${ACCOUNTS} accounts: ledger.db ${megabytes[0]} MB, content.db ${megabytes[1]} MB\n`,
  )
  await admin.query('CREATE DATABASE moved')
  const url = `postgres://${postgres.user}@localhost/moved?host=${postgres.host}`
  const back = join(folder, 'back')
  console.log('| move | seconds | rows | tables | all equal | peak RSS MB |')
  console.log(`|${'---|'.repeat(6)}`)
  const before = digestOfFiles(first.data)
  await move('SQLite to PostgreSQL', first, url)
  if (digestOfFiles(first.data) !== before) throw new Error('the move has changed the files that it moves')
  await move('PostgreSQL to SQLite', placeFor('node', url), back)
  const differing = compareFolders(first.data, back)
  console.log(`\nTables that differ between the first folder and the last: ${differing.join(', ') || 'none'}`)
  if (differing.length > 0) process.exitCode = 1
}

function placeFor(name, database) {
  const place = placeIn(join(folder, name), { environment: { MILLRACE_SECRET_KEY: SECRET } })
  mkdirSync(place.data, { recursive: true })
  writeFileSync(place.config, `storage: { database: "${database}" }\n`)
  return place
}

async function fill(place) {
  const database = await openDatabase({ path: join(place.data, 'ledger.db'), clock: systemClock })
  await fillLedger(database, { accounts: ACCOUNTS, receipts: RECEIPTS })
  // The first receipt of an account has its number.
  await database.file.atomic([{ sql: 'UPDATE spend_counters SET first_receipt = account', rows: [[]] }])
  await database.close()
  // Gives the ledger its key, and content.db its ledger.
  const { code, err } = await runCommand(place, ['accounts', 'list', '--limit', '1'])
  if (code !== 0) throw new Error(err)
  const content = await openContent({ path: join(place.data, 'content.db'), clock: systemClock })
  const numbers = 'WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)'
  const sums = (await content.all('SELECT name FROM pragma_table_info(?)', ['usage'])).map(({ name }) => name).slice(2)
  const fills = [
    [`INSERT OR IGNORE INTO owners (owner, id) SELECT n, printf('acct_%012d', n) FROM number`, ACCOUNTS],
    [`INSERT OR IGNORE INTO usage_series SELECT n, n, 'key', n, '', '', 1 FROM number`, ACCOUNTS],
    [
      `INSERT OR IGNORE INTO usage (series, quarter, ${sums.join(', ')})
        SELECT 1 + n % ${ACCOUNTS}, n / ${ACCOUNTS}, ${sums.map(() => 'n * 1000').join(', ')} FROM number`,
      RECEIPTS,
    ],
    [
      `INSERT INTO answers (request_id, account, ring_key, status, content_type, encoding, raw_bytes, bytes, facts, at, expires_at, sealed)
        SELECT 'req_' || n, 1 + n % ${ACCOUNTS}, 'k', 200, 'application/json', 'identity', 2000, 2000, '{}', n, n, randomblob(2000) FROM number`,
      PAGES,
    ],
    [
      `INSERT INTO responses (response, account, id, request_id, created_at, expires_at, status, parent, items, item_bytes, log, bytes)
        SELECT n, 1 + n % ${ACCOUNTS}, 'resp_' || n, 'req_' || n, n, n, 'completed', CASE WHEN n > ${ACCOUNTS} THEN n - ${ACCOUNTS} END,
          1, 3000, 'none', 100 FROM number`,
      PAGES,
    ],
    [
      `INSERT INTO items (item, account, digest, encoding, raw_bytes, bytes, sealed)
        SELECT n, 1 + n % ${ACCOUNTS}, 'digest ' || n, 'identity', 3000, 3000, randomblob(3000) FROM number`,
      PAGES,
    ],
    ['INSERT INTO response_items SELECT n, 0, 0, n FROM number', PAGES],
  ]
  for (const [sql, rows] of fills)
    await content.atomic([{ sql: sql.replace('SELECT', `${numbers} SELECT`), rows: [[rows]] }])
  await content.close()
}

/** The program in a process of its own, whose memory is watched. */
async function move(name, place, target) {
  const began = performance.now()
  const child = spawn(process.execPath, commandAt(place, 'db', 'move', '--to', target, '--json'), {
    env: { PATH: process.env.PATH, HOME: folder, ...place.environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let [output, peak] = ['', 0]
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  const watch = setInterval(() => {
    peak = Math.max(peak, peakOf(child.pid))
  }, 200)
  const code = await new Promise((resolve) => child.once('close', resolve))
  clearInterval(watch)
  const report = JSON.parse(output)
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${output}`)
  const rows = report.tables.reduce((sum, table) => sum + table.rows, 0)
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  console.log(
    `| ${name} | ${seconds} | ${rows} | ${report.tables.length} | ${report.ok} | ${(peak / 1e6).toFixed(0)} |`,
  )
}

function peakOf(pid) {
  try {
    // A process that has just ended has no such line.
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

function digestOfFiles(data) {
  const hash = createHash('sha256')
  for (const name of ['ledger.db', 'content.db']) hash.update(readFileSync(join(data, name)))
  return hash.digest('hex')
}

/** Tables of the two files whose rows are not the same in both folders. */
function compareFolders(one, other) {
  return ['ledger.db', 'content.db'].flatMap((name) => {
    const file = connect(join(one, name))
    file.exec(`ATTACH '${join(other, name)}' AS other`)
    const tables = file.prepare(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`).all([])
    const differing = tables
      .map((table) => table.name)
      .filter((table) => !NOT_COMPARED.test(table) && differs(file, table))
    file.close()
    return differing
  })
}

function differs(file, table) {
  const columns = file.prepare(`SELECT name FROM pragma_table_info('${table}')`).all([])
  // The numbers of counters say nothing.
  const names = columns.map(({ name }) => name).filter((name) => !(table === 'spend_counters' && name === 'row'))
  const [main, other] = ['main', 'other'].map((schema) => `SELECT ${names.join(', ')} FROM ${schema}.${table}`)
  const [found] = file
    .prepare(
      `SELECT (SELECT COUNT(*) FROM (${main})) = (SELECT COUNT(*) FROM (${other})) AND NOT EXISTS (${main} EXCEPT ${other}) AS same`,
    )
    .all([])
  return found.same !== 1n
}
