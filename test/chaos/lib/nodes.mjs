import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { findFreePort } from '../../program/free-port.mjs'
import { findPostgresPrograms, startPostgres } from '../../program/postgres.mjs'
import { placeIn, startServer } from '../../program/program.mjs'

const ENVIRONMENT = { MILLRACE_SECRET_KEY: 'the-secret-of-the-nodes-in-this-test' }
const LEASE_MS = 3000

/**
 * One server on SQLite, or several nodes on one PostgreSQL, which are killed and started by their number. `sections` are those of the
 * configuration. Undefined, and said so, where there is no PostgreSQL.
 */
export async function openNodes({ size, random, dist, tally, sections }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-nodes-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const postgres = size > 1 ? await openPostgres() : undefined
  if (size > 1 && postgres === undefined) {
    console.log('No PostgreSQL here (initdb, postgres; Debian: apt-get install postgresql): nothing is tried.')
    console.log('0 passed, 0 failed')
    return undefined
  }
  const storage = postgres && {
    storage: { database: `postgres://tester@localhost/nodes?host=${postgres.host}` },
    ledger: { node_lease: `${LEASE_MS}ms` },
  }
  const logs = { telemetry: { log: { level: 'warn', format: 'json' } }, server: { metrics_port: 0 } }
  const config = JSON.stringify({ ...sections, ...storage, ...logs })
  const nodes = []
  for (let number = 0; number < size; number++) nodes.push(await createNode(join(folder, `node-${number}`)))
  return { nodes, stop: () => postgres?.stop() }

  async function createNode(home) {
    mkdirSync(home, { recursive: true })
    const place = placeIn(home, { dist, environment: ENVIRONMENT })
    writeFileSync(place.config, config)
    const port = await findFreePort(random)
    let server
    const node = {
      place,
      port,
      isServing: false,
      async start() {
        server = startServer(place, { port })
        await server.ready
        node.isServing = true
      },
      async kill() {
        node.isServing = false
        server.kill('SIGKILL')
        await server.ended
      },
      async stop() {
        node.isServing = false
        server.kill('SIGTERM')
        const { code } = await server.ended
        tally.check(code === 0, `a node ends by itself (${code})`)
      },
    }
    return node
  }
}

async function openPostgres() {
  const programs = findPostgresPrograms()
  if (programs === undefined) return undefined
  const server = await startPostgres(programs, { fsync: true })
  process.on('exit', () => rmSync(server.host, { recursive: true, force: true }))
  const admin = new pg.Pool({ host: server.host, user: server.user, database: 'postgres', max: 1 })
  admin.on('error', () => {})
  await admin.query('CREATE DATABASE nodes')
  await admin.end()
  return server
}
