import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sendRequest } from '../../chaos/lib/request.mjs'
import { configText } from '../../chaos/lib/scene.mjs'
import { findFreePort } from '../../program/free-port.mjs'
import { placeIn, startServer } from '../../program/program.mjs'
import { openProxy } from './proxy.mjs'

/** The nodes share the secret that seals and digests everything. */
export const ENVIRONMENT = { MILLRACE_SECRET_KEY: 'the-secret-of-a-cluster-in-a-test-of-it' }
export const LEASE_MS = 3000
/** How long a node may bring its ends after its lease, as in app/create-app.ts, and a sweep. */
export const RECOVERED_WITHIN_MS = LEASE_MS + 10_000 + 6000

export const sectionsOf = (host, database) => ({
  storage: { database: `postgres://tester@localhost/${database}?host=${host}` },
  ledger: { node_lease: `${LEASE_MS}ms` },
  // A node that stood still would shed load for a while.
  overload: { loop_delay: 'off' },
})

/** What happens to a node is felt for so long. */
const AFTER_MS = 5 * LEASE_MS

/** What a client is told whose answer the ledger cut off: as good as a broken connection. */
const CUT_OFF = new Set(['ledger_unavailable', 'internal_error'])

/** Nodes on one database, each with a folder and a way to PostgreSQL of its own, and clients that ask any of them. */
export async function createCluster({ dist, random, providerPort, postgres, database, more = {}, size }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-cluster-'))
  const agent = new Agent({ keepAlive: true })
  const notes = []
  const nodes = []
  for (let number = 0; number < size; number++) {
    nodes.push(await createNode({ folder, number, dist, random, providerPort, postgres, database, more }))
  }
  const alive = () => nodes.filter(({ isServing }) => isServing)
  let refusedConnections = 0
  return {
    folder,
    nodes,
    notes,
    alive,
    get refusedConnections() {
      return refusedConnections
    },
    gate: {
      async passed() {
        while (alive().length === 0) await sleep(20)
      },
    },
    async sendTurn(sendTurn, onSeen) {
      const node = random.pick(alive())
      if (node === undefined) return { ended: 'unsent' }
      const note = await sendRequest({ port: node.port, agent, sendTurn, onSeen })
      note.kills = node.interruptions
      note.interrupted = node.interruptions.some((at) => at >= note.startedAt - AFTER_MS && at <= note.endedAt)
      note.node = node.number
      if (note.status === 200 && note.ended === 'failed' && CUT_OFF.has(note.code)) note.ended = 'broken'
      if (note.ended === 'unsent') refusedConnections += 1
      else notes.push(note)
      return note
    },
    async stop() {
      return Promise.all(nodes.map((node) => node.stop()))
    },
    clear() {
      agent.destroy()
      for (const node of nodes) node.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function createNode({ folder: parent, number, dist, random, providerPort, postgres, database, more }) {
  const folder = join(parent, `node${number}`)
  mkdirSync(folder)
  const [port, metricsPort] = [await findFreePort(random), await findFreePort(random)]
  const proxy = await openProxy(postgres.host)
  const place = placeIn(folder, { dist, environment: ENVIRONMENT })
  const sections = { ...sectionsOf(proxy.host, database), ...more }
  writeFileSync(place.config, configText({ metricsPort, providerPort, more: sections }))
  const logPath = join(folder, 'server.log')
  /** Moments from which what this node delivers may be uncharged. */
  const interruptions = []
  let server
  const node = {
    number,
    place,
    port,
    metricsPort,
    proxy,
    interruptions,
    isServing: false,
    get logLines() {
      return readFileSync(logPath, 'utf8').split('\n')
    },
    async start() {
      server = startServer(place, { port, logPath })
      await server.ready
      node.isServing = true
    },
    async kill() {
      node.isServing = false
      interruptions.push(Date.now())
      server.kill('SIGKILL')
      await server.ended
    },
    /** Stands still, and goes on as if nothing had been. Clients do not know, and go on asking it. */
    async pause(forMs) {
      interruptions.push(Date.now())
      server.kill('SIGSTOP')
      await sleep(forMs)
      server.kill('SIGCONT')
    },
    async stop() {
      node.isServing = false
      server.kill('SIGTERM')
      return (await server.ended).code
    },
    /** Stops, and starts as another build. Returns how it ended. */
    async replace(build) {
      const code = await node.stop()
      place.dist = build
      await node.start()
      return code
    },
    close: () => proxy.close(),
  }
  return node
}
