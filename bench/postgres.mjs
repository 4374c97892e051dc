// Durable billed requests a second of the ledger on PostgreSQL, with the PostgreSQL of this machine in a temporary folder, fsync on:
// nodes in one process, each with its own connections, admit and settle while other turns stay open. Beside them the plain way, two
// transactions a request with row locks.
//
//   npm run bench -- postgres [--seconds 5] [--rounds 3] [--nodes 4] [--open 64,1000,5000] [--only NAME,NAME]
import { parseArgs } from 'node:util'
import { findPostgresPrograms, startPostgres } from '../test/program/postgres.mjs'
import { describeMachine, median } from './lib/measure.mjs'
import { createLedgerOnPostgres, plainRequests, turnsOnPostgres } from './lib/postgres-load.mjs'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    nodes: { type: 'string', default: '4' },
    open: { type: 'string', default: '64,1000,5000' },
    only: { type: 'string' },
  },
})
const [seconds, rounds, nodes] = [values.seconds, values.rounds, values.nodes].map(Number)

/** `limited`: one token limit that all turns share, and one on requests of each key. `shared`: only the first. */
const CASES = [
  { name: 'spread', accounts: 200 },
  { name: 'limited', accounts: 200, limited: true },
  { name: 'shared', accounts: 200, shared: true },
  { name: 'hot', accounts: 1 },
].filter(({ name }) => values.only === undefined || values.only.split(',').includes(name))

const programs = findPostgresPrograms()
if (programs === undefined) console.log('No PostgreSQL here (initdb, postgres): nothing is measured.')
else await measureAll(programs)

async function measureAll(folder) {
  const server = await startPostgres(folder, { fsync: true })
  try {
    console.log(`# postgres: ${describeMachine()}, ${server.version}, fsync on\n`)
    console.log(
      '| accounts | turns open | requests/s | over two transactions | CPU us/request of the nodes | us of PostgreSQL |',
    )
    console.log('|---|---|---|---|---|---|')
    for (const each of CASES) {
      const plain = await measure(server, each, (ledger) => plainRequests(ledger, each))
      console.log(rowOf(each, 'two transactions', plain, plain))
      for (const open of values.open.split(',').map(Number))
        console.log(
          rowOf(
            each,
            open,
            await measure(server, each, (ledger) => turnsOnPostgres(ledger, { ...each, open, nodes })),
            plain,
          ),
        )
    }
  } finally {
    await server.stop()
  }
}

/** Each on a new database. */
async function measure(server, { accounts }, openLoad) {
  const ledger = await createLedgerOnPostgres(server, { accounts })
  const load = await openLoad(ledger)
  try {
    await load.run(seconds)
    const measured = []
    for (let round = 0; round < rounds; round++) measured.push(await load.run(seconds))
    return Object.fromEntries(
      ['rate', 'cpu', 'databaseCpu'].map((figure) => [figure, median(measured.map((round) => round[figure]))]),
    )
  } finally {
    await load.close()
    await ledger.drop()
  }
}

function rowOf({ name }, open, { rate, cpu, databaseCpu }, plain) {
  return `| ${name} | ${open} | ${Math.round(rate)} | ${(rate / plain.rate).toFixed(2)} | ${cpu.toFixed(0)} | ${databaseCpu.toFixed(0)} |`
}
