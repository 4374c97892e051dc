// An organisation of 200 people in 20 teams with 1,000 keys on one wallet, caps everywhere, and kills between: on SQLite, or on several
// nodes with PostgreSQL. See README.md.
//
//   node test/chaos/organisation.mjs [--kills 12] [--clients 100] [--nodes 0] [--seed N] [--dist FOLDER]
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RECOVERED_WITHIN_MS } from '../cluster/lib/cluster.mjs'
import { readRows } from '../cluster/lib/read-rows.mjs'
import { openStage } from '../cluster/lib/stage.mjs'
import { readOptions } from '../program/options.mjs'
import { verifyLedger } from '../program/program.mjs'
import { createRandom } from '../program/random.mjs'
import { copyWreck, readLedgerRows } from '../program/read-ledger.mjs'
import { audit, auditWreck, INVARIANTS } from './lib/audit.mjs'
import { auditCaps, CAP_INVARIANTS } from './lib/audit-caps.mjs'
import { auditCredits } from './lib/audit-rows.mjs'
import { startCapOperator } from './lib/cap-history.mjs'
import { startClients } from './lib/clients.mjs'
import { createCaller, planOrganisationRequest, prepareOrganisation, SECTIONS } from './lib/organisation.mjs'
import { MARK_INTERVAL_MS } from './lib/scene.mjs'
import { clockEnvironment, passTime } from './lib/shifted-clock.mjs'
import { createStage } from './lib/stage.mjs'
import { openStageContext } from './lib/workspace.mjs'

const LIFE_MS = { from: 2500, to: 5000 }
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Between two lives so much time passes now and then, so that days and weeks begin. */
const PASSES = 0.6
const HOURS_MAX = 20
const WRECKS = 0.3
/**
 * How long an old cap may be used after its change was acknowledged: by a request on its way, and on other nodes until they have
 * been told (db/postgres/signals.ts).
 */
const SLACK_MS = { file: 300, nodes: 2500 }

const options = readOptions({ kills: 12, clients: 100, nodes: 0 })
const prepare = prepareOrganisation(createRandom(options.seed))
if (options.nodes === 0) await onSqlite()
else await onPostgres()

async function onSqlite() {
  console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
  const { trueDist, template, accounts, random, tally, providerPort } = await openStageContext(options, prepare)
  const clock = join(tmpdir(), `millrace-chaos-clock-${process.pid}`)
  process.on('exit', () => rmSync(clock, { force: true }))
  const environment = clockEnvironment(clock)
  const stage = await createStage({ dist: trueDist, template, random, providerPort, environment, more: SECTIONS })
  await stage.start()
  const load = startLoad({ stage, accounts, random, portOf: () => stage.port })
  const wrecks = []
  let passedMs = 0
  for (let life = 0; life < options.kills; life++) {
    await sleep(random.between(LIFE_MS.from, LIFE_MS.to))
    stage.kill()
    await stage.died()
    if (random.chance(WRECKS)) {
      const { data, clear } = copyWreck(stage.place.data)
      wrecks.push(...auditWreck(await readLedgerRows({ dist: trueDist, data }), accounts))
      clear()
    }
    const hours = random.chance(PASSES) ? random.between(0, HOURS_MAX) : 0
    passedMs += hours * HOUR_MS
    passTime(clock, hours * HOUR_MS)
    await stage.start()
  }
  await sleep(LIFE_MS.from)
  await load.stop()
  const exit = await stage.stop()
  const ledgerRows = await readLedgerRows({ ...stage.place, dist: trueDist })
  const verify = await verifyLedger({ ...stage.place, dist: trueDist })
  const { notes, kills, pauses } = stage
  const held = { notes, kills, pauses, ledgerRows, verify }
  const passed = judge({ tally, accounts, load, held, slackMs: SLACK_MS.file, wrecks, passedMs })
  tally.check(exit === 0, `the server ends by itself when it is asked to (${exit})`)
  const errors = stage.checkLog(tally)
  if (passed && errors.length === 0) stage.clear()
  else console.log(`The data folder and the log of the server are in ${stage.folder}`)
  tally.close()
}

async function onPostgres() {
  const stage = await openStage(options, SECTIONS, prepare)
  if (stage === undefined) return
  const { tally, cluster, accounts, random, dist, database } = stage
  const load = startLoad({
    stage: cluster,
    accounts,
    random,
    portOf: () => (random.pick(cluster.alive()) ?? cluster.nodes[0]).port,
  })
  const kills = []
  for (let count = 0; count < options.kills; count++) {
    await sleep(random.between(LIFE_MS.from, LIFE_MS.to))
    const node = random.pick(cluster.nodes)
    kills.push(Date.now())
    await node.kill()
    await sleep(random.between(0, 800))
    await node.start()
  }
  await sleep(LIFE_MS.from)
  await load.stop()
  await sleep(RECOVERED_WITHIN_MS)
  const exits = await cluster.stop()
  const ledgerRows = await readRows(dist, database)
  const verify = await verifyLedger(cluster.nodes[0].place)
  const held = { notes: cluster.notes, kills: [], pauses: [], ledgerRows, verify }
  judge({ tally, accounts, load, held, slackMs: SLACK_MS.nodes, wrecks: [], passedMs: 0 })
  tally.check(
    exits.every((code) => code === 0),
    `all nodes ended with 0 (${exits.join(', ')})`,
  )
  await stage.close()
  tally.close()
}

/** The clients and the operator. */
function startLoad({ stage, accounts, random, portOf }) {
  const clients = startClients({ stage, accounts, random, count: options.clients, plan: planOrganisationRequest })
  const [account] = accounts
  const call = createCaller(() => `http://127.0.0.1:${portOf()}`, account.adminKey)
  const operator = startCapOperator({ account, call, random: random.fork(-1) })
  return {
    operator,
    async stop() {
      await operator.stop()
      await clients.stop()
    },
  }
}

function judge({ tally, accounts, load, held, slackMs, wrecks, passedMs }) {
  const [account] = accounts
  const { operator } = load
  const marks = { intervalMs: MARK_INTERVAL_MS, slackMs: options['slack-ms'], prepared: accounts }
  const { violations, figures } = audit({ ...held, ...marks })
  violations.push(...wrecks, ...auditCredits(held.ledgerRows, operator.credits))
  const report = (invariant, id, says) => violations.push({ invariant, id, says })
  const caps = auditCaps({ ...held, account, slackMs }, report)
  printFigures({ figures, caps, held, operator, passedMs })
  for (const [invariant, says] of Object.entries({ ...INVARIANTS, ...CAP_INVARIANTS })) {
    const own = violations.filter((violation) => violation.invariant === invariant)
    for (const { id, says: what } of own.slice(0, 6)) console.log(`  ${invariant} ${id} ${what}`)
    tally.check(own.length === 0, `${invariant}: ${says} (${own.length} violations)`)
  }
  checkCoverage(tally, { figures, caps, operator })
  return violations.length === 0
}

function printFigures({ figures, caps, held, operator, passedMs }) {
  const { receipts } = held.ledgerRows
  const count = (state) => receipts.filter((receipt) => receipt.state === state).length
  const denied = Object.entries(figures.denied).sort(([a], [b]) => a.localeCompare(b))
  const kills = held.kills.length || options.kills
  const lines = {
    requests: `${figures.requests}; ${figures.completed} completions seen, ${figures.aborted} hung up, ${figures.broken} broken by a kill`,
    receipts: `${receipts.length}; ${count('settled')} charged, ${count('released')} free`,
    denied: denied.map(([told, times]) => `${told}: ${times}`).join(', '),
    'kills, days that passed': `${kills}, ${(passedMs / DAY_MS).toFixed(1)}`,
    recovered: `${figures.recoveredFree} free, ${figures.recoveredCharged} charged`,
    'caps used, reached': `${caps.capsUsed} in ${caps.periods} periods, ${caps.reached}; ${caps.admissions} admissions under caps`,
    'refusals that the rows confirm': `${caps.told}; ${caps.untold} that a kill made unknowable`,
    'changes of caps': Object.entries(operator.done)
      .map(([what, times]) => `${times} ${what}`)
      .join(', '),
    'longest use of an old cap': `${caps.staleMs} ms after its change was acknowledged`,
  }
  for (const [name, value] of Object.entries(lines)) console.log(`${name}: ${value}`)
}

/** A run that saw none of these has proved nothing about them. */
function checkCoverage(tally, { figures, caps, operator }) {
  const denied = (code) => Object.keys(figures.denied).some((told) => told.endsWith(code))
  const codes = ['key_spend_cap_reached', 'person_spend_cap_reached', 'team_budget_reached', 'quota_reached']
  const seen = {
    'refusals for caps of keys, people and teams': codes.every(denied),
    'completions, hang-ups and answers that a kill broke':
      figures.completed > 100 && figures.aborted > 0 && figures.broken > 0,
    'caps that were reached': caps.reached >= 50,
    'caps lowered, raised, raised for a while, and removed': Object.values(operator.done).every((times) => times > 0),
  }
  for (const [what, enough] of Object.entries(seen)) tally.check(enough, `the load had ${what}`)
}
