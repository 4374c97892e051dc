// Durable billed requests a second of the ledger on PostgreSQL, with the PostgreSQL of this machine in a temporary folder, fsync on:
// nodes in one process, each with its own connections, admit and settle while other turns stay open. Beside them the plain way, two
// transactions a request with row locks.
//
//   npm run bench -- postgres [--seconds 4] [--rounds 5] [--nodes N, as many as cores] [--open 64,1000,5000] [--only NAME,NAME]
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { findPostgresPrograms, startPostgres } from '../test/program/postgres.mjs'
import { describeMachine, median } from './lib/measure.mjs'
import { createLedgerOnPostgres, plainRequests, turnsOnPostgres } from './lib/postgres-load.mjs'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    nodes: { type: 'string', default: String(availableParallelism()) },
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
    console.log(`# postgres: ${describeMachine()}, ${server.version}, fsync on, ${nodes} nodes\n`)
    console.log(
      '| accounts | turns open | requests/s | over two transactions | CPU us/request of the nodes | us of PostgreSQL |',
    )
    console.log('|---|---|---|---|---|---|')
    for (const each of CASES) {
      const loads = [
        { name: 'two transactions', open: (ledger) => plainRequests(ledger, each) },
        ...values.open.split(',').map((open) => ({
          name: open,
          open: (ledger) => turnsOnPostgres(ledger, { ...each, open: Number(open), nodes }),
        })),
      ].map((load) => ({ ...load, measured: [] }))
      // In rotation, so that a machine that becomes slower or faster meanwhile does so for all of them.
      for (let round = 0; round < rounds; round++)
        for (const load of loads) load.measured.push(await measure(server, each, load.open))
      for (const load of loads) console.log(rowOf(each, load, loads[0]))
    }
  } finally {
    await server.stop()
  }
}

/** On a new database, with a run before it to warm it up. */
async function measure(server, { accounts }, openLoad) {
  const ledger = await createLedgerOnPostgres(server, { accounts })
  const load = await openLoad(ledger)
  try {
    await load.run(seconds)
    return await load.run(seconds)
  } finally {
    await load.close()
    await ledger.drop()
  }
}

function rowOf({ name }, load, plain) {
  const of = (figure) => median(load.measured.map((round) => round[figure]))
  const ratio = median(load.measured.map(({ rate }, round) => rate / plain.measured[round].rate))
  return `| ${name} | ${load.name} | ${Math.round(of('rate'))} | ${ratio.toFixed(2)} | ${of('cpu').toFixed(0)} | ${of('databaseCpu').toFixed(0)} |`
}
