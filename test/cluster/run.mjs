// Nodes on one PostgreSQL that are killed, paused and cut off, and a database that crashes and goes away, audited from what
// the clients saw. See README.md.
//
//   node test/cluster/run.mjs [--kills 20] [--pauses 15] [--clients 60] [--away 60] [--nodes 3] [--seed N] [--dist FOLDER]
import { setTimeout as sleep } from 'node:timers/promises'
import { audit, INVARIANTS } from '../chaos/lib/audit.mjs'
import { auditCredits } from '../chaos/lib/audit-rows.mjs'
import { startClients } from '../chaos/lib/clients.mjs'
import { printViolations, quantile } from '../chaos/lib/figures.mjs'
import { MARK_INTERVAL_MS } from '../chaos/lib/scene.mjs'
import { readOptions } from '../program/options.mjs'
import { verifyLedger } from '../program/program.mjs'
import { LEASE_MS, RECOVERED_WITHIN_MS } from './lib/cluster.mjs'
import { createOperator } from './lib/operator.mjs'
import { printErrors } from './lib/print-errors.mjs'
import { readRows } from './lib/read-rows.mjs'
import { openStage } from './lib/stage.mjs'

/** Whether the answer was stored is unknown where the database went away with it. */
const IS_KEPT = /its answer is (?:not )?(?:kept|there)|was told idempotency_not_replayable/

/** After the last disturbance every node must serve as if nothing had been. */
const CALM_MS = 5000

const options = readOptions({ kills: 20, pauses: 15, clients: 60, away: 60, nodes: 3 })
const stage = await openStage(options)
if (stage !== undefined) {
  await run(stage).finally(stage.close)
  stage.tally.close()
}

async function run({ tally, cluster, accounts, random, dist, admin, postgres, place, database }) {
  const clients = startClients({ stage: cluster, accounts, random, count: options.clients })
  const operator = createOperator(place, accounts)
  const done = await disturb({ cluster, operator, admin, postgres, random })
  await sleep(CALM_MS)
  await clients.stop()
  await sleep(RECOVERED_WITHIN_MS)
  const exits = await cluster.stop()
  const ledgerRows = await readRows(dist, database)
  const verify = await verifyLedger(cluster.nodes[0].place)
  const { violations: all, figures } = audit({
    ...{ notes: cluster.notes, kills: [], pauses: [], ledgerRows, verify },
    ...{ intervalMs: MARK_INTERVAL_MS, slackMs: options['slack-ms'] },
  })
  // What cannot be kept while PostgreSQL is away is charged, and said not to be replayable.
  const moments = cluster.nodes.flatMap(({ interruptions }) => interruptions)
  const isInterrupted = ({ opened_at, closed_at }) =>
    moments.some((at) => at >= opened_at - RECOVERED_WITHIN_MS && at <= closed_at)
  const interrupted = new Set(ledgerRows.receipts.filter(isInterrupted).map(({ request_id }) => request_id))
  const violations = all.filter(({ id, says }) => !(IS_KEPT.test(says) && interrupted.has(id)))
  violations.push(...auditCredits(ledgerRows, operator.credits))
  printFigures(figures, done)
  printErrors(cluster.nodes)
  printViolations(mostDifferent(violations))
  describe(violations, cluster.notes, ledgerRows)
  for (const [invariant, says] of Object.entries(INVARIANTS)) {
    const count = violations.filter((violation) => violation.invariant === invariant).length
    tally.check(count === 0, `${invariant}: ${says} (${count} violations)`)
  }
  tally.check(
    exits.every((code) => code === 0),
    `all nodes ended with 0 (${exits.join(', ')})`,
  )
  tally.check(figures.completed > 0 && figures.keys > 0, 'the load had completions and idempotency keys')
}

/** All that goes wrong, in a random order, with a rest between. */
async function disturb({ cluster, operator, admin, postgres, random }) {
  const done = { kills: 0, pauses: 0, crashes: 0, aways: 0, listeners: 0, cuts: 0 }
  const interruptAll = () => {
    const now = Date.now()
    for (const node of cluster.nodes) node.interruptions.push(now)
  }
  const actions = {
    async kills() {
      const node = random.pick(cluster.nodes)
      await sleep(random.between(300, 1200))
      await node.kill()
      await sleep(random.between(0, 800))
      await node.start()
    },
    async pauses() {
      await random.pick(cluster.nodes).pause(LEASE_MS * random.between(1.2, 2))
    },
    async crashes() {
      await postgres.crash()
      interruptAll()
      await postgres.startAgain()
    },
    async aways() {
      await postgres.crash()
      interruptAll()
      await sleep(options.away * 1000)
      await postgres.startAgain()
    },
    async listeners() {
      await admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'millrace signals'",
      )
    },
    async cuts() {
      const node = random.pick(cluster.nodes)
      node.interruptions.push(Date.now())
      node.proxy.cut()
      await sleep(LEASE_MS * 3)
      node.proxy.mend()
    },
  }
  const wanted = { kills: options.kills, pauses: options.pauses, crashes: 2, aways: 1, listeners: 2, cuts: 2 }
  const plan = Object.entries(wanted).flatMap(([kind, count]) => Array.from({ length: count }, () => kind))
  for (const kind of shuffled(plan, random)) {
    const acts = random.chance(0.5) ? operator.act() : undefined
    await actions[kind]()
    done[kind] += 1
    await acts
    await sleep(random.between(200, 800))
  }
  return { ...done, acts: operator.done }
}

/** A few of each kind. */
function mostDifferent(violations) {
  const seen = new Map()
  return violations.filter(({ invariant, says }) => {
    const kind = `${invariant} ${says.replace(/\d+/g, 'n').replace(/req_\w+/g, 'req')}`
    seen.set(kind, (seen.get(kind) ?? 0) + 1)
    return seen.get(kind) <= 3
  })
}

/** What is needed to understand one: the note, and the receipt beside it. */
function describe(violations, notes, { receipts }) {
  for (const { invariant, id } of violations.filter((each) => each.invariant !== 'answers').slice(0, 12)) {
    const note = notes.find((each) => each.id === id)
    const receipt = receipts.find(({ request_id }) => request_id === (note?.original ?? id))
    const { sendTurn, text, raw, kills, arrivals, ...rest } = note ?? {}
    const kill = kills?.filter((at) => at > note.startedAt - 20_000 && at < note.endedAt + 20_000)
    console.log(
      invariant,
      JSON.stringify({ ...rest, once: sendTurn?.once, delivery: sendTurn?.delivery, kill, words: text?.length }),
    )
    if (receipt) {
      const { state, outcome, opened_at, closed_at, node, closing, charge_nano, output } = receipt
      console.log(
        '   ',
        JSON.stringify({ state, outcome, opened_at, closed_at, node, closing, charge: String(charge_nano), output }),
      )
    }
  }
}

function shuffled(list, random) {
  const left = [...list]
  return list.map(() => left.splice(random.below(left.length), 1)[0])
}

function printFigures(figures, done) {
  const denied = Object.entries(figures.denied).map(([told, count]) => `${told}: ${count}`)
  const sum = (values) => values.reduce((total, value) => total + value, 0)
  const lines = {
    requests: figures.requests,
    'completions, partial answers, broken': `${figures.completed}, ${figures.partial}, ${figures.broken}`,
    denied: denied.join(', '),
    'idempotency keys': `${figures.keys}; ${figures.replays} answers given again`,
    disturbed: JSON.stringify(done),
    recovered: `${figures.recoveredFree} free, ${figures.recoveredCharged} charged`,
    'tokens delivered, charged': `${figures.deliveredTokens}, ${figures.chargedTokens}`,
    'under-charged': `${sum(figures.under)} tokens in ${figures.under.filter(Boolean).length} of ${figures.under.length} answers`,
    'first uncharged token before the interruption': `median ${quantile(figures.forgivenMs, 0.5)} ms, 99 % within ${quantile(figures.forgivenMs, 0.99)} ms`,
    'shortfall nano': figures.shortfallNano,
  }
  for (const [name, value] of Object.entries(lines)) console.log(`${name}: ${value}`)
}
