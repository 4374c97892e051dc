import { join } from 'node:path'
import { finishRedemptions } from '../account/codes/credit-code.ts'
import { createCallerFinder } from '../keys/find-caller.ts'
import { type Closing, createClosing } from '../lib/closing.ts'
import { createSeals } from '../seals/create-seals.ts'
import { DatabaseLocked } from '../sqlite/sqlite-failure.ts'
import { findAuditHead } from '../store/audit.ts'
import { createLog, type Log, type LogOptions } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { AuditTrailEnd } from '../telemetry/watched-metrics.ts'
import { consoleHouseOf } from './house/console-deps-of.ts'
import type { House, HouseGround, HouseOutcome } from './house/house.ts'
import { OUR_MEANS } from './house/house-means.ts'
import { openBooks } from './house/open-books.ts'
import { openContents } from './house/open-contents.ts'
import { openPeople } from './house/open-people.ts'
import { openServing } from './house/open-serving.ts'
import { operationsOf } from './house/operations-of.ts'
import type { Foundation, Parts } from './house/parts.ts'
import { watchLanes } from './house/watch-lanes.ts'
import { apiKeyPepper, checkRing } from './ring/check-ring.ts'
import { loadKeyRing } from './ring/key-ring.ts'
import { createRuleBook } from './rules/rules.ts'

/** Builds everything once. What opens registers its closing on the next line. */
export async function openHouse(ground: HouseGround): Promise<HouseOutcome> {
  const log = createLog({ clock: ground.clock }, logOptions(ground))
  const closing = createClosing()
  const giveUp = () => closing.close().finally(() => log.close())
  try {
    const outcome = await build(ground, log, closing)
    if (outcome.kind !== 'open') await giveUp()
    return outcome
  } catch (error) {
    await giveUp()
    if (error instanceof DatabaseLocked) return { kind: 'locked' }
    throw error
  }
}

async function build(ground: HouseGround, log: Log, closing: Closing): Promise<HouseOutcome> {
  let onDeath: (death: Error) => void = () => {}
  const died = new Promise<Error>((resolve) => {
    onDeath = resolve
  })
  const laid = await layFoundation({ ...ground, log, onDeath }, closing)
  if (laid.kind === 'refused') return laid
  const parts = await furnish(laid.foundation, closing)
  const operations = operationsOf(parts)
  // What a dead process had given to somebody and not made money of. Money that must wait stops no server.
  const finished = await finishRedemptions({
    ...operations,
    onUnfinished: (code, reason) => log.warn({ code, reason }, 'a redeemed code could not be credited yet'),
  })
  if (finished > 0) log.info({ codes: finished }, 'redeemed codes were credited')
  const house: House = {
    operations,
    ledgerAvailable: () => parts.ledger.available,
    driver: parts.database.file.driver,
    log,
    rules: parts.rules,
    openServing: (facts) => openServing(parts, consoleHouseOf(parts, { ...operations, ...facts }), closing),
    died,
    close: () => closing.close(),
  }
  return { kind: 'open', house }
}

type LaidFoundation =
  | { readonly kind: 'laid'; readonly foundation: Foundation }
  | Extract<HouseOutcome, { kind: 'refused' }>

/** The key ring and the database that it belongs to: with another ring nothing of it could be read. */
async function layFoundation(
  handed: HouseGround & Pick<Foundation, 'log' | 'onDeath'>,
  closing: Closing,
): Promise<LaidFoundation> {
  const { clock, random, log, onDeath } = handed
  const { config } = handed.settings
  const means = { ...OUR_MEANS, ...handed.means }
  const dataDir = config.storage.data
  const loaded = await loadKeyRing({ dataDir, secretFromEnvironment: config.keyRing.secretKey })
  const database = await means.openDatabase({ path: join(dataDir, 'ledger.db'), clock, onDeath })
  closing.add(() => database.close())
  const { db } = database
  const checked = await checkRing(db, loaded)
  if (checked.kind === 'refused') return { kind: 'refused', message: `${checked.reason} ${checked.cure}` }
  const { ring } = checked
  // An operator who has rotated the ring wants to see that the server has understood.
  if (ring.keys.length > 1)
    log.info({ primary: ring.keys[0].label, keys: ring.keys.length }, 'the key ring has former keys')
  const metrics = createMetrics()
  return { kind: 'laid', foundation: { config, clock, random, means, log, metrics, database, db, ring, onDeath } }
}

/** All that exists, in the order in which things need each other. */
async function furnish(foundation: Foundation, closing: Closing): Promise<Parts> {
  const { config, clock, log, metrics, db, ring } = foundation
  metrics.watchAuditTrail(() => auditTrailHead(foundation))
  const contents = await openContents(foundation, closing)
  const books = await openBooks(foundation, contents, closing)
  const rules = await createRuleBook(
    { db, clock, onPlansMissing: (plans) => log.warn({ plans }, PLANS_MISSING) },
    config,
  )
  return {
    ...{ ...foundation, ...contents, ...books, rules },
    seals: createSeals(ring.keys),
    health: watchLanes({ ...foundation, rules }),
    finder: createCallerFinder({ db, pepper: apiKeyPepper(ring), clock }),
    people: await openPeople(foundation, contents, closing),
  }
}

const PLANS_MISSING = 'accounts are on plans that the configuration does not have: their builder keys are refused'

/** A figure that cannot be read keeps nobody from reading the others. */
async function auditTrailHead({ db, log }: Foundation): Promise<AuditTrailEnd | undefined> {
  try {
    const head = await findAuditHead(db)
    return head && { rows: head.seq, head: Buffer.from(head.hash).readUIntBE(0, 6) }
  } catch (error) {
    log.error({ error }, 'the end of the audit trail could not be read')
    return undefined
  }
}

function logOptions({ settings, purpose }: HouseGround): LogOptions {
  const { level, format } = settings.config.telemetry.log
  const spelled = format === 'auto' ? (process.stdout.isTTY ? 'pretty' : 'json') : format
  // A command of the operator keeps stdout for its data.
  return purpose === 'server'
    ? { level, format: spelled, destination: 1 }
    : { level: 'error', format: spelled, destination: 2 }
}
