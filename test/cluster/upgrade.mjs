// Nodes on one PostgreSQL that are replaced one by one by another build, and back, while clients ask: no request may fail.
// See README.md.
//
//   node test/cluster/upgrade.mjs [--rounds 2] [--clients 20] [--nodes 3] [--seed N] [--dist FOLDER]
import { setTimeout as sleep } from 'node:timers/promises'
import { audit } from '../chaos/lib/audit.mjs'
import { startClients } from '../chaos/lib/clients.mjs'
import { printViolations } from '../chaos/lib/figures.mjs'
import { MARK_INTERVAL_MS } from '../chaos/lib/scene.mjs'
import { copyDist } from '../program/copies.mjs'
import { readOptions } from '../program/options.mjs'
import { verifyLedger } from '../program/program.mjs'
import { NEXT_BUILD } from './lib/next-build.mjs'
import { printErrors } from './lib/print-errors.mjs'
import { readRows } from './lib/read-rows.mjs'
import { openStage } from './lib/stage.mjs'

/** What a client could be told of a node that stops. A provider's faults are part of the load. */
const OF_A_STOP = new Set(['server_draining', 'ledger_unavailable', 'internal_error'])

/** As long as a load balancer needs to notice. */
const DRAIN = { drain: { linger: '1s' } }
const BETWEEN_MS = 2000

const options = readOptions({ rounds: 2, clients: 20, nodes: 3 })
const stage = await openStage(options, DRAIN)
if (stage !== undefined) {
  await run(stage).finally(stage.close)
  stage.tally.close()
}

async function run({ tally, cluster, accounts, random, dist, database }) {
  const builds = [copyDist(dist, NEXT_BUILD).dist, dist]
  const clients = startClients({ stage: cluster, accounts, random, count: options.clients })
  await sleep(BETWEEN_MS)
  const exits = []
  for (let round = 0; round < options.rounds; round++) {
    for (const node of cluster.nodes) {
      exits.push(await node.replace(builds[round % builds.length]))
      await sleep(BETWEEN_MS)
    }
  }
  await clients.stop()
  exits.push(...(await cluster.stop()))
  const ledgerRows = await readRows(dist, database)
  const verify = await verifyLedger(cluster.nodes[0].place)
  const { violations, figures } = audit({
    ...{ notes: cluster.notes.map(({ kills, ...note }) => note), kills: [], pauses: [], ledgerRows, verify },
    ...{ intervalMs: MARK_INTERVAL_MS, slackMs: options['slack-ms'] },
  })
  console.log(`requests: ${figures.requests}, of them completed ${figures.completed}, hung up ${figures.aborted}`)
  printViolations(violations.slice(0, 20))
  const failed = cluster.notes.filter(({ ended, code }) => ended === 'broken' || OF_A_STOP.has(code))
  for (const { ended, status, code, node } of failed.slice(0, 5)) console.log(ended, status, code, 'at node', node)
  if (failed.length > 0) printErrors(cluster.nodes)
  const { refusedConnections } = cluster
  tally.check(failed.length === 0, `no request failed while nodes were replaced (${failed.length})`)
  tally.check(refusedConnections === 0, `no connection was refused (${refusedConnections})`)
  tally.check(violations.length === 0, `the books agree with what the clients saw (${violations.length} violations)`)
  tally.check(
    exits.every((code) => code === 0),
    `each node ended with 0 (${exits.join(', ')})`,
  )
  tally.check(figures.completed > 0 && figures.keys > 0, 'the load had completions and idempotency keys')
}
