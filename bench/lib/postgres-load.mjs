// Requests to the ledger on PostgreSQL as turns make them, and to tables of the plain way.
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { installSchema } from '../../dist/db/postgres/install.js'
import { FUNCTIONS_SCHEMA, TABLES_SCHEMA } from '../../dist/db/postgres/schema.js'
import { openPostgresLedger } from '../../dist/ledger/postgres/open-ledger.js'
import { systemClock } from '../../dist/lib/clock.js'
import { secureRandom } from '../../dist/lib/random-id.js'
import { mintAccountId } from '../../dist/model/ids.js'
import { ENDING, openTurn, PRICE, settleTurn } from './ledger-load.mjs'

const CONCURRENT = 64
const CONNECTIONS = 8
const CREDIT = 1_000_000_000_000_000n
const AMOUNT = 160_000

let made = 0

/** A new database with an empty ledger and accounts with money. */
export async function createLedgerOnPostgres({ host, user }, { accounts }) {
  const database = `bench_${++made}`
  const admin = new pg.Pool({ host, user, database: 'postgres', max: 1 })
  // An ended pool still waits for its socket when the server stops.
  admin.on('error', () => {})
  await admin.query(`CREATE DATABASE ${database}`)
  const pools = []
  const connect = (max, options = '') => {
    const pool = new pg.Pool({ host, user, database, max, options })
    // Dropping the database ends connections that are about to end.
    pool.on('error', () => {})
    pools.push(pool)
    return pool
  }
  await installSchema(connect(1))
  const pool = connect(2, `-c search_path=${FUNCTIONS_SCHEMA},${TABLES_SCHEMA}`)
  const terms = JSON.stringify({ ...PRICE, cached_input: PRICE.cachedInput }, (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  await pool.query("INSERT INTO prices VALUES ('demo', 1, $1, 0)", [terms])
  const rows = []
  for (let index = 0; index < accounts; index++) {
    const added = await pool.query('SELECT add_account($1, $2) AS row', [
      mintAccountId(secureRandom),
      `bench-${index}@localhost`,
    ])
    const account = Number(added.rows[0].row)
    const order = { account, kind: 'credit', amount: String(CREDIT / BigInt(accounts)), reason: 'bench', ref: 'bench' }
    await pool.query('SELECT transfer_money($1)', [JSON.stringify(order)])
    rows.push(account)
  }
  return {
    connect,
    pool,
    accounts: rows,
    async drop() {
      await Promise.all(pools.map((each) => each.end()))
      await admin.query(`DROP DATABASE ${database} WITH (FORCE)`)
      await admin.end()
    },
  }
}

const SHARED = { subject: 'model', kind: 'tokens', scope: 'model', limit: 1e12, burst: 1e12, cost: 140 }

const limitsOf = (account) => [
  SHARED,
  { subject: `key ${account}`, kind: 'requests', scope: 'key', limit: 1e9, burst: 1e9, cost: 1 },
]

/** So many turns stay open while others are opened and settled. */
export async function turnsOnPostgres(ledger, { open, nodes, limited = false, shared = false }) {
  const opened = []
  for (let node = 0; node < nodes; node++) {
    const pool = ledger.connect(CONNECTIONS)
    const observer = {
      trouble: console.error,
      recovered() {},
      recorded() {},
      closed() {},
      leaseLost: () => console.error('a lease was lost'),
    }
    opened.push(
      await openPostgresLedger({
        pool,
        clock: systemClock,
        markIntervalMs: 100,
        leaseMs: 60_000,
        retryMs: 5000,
        observer,
      }),
    )
  }
  let next = 0
  const payer = () => {
    const account = ledger.accounts[next++ % ledger.accounts.length]
    return { account, ...(limited && { limits: limitsOf(account) }), ...(shared && { limits: [SHARED] }) }
  }
  const standing = []
  while (standing.length < open) {
    const some = Array.from({ length: Math.min(CONCURRENT, open - standing.length) }, (_, at) =>
      openTurn(opened[at % nodes], payer()),
    )
    standing.push(...(await Promise.all(some)))
  }
  await ledger.pool.query('ANALYZE')
  return {
    run: (seconds) =>
      measureRate(ledger, seconds, async (worker) => settleTurn(await openTurn(opened[worker % nodes], payer()))),
    async close() {
      await Promise.all(standing.map(settleTurn))
      await Promise.all(opened.map((node) => node.close()))
    },
  }
}

/** What a gateway does that has a row of money for each account: a transaction for the hold and one for the charge. */
export async function plainRequests(ledger) {
  const pool = ledger.connect(CONCURRENT)
  await pool.query(
    'CREATE TABLE plain_wallets (account bigint PRIMARY KEY, posted bigint NOT NULL, held bigint NOT NULL)',
  )
  await pool.query(`CREATE TABLE plain_receipts (row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account bigint NOT NULL,
    hold bigint NOT NULL, charge bigint, at timestamptz NOT NULL DEFAULT now(), facts jsonb)`)
  await pool.query('INSERT INTO plain_wallets SELECT unnest($1::bigint[]), 1000000000000000, 0', [ledger.accounts])
  const facts = JSON.stringify(ENDING, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  const transaction = async (work) => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const result = await work(client)
      await client.query('COMMIT')
      return result
    } finally {
      client.release()
    }
  }
  let next = 0
  const request = async () => {
    const account = ledger.accounts[next++ % ledger.accounts.length]
    const row = await transaction(async (client) => {
      const { rows } = await client.query(
        'SELECT posted - held AS free FROM plain_wallets WHERE account = $1 FOR UPDATE',
        [account],
      )
      if (Number(rows[0].free) < AMOUNT) throw new Error('not enough money')
      await client.query('UPDATE plain_wallets SET held = held + $2 WHERE account = $1', [account, AMOUNT])
      const added = await client.query('INSERT INTO plain_receipts (account, hold) VALUES ($1, $2) RETURNING row', [
        account,
        AMOUNT,
      ])
      return added.rows[0].row
    })
    await transaction(async (client) => {
      await client.query('UPDATE plain_wallets SET held = held - $2, posted = posted - $2 WHERE account = $1', [
        account,
        AMOUNT,
      ])
      await client.query('UPDATE plain_receipts SET charge = $2, facts = $3 WHERE row = $1', [row, AMOUNT, facts])
    })
  }
  return { run: (seconds) => measureRate(ledger, seconds, request), close: () => Promise.resolve() }
}

/** As many workers as turns at once, each one request after the other. */
async function measureRate(ledger, seconds, request) {
  const until = performance.now() + seconds * 1000
  const [own, theirs] = [process.cpuUsage(), databaseMicros(ledger)]
  const began = performance.now()
  let done = 0
  const worker = async (number) => {
    while (performance.now() < until) {
      await request(number)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, (_, number) => worker(number)))
  const { user, system } = process.cpuUsage(own)
  return {
    rate: done / ((performance.now() - began) / 1000),
    cpu: (user + system) / done,
    databaseCpu: (databaseMicros(ledger) - theirs) / done,
  }
}

/** Of all processes of PostgreSQL that are this process's descendants, by clock ticks of 10 ms. */
function databaseMicros() {
  const stats = new Map()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      stats.set(Number(pid), { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) })
    } catch {
      // It has ended meanwhile.
    }
  }
  const isOurs = (pid) => {
    for (let at = pid; at > 1; at = stats.get(at)?.parent ?? 0) if (at === process.pid) return pid !== process.pid
    return false
  }
  let ticks = 0
  for (const [pid, each] of stats) if (isOurs(pid)) ticks += each.ticks
  return ticks * 10_000
}
