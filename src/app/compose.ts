import { join } from 'node:path'
import { finishRedemptions } from '../account/codes/credit-code.ts'
import { createCountedInputs } from '../account/models/counted-inputs.ts'
import { createCallerFinder } from '../keys/find-caller.ts'
import { type Closing, createClosing } from '../lib/closing.ts'
import { createEstimateErrors } from '../metering/estimate-errors.ts'
import { createSeals } from '../seals/create-seals.ts'
import { DatabaseLocked } from '../sqlite/sqlite-failure.ts'
import { findAuditHead } from '../store/audit.ts'
import { NO_MARK } from '../store/ledger-identity.ts'
import { LedgerUnusable } from '../store/open-database.ts'
import { createLog, type Log, type LogOptions } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { AuditTrailEnd } from '../telemetry/watched-metrics.ts'
import { consoleHouseOf } from './house/console-deps-of.ts'
import { filesOfLedger, listSetAside, noticesOf } from './house/data-folder.ts'
import type { House, HouseGround, HouseOutcome } from './house/house.ts'
import { OUR_MEANS } from './house/house-means.ts'
import { openBooks } from './house/open-books.ts'
import { openClock } from './house/open-clock.ts'
import { openContents } from './house/open-contents.ts'
import { openPeople } from './house/open-people.ts'
import { openServing } from './house/open-serving.ts'
import { operationsOf } from './house/operations-of.ts'
import type { Foundation, Parts } from './house/parts.ts'
import { watchLanes } from './house/watch-lanes.ts'
import { apiKeyPepper, checkRing, findMissingRing } from './ring/check-ring.ts'
import { loadKeyRing, nameLedgerOfRing } from './ring/key-ring.ts'
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
    if (error instanceof LedgerUnusable) return { kind: 'refused', message: error.message }
    throw error
  }
}

async function build(ground: HouseGround, log: Log, closing: Closing): Promise<HouseOutcome> {
  let onDeath: (death: Error) => void = () => {}
  const died = new Promise<Error>((resolve) => {
    onDeath = resolve
  })
  const asideBefore = listSetAside(ground.settings.config.storage.data)
  const laid = await layFoundation({ ...ground, log, onDeath }, closing)
  if (laid.kind === 'refused') return laid
  const parts = await furnish(laid.foundation, closing)
  const notices = noticesOf(parts.database.journal.found, parts.contentFound, parts.progress.mark.receipt > 0)
  // A command says errors only, and may be the one that has found it.
  for (const { message, facts } of notices) log.error(facts, message)
  if (asideBefore.length > 0) {
    notices.push({ message: `Set aside earlier, and not served: ${asideBefore.join(', ')}.`, facts: {} })
  }
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
    notices: notices.map(({ message }) => message),
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
  const { random, log, onDeath } = handed
  const { config } = handed.settings
  const means = { ...OUR_MEANS, ...handed.means }
  const dataDir = config.storage.data
  const path = join(dataDir, 'ledger.db')
  const database = await means.openDatabase({
    ...{ path, clock: handed.clock, onDeath },
    ofEarlierLedger: filesOfLedger(dataDir),
  })
  closing.add(() => database.close())
  const { db } = database
  // After the ledger: a ring that is made beside a ledger which has lost its own would only hide that.
  const place = { dataDir, secretFromEnvironment: config.keyRing.secretKey }
  const missing = await findMissingRing(db, place)
  if (missing !== undefined) return { kind: 'refused', message: missing }
  const loaded = await loadKeyRing(place)
  if (loaded.wasOpenTo !== undefined)
    log.warn({ mode: loaded.wasOpenTo }, 'keyring.json could be read by other users; its mode is 0600 from now on')
  const checked = await checkRing(db, loaded)
  if (checked.kind === 'refused') return { kind: 'refused', message: `${checked.reason} ${checked.cure}` }
  const { ring } = checked
  if (ring.source !== 'environment' && !(await nameLedgerOfRing(dataDir, database.ledger))) {
    log.warn({}, 'keyring.json cannot be written: if ledger.db is ever lost, the ring alone will not tell')
  }
  // An operator who has rotated the ring wants to see that the server has understood.
  if (ring.keys.length > 1)
    log.info({ primary: ring.keys[0].label, keys: ring.keys.length }, 'the key ring has former keys')
  const clock = await openClock(handed.clock, db, log)
  const metrics = createMetrics()
  const progress = { mark: NO_MARK }
  return {
    kind: 'laid',
    foundation: { ...{ config, clock, random, means, log, metrics }, ...{ database, db, ring, progress, onDeath } },
  }
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
    countedInputs: createCountedInputs((found) => log.warn(found, CONTEXT_TOO_SMALL)),
    estimateErrors: createEstimateErrors(),
    finder: createCallerFinder({ db, pepper: apiKeyPepper(ring), clock }),
    people: await openPeople(foundation, contents, closing),
  }
}

const CONTEXT_TOO_SMALL = 'context_tokens looks too small: a provider counted more input than it'
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
