import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { findFreePort } from '../../program/free-port.mjs'
import { findPostgresPrograms, startPostgres } from '../../program/postgres.mjs'
import { placeIn, startServer } from '../../program/program.mjs'

const ENVIRONMENT = { MILLRACE_SECRET_KEY: 'the-secret-of-the-nodes-in-this-test' }
const LEASE_MS = 3000
const LOGS = { telemetry: { log: { level: 'warn', format: 'json' } } }

/**
 * One server on SQLite, or several nodes on one PostgreSQL, which are killed and started by their number. `sections` are those of the
 * configuration, `environment` that of the servers, and `ofPostgres` that of PostgreSQL. Undefined, and said so, where there is no
 * PostgreSQL.
 */
export async function openNodes({ size, random, dist, tally, sections, environment, ofPostgres }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-nodes-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const postgres = size > 1 ? await openPostgres(ofPostgres) : undefined
  if (size > 1 && postgres === undefined) {
    console.log('No PostgreSQL here (initdb, postgres; Debian: apt-get install postgresql): nothing is tried.')
    console.log('0 passed, 0 failed')
    return undefined
  }
  const storageOn = ({ host }) => ({ database: `postgres://tester@localhost/nodes?host=${host}` })
  const storage = postgres && { storage: storageOn(postgres), ledger: { node_lease: `${LEASE_MS}ms` } }
  const nodes = []
  for (let number = 0; number < size; number++) await addNode()
  return { nodes, addNode, folder, postgres, storageOn, placeOf, stop: () => postgres?.stop() }

  function placeOf(home) {
    mkdirSync(home, { recursive: true })
    return placeIn(home, { dist, environment: { ...ENVIRONMENT, ...environment } })
  }

  async function addNode() {
    const number = nodes.length
    const home = join(folder, `node-${number}`)
    const place = placeOf(home)
    const [port, metricsPort] = [await findFreePort(random), await findFreePort(random)]
    const logPath = join(home, 'server.log')
    let server
    const node = {
      number,
      place,
      port,
      metricsPort,
      logPath,
      isServing: false,
      /** Takes effect when the server starts or reloads. */
      configure(changed) {
        const own = { ...LOGS, server: { metrics_port: metricsPort } }
        writeFileSync(place.config, JSON.stringify({ ...changed, ...storage, ...own }, null, 2))
      },
      async start() {
        server = startServer(place, { port, logPath })
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
    node.configure(sections)
    nodes.push(node)
    return node
  }
}

async function openPostgres(environment) {
  const programs = findPostgresPrograms()
  if (programs === undefined) return undefined
  const server = await startPostgres(programs, { fsync: true, environment })
  process.on('exit', () => rmSync(server.host, { recursive: true, force: true }))
  const admin = new pg.Pool({ host: server.host, user: server.user, database: 'postgres', max: 1 })
  admin.on('error', () => {})
  await admin.query('CREATE DATABASE nodes')
  await admin.end()
  return server
}
