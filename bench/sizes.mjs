// Does a request cost more where there is more of something? CPU per JSON request of 1 kB of the whole gateway: on a small
// installation, and beside it on one with many receipts, keys, models or accounts, by turns.
//
//   npm run bench -- sizes [--receipts 10000000] [--keys 100000] [--models 1000] [--accounts 1000000]
//                          [--active 2000] [--rounds 7] [--requests 6000]
//
// Requests come with ten keys in turn; `active` is many keys, and requests with so many of them in turn.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { apiKeyPepper, loadKeyring } from '../dist/app/key-ring.js'
import { mintKey } from '../dist/auth/secrets.js'
import { openDatabase } from '../dist/db/open-database.js'
import { systemClock } from '../dist/lib/clock.js'
import { createAccount, placeIn, startServer } from '../test/program/program.mjs'
import { fillLedger } from './lib/fill-ledger.mjs'
import { load } from './lib/load.mjs'
import { cpuMicros, describeMachine, median } from './lib/measure.mjs'
import { mockConfig } from './lib/mock-config.mjs'
import { pin } from './lib/pin.mjs'

const names = {
  ...{ receipts: '10000000', keys: '100000', models: '1000', accounts: '1000000', active: '2000' },
  ...{ rounds: '7', requests: '6000' },
}
const { values } = parseArgs({
  options: Object.fromEntries(Object.entries(names).map(([name, value]) => [name, { type: 'string', default: value }])),
})
const sizes = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]))
const SMALL = { receipts: 0, keys: 10, models: 1, accounts: 0, active: 10 }
const ROWS_AT_ONCE = 100_000
const CONCURRENT = 32

const NUMBERS = 'WITH RECURSIVE number (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM number WHERE n < ?2)'
const MORE_ACCOUNTS = [
  `INSERT INTO accounts (row, id, email, status, created_at) ${NUMBERS}
    SELECT n, printf('acct_%012d', n), printf('bench-%d@localhost', n), 'active', 1 FROM number`,
  `INSERT INTO buckets (row, unit, kind, account, subject) ${NUMBERS} SELECT 1000 + n, 'usd', 'wallet', n, 'wallet' FROM number`,
]

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
const children = []
try {
  console.log(`# sizes: ${describeMachine()}\n`)
  const provider = fork(fileURLToPath(new URL('./lib/mock-provider.mjs', import.meta.url)))
  children.push(provider)
  const [{ port }] = await once(provider, 'message')
  const servers = [await start('small', SMALL, port)]
  for (const name of Object.keys(SMALL)) {
    const more = name === 'active' ? { keys: sizes.keys, active: sizes.active } : { [name]: sizes[name] }
    if (sizes[name] > 0) servers.push(await start(name, { ...SMALL, ...more }, port))
  }
  for (const { pid } of servers) pin({ server: pid, others: [provider.pid, process.pid] })
  await compare(servers)
} finally {
  for (const child of children) child.kill()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function start(name, { receipts, keys, models, accounts, active }, providerPort) {
  const own = join(folder, name)
  mkdirSync(own)
  const place = placeIn(own)
  const ids = Array.from({ length: models }, (_, number) => `json-${number}`)
  writeFileSync(place.config, mockConfig(providerPort, ids, { maxOutputTokens: 4096 }))
  await createAccount(place, { email: 'bench@localhost', credit: '1000000' })
  const began = performance.now()
  const path = join(place.data, 'ledger.db')
  const tokens = (await fill(place, path, { receipts, keys, accounts })).slice(0, active)
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  const server = startServer(place, { logPath: join(own, 'log') })
  children.push(server)
  const { port } = new URL(await server.ready)
  console.log(
    `${name}: ${receipts} receipts, ${keys} keys (${tokens.length} in use), ${models} models, ${accounts + 1} accounts; ${(statSync(path).size / 1e6).toFixed(0)} MB, filled in ${seconds} s`,
  )
  const body = Buffer.from(
    JSON.stringify({ model: ids.at(-1), messages: [{ role: 'user', content: 'z'.repeat(900) }] }),
  )
  return { name, pid: server.pid, port: Number(port), tokens, body }
}

/** Adds what is asked for to a new ledger. Returns the keys. */
async function fill({ data }, path, { receipts, keys, accounts }) {
  const {
    keys: [founding],
  } = await loadKeyring({ dataDir: data, secretFromEnvironment: undefined })
  const pepper = apiKeyPepper({ founding })
  const minted = Array.from({ length: keys }, () => mintKey({ pepper, random: randomBytes }, 'wallet'))
  const database = await openDatabase({ path, clock: systemClock })
  const { file } = database
  for (let done = 0; done < keys; done += ROWS_AT_ONCE) {
    const rows = minted
      .slice(done, done + ROWS_AT_ONCE)
      .map(({ digest, shown }, at) => [done + at + 1, `key_${done + at}`, digest, shown])
    const sql = `INSERT INTO keys (row, id, account, kind, name, digest, shown, created_at) VALUES (?, ?, 1, 'wallet', 'bench', ?, ?, 1)`
    await file.atomic([{ sql, rows }])
  }
  for (let done = 1; done <= accounts; done += ROWS_AT_ONCE) {
    const range = [done + 1, Math.min(done + ROWS_AT_ONCE, accounts + 1)]
    await file.atomic(MORE_ACCOUNTS.map((sql) => ({ sql, rows: [range] })))
  }
  if (receipts > 0) await fillLedger(database, { receipts, accounts: 1 })
  await database.close()
  return minted.map(({ key }) => key)
}

async function compare(servers) {
  const run = ({ port, tokens, body }, requests) => {
    const headers = tokens.map((token) => ({ authorization: `Bearer ${token}` }))
    return load({ port, headers, body, concurrent: CONCURRENT, requests })
  }
  for (const server of servers) await run(server, 3 * sizes.requests)
  const costs = servers.map(() => [])
  let failures = 0
  for (let round = 0; round < sizes.rounds; round++) {
    for (let turn = 0; turn < servers.length; turn++) {
      const at = (turn + round) % servers.length
      const before = cpuMicros(servers[at].pid)
      const result = await run(servers[at], sizes.requests)
      failures += result.failures
      costs[at].push((cpuMicros(servers[at].pid) - before) / sizes.requests)
    }
  }
  const [small] = costs
  console.log(`\n| installation | CPU us a request | over small (median of ${sizes.rounds} rounds) |\n|---|---|---|`)
  for (const [at, { name }] of servers.entries()) {
    const ratio = median(costs[at].map((cost, round) => cost / small[round]))
    console.log(`| ${name} | ${median(costs[at]).toFixed(1)} | ${ratio.toFixed(3)} |`)
  }
  console.log(`\n${failures} failures`)
}
