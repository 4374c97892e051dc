// A simulation of several cells: PostgreSQL databases that share nothing, a map that says which one has an account, and
// accounts that move while their clients ask. See docs/operate/cells.md.
//
//   node test/cells/run.mjs [--cells 3] [--accounts 24] [--clients 24] [--moves 20] [--seed N] [--dist FOLDER]
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { readOptions } from '../program/options.mjs'
import { findPostgresPrograms, startPostgres } from '../program/postgres.mjs'
import { createRandom } from '../program/random.mjs'
import { createTally } from '../program/tally.mjs'
import { moveAccount } from './lib/move-account.mjs'
import { openCell } from './lib/open-cell.mjs'

const options = readOptions({ cells: 3, accounts: 24, clients: 24, moves: 20 })
/** How long a router may go on with a map that it has read. */
const MAP_KEPT_MS = 50
const RETRY_MS = 20

const programs = findPostgresPrograms()
if (programs === undefined) {
  console.log('No PostgreSQL here (initdb, postgres; Debian: apt-get install postgresql): the cells are skipped.')
  console.log('0 passed, 0 failed')
} else {
  console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
  const postgres = await startPostgres(programs)
  process.on('exit', () => rmSync(postgres.host, { recursive: true, force: true }))
  await simulate(postgres).finally(postgres.stop)
}

async function simulate(postgres) {
  const tally = createTally()
  const random = createRandom(options.seed)
  const admin = new pg.Pool({ host: postgres.host, user: postgres.user, database: 'postgres', max: 1 })
  const modules = await loadModules(options.dist)
  const cells = []
  for (let number = 0; number < options.cells; number++) {
    await admin.query(`CREATE DATABASE cell_${number}`)
    cells.push(await openCell({ number, postgres, modules }))
  }
  await admin.end()
  const accounts = []
  for (let index = 0; index < options.accounts; index++) {
    const cell = cells[index % cells.length]
    accounts.push({ ...(await cell.addAccount(`account-${index}@localhost`)), charged: 0n, scopes: [] })
  }
  /** The map: only what it says is asked. Replaced, never changed, so that a router has an old one or a new one. */
  let map = new Map(accounts.map(({ id }, index) => [id, cells[index % cells.length]]))
  const state = { stopped: false, refused: 0 }
  const readMap = () => map
  const clients = Array.from({ length: options.clients }, (_, index) =>
    runClient({ random: random.fork(index), accounts, readMap, state }),
  )
  for (let moves = 0; moves < options.moves; moves++) {
    const account = random.pick(accounts)
    const from = map.get(account.id)
    const to = random.pick(cells.filter((cell) => cell !== from))
    await moveAccount({
      account,
      from,
      to,
      routersKnowAfterMs: MAP_KEPT_MS * 2,
      onCopied: () => {
        map = new Map(map).set(account.id, to)
      },
    })
    await sleep(random.between(20, 80))
  }
  state.stopped = true
  await Promise.all(clients)

  const sums = await Promise.all(accounts.map(async (account) => map.get(account.id).balanceOf(account)))
  const wrong = accounts.filter(({ credit, charged }, index) => sums[index] !== credit - charged)
  const requests = accounts.reduce((sum, { scopes }) => sum + scopes.length, 0)
  console.log(
    `${requests} requests charged, ${state.refused} asked again while their account moved, ${options.moves} moves`,
  )
  tally.check(requests > 0 && state.refused > 0, 'there were requests, also while accounts moved')
  tally.check(
    wrong.length === 0,
    `every balance is its credit less what its clients were charged (${wrong.length} are not)`,
  )
  const repeated = await Promise.all(accounts.map((account) => repeatAll(account, map.get(account.id))))
  tally.check(repeated.every(Boolean), 'an idempotency key that was charged in one cell is not charged in the next')
  for (const cell of cells) tally.check(await cell.holds(), `the books of cell ${cell.number} hold`)
  await Promise.all(cells.map((cell) => cell.close()))
  tally.close()
}

/** A client behind a router that reads the map now and then. */
async function runClient({ random, accounts, readMap, state }) {
  let [map, readAt] = [readMap(), Date.now()]
  while (!state.stopped) {
    const account = random.pick(accounts)
    const request = { scope: `scope-${random.below(2 ** 40)}`, charge: BigInt(1 + random.below(1000)) }
    for (;;) {
      if (Date.now() - readAt > MAP_KEPT_MS) [map, readAt] = [readMap(), Date.now()]
      if (await map.get(account.id).ask(account, request)) break
      state.refused += 1
      await sleep(RETRY_MS)
    }
    account.charged += request.charge
    account.scopes.push(request.scope)
  }
}

/** True when none of them runs again. */
async function repeatAll(account, cell) {
  for (const scope of account.scopes.slice(0, 20)) if (!(await cell.isClaimed(account, scope))) return false
  return true
}

async function loadModules(dist) {
  const load = (name) => import(join(dist, name))
  return {
    ...(await load('db/postgres/install.js')),
    ...(await load('db/postgres/schema.js')),
    ...(await load('ledger/postgres/open-ledger.js')),
    ...(await load('lib/clock.js')),
    ...(await load('lib/random-id.js')),
    ...(await load('model/ids.js')),
  }
}
