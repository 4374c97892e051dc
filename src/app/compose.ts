import { join } from 'node:path'
import { finishRedemptions } from '../account/codes/credit-code.ts'
import { createPeopleDeps, type PeopleDeps } from '../account/people/people-deps.ts'
import { createRefusedTurnCounter, type RefusedTurnCounter } from '../account/usage/count-refused-turns.ts'
import { createUsageKeeper } from '../account/usage/usage-keeper.ts'
import { createKeptAnswers, type KeptAnswers } from '../content/kept-answers.ts'
import { createLockoutKeeper, listLockouts } from '../content/lockouts.ts'
import { createStoredResponses, type StoredResponses } from '../content/stored-responses.ts'
import { createCallerFinder } from '../keys/find-caller.ts'
import { type LedgerObserver, openLedger } from '../ledger/open-ledger.ts'
import { type Closing, createClosing } from '../lib/closing.ts'
import { deriveKey } from '../lib/derive-key.ts'
import { createSeals } from '../seals/create-seals.ts'
import { DatabaseLocked } from '../sqlite/sqlite-failure.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { findAuditHead } from '../store/audit.ts'
import type { Database } from '../store/open-database.ts'
import type { LedgerDb } from '../store/tables.ts'
import { createLog, type Log, type LogOptions } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { apiKeyPepper } from './api-key-pepper.ts'
import { checkRing, type DatabaseRing } from './check-ring.ts'
import { consoleHouseOf } from './console-house-of.ts'
import { findKeptFacts } from './find-kept-facts.ts'
import type { House, HouseGround, HouseOutcome } from './house.ts'
import { type HouseMeans, OUR_MEANS } from './house-means.ts'
import { loadKeyRing } from './key-ring.ts'
import { urlOf } from './local-address.ts'
import { openServing } from './open-serving.ts'
import { operationsOf } from './operations-of.ts'
import { createRuleBook, type RuleBook } from './rules.ts'
import type { ServingParts } from './serving-parts.ts'
import { watchLanes } from './watch-lanes.ts'

/**
 * Builds everything once, in the order in which things need each other: ring, database, books (whatever a dead process
 * left open is resolved here), catalogue. What opens registers its closing on the next line.
 */
export async function openHouse(handed: HouseGround): Promise<HouseOutcome> {
  const ground: Ground = { ...handed, means: { ...OUR_MEANS, ...handed.means } }
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

interface Ground extends HouseGround {
  readonly means: HouseMeans
}

async function build(ground: Ground, log: Log, closing: Closing): Promise<HouseOutcome> {
  const { settings, clock, means } = ground
  const { storage, keyRing } = settings.config
  const loaded = await loadKeyRing({ dataDir: storage.data, secretFromEnvironment: keyRing.secretKey })
  const database = await means.openDatabase({ path: join(storage.data, 'ledger.db'), clock })
  closing.add(() => database.close())
  const checked = await checkRing(database.db, loaded)
  if (checked.kind === 'refused') return { kind: 'refused', message: `${checked.reason} ${checked.cure}` }
  const { keys } = checked.ring
  // An operator who has rotated the ring wants to see that the server has understood.
  if (keys.length > 1) log.info({ primary: keys[0].label, keys: keys.length }, 'the key ring has former keys')
  const house = await furnish(ground, { ring: checked.ring, database, log }, closing)
  // What a dead process had given to somebody and not made money of. Money that must wait stops no server.
  const finished = await finishRedemptions({
    ...house.operations,
    onUnfinished: (code, reason) => log.warn({ code, reason }, 'a redeemed code could not be credited yet'),
  })
  if (finished > 0) log.info({ codes: finished }, 'redeemed codes were credited')
  return { kind: 'open', house }
}

async function furnish(
  ground: Ground,
  { ring, database, log }: { readonly ring: DatabaseRing; readonly database: Database; readonly log: Log },
  closing: Closing,
): Promise<House> {
  const { clock, random, means } = ground
  const { config } = ground.settings
  const { db, file } = database
  const metrics = createMetrics()
  metrics.watchAuditTrail(() => auditTrailHead(db, log))
  const contents = await openContents(ground, ring, log, closing)
  const books = await openBooks(ground, { database, contents, log, metrics }, closing)
  const rules = await openRules(ground, db, log)
  const parts: ServingParts = {
    ...{ config, clock, random, means, db, ring, rules, log, metrics },
    ...contents,
    ...books,
    seals: createSeals(ring.keys),
    health: watchLanes({ clock, random, rules, log, metrics }),
    finder: createCallerFinder({ db, pepper: apiKeyPepper(ring), clock }),
    people: await openPeople(ground, { ring, database, content: contents.content, log }, closing),
  }
  const operations = operationsOf(parts, database)
  return {
    operations,
    ledgerAvailable: () => books.ledger.available,
    driver: file.driver,
    log,
    rules,
    openServing: (facts) => openServing(parts, consoleHouseOf(parts, { ...operations, ...facts }), closing),
    close: () => closing.close(),
  }
}

/** A figure that cannot be read keeps nobody from reading the others. */
async function auditTrailHead(db: LedgerDb, log: Log): Promise<{ rows: number; head: string } | undefined> {
  try {
    const head = await findAuditHead(db)
    return head && { rows: head.seq, head: Buffer.from(head.hash).toString('hex') }
  } catch (error) {
    log.error({ error }, 'the end of the audit trail could not be read')
    return undefined
  }
}

interface BooksNeed {
  readonly database: Database
  readonly contents: Contents
  readonly log: Log
  readonly metrics: Metrics
}

/** The ledger, and what counts in the other file what it has recorded. */
async function openBooks(
  { settings, clock, means }: Ground,
  { database, contents, log, metrics }: BooksNeed,
  closing: Closing,
): Promise<Pick<ServingParts, 'ledger' | 'usage'>> {
  const { db, patientDb, file, journal } = database
  const { content, answers, responses } = contents
  const usage = createUsageKeeper({
    ...{ db: patientDb, content, clock, intervalMs: USAGE_INTERVAL_MS },
    onFailure: (error) =>
      log.error({ error }, 'usage could not be counted; it is tried again, and nothing of it is lost'),
  })
  closing.add(() => usage.close())
  const ledger = await openLedger({
    ...{ db, patientDb, file, journal, clock },
    findKeptFacts: findKeptFacts(answers, responses),
    markIntervalMs: settings.config.ledger.markIntervalMs,
    outageGraceMs: means.outageGraceMs,
    observer: observerOf({ log, metrics, usage }),
  })
  closing.add(() => ledger.close())
  metrics.watchOpenHolds(() => ledger.openHolds)
  return { ledger, usage }
}

const openRules = ({ settings, clock }: HouseGround, db: LedgerDb, log: Log): Promise<RuleBook> => {
  const missing = 'accounts are on plans that the configuration does not have: their builder keys are refused'
  return createRuleBook({ db, clock, onPlansMissing: (plans) => log.warn({ plans }, missing) }, settings.config)
}

interface PeopleNeed {
  readonly ring: DatabaseRing
  readonly database: Database
  readonly content: SqliteFile
  readonly log: Log
}

async function openPeople(
  { settings, clock, random }: HouseGround,
  { ring, database: { db, file }, content, log }: PeopleNeed,
  closing: Closing,
): Promise<PeopleDeps> {
  const { host, port, publicUrl } = settings.config.server
  const lockouts = createLockoutKeeper({
    ...{ file: content, now: () => clock.now() },
    onFailure: (error) => log.error({ error }, 'a lockout could not be written down; a restart would lift it'),
  })
  closing.add(() => lockouts.close())
  const people = createPeopleDeps({
    ...{ db, file, clock, random, lockouts, secret: deriveKey(ring.founding.secret, 'people') },
    consoleUrl: () => `${publicUrl ?? urlOf(host, port)}/console`,
    onFailure: (error) => log.error({ error }, 'that a session was used could not be written down'),
  })
  people.tries.restore(await listLockouts(content, clock.now()))
  return people
}

/** What a client just paid is counted when somebody asks; without a question it may be seen this much later. */
const USAGE_INTERVAL_MS = 500

/** What is heard of the ledger: the figures, the words for the operator, and who has used something. */
const observerOf = ({ log, metrics, usage }: Pick<ServingParts, 'log' | 'metrics' | 'usage'>): LedgerObserver => ({
  batchRecorded(batch) {
    metrics.batchCommitted(batch)
    usage.note(batch.changes)
  },
  batchFailed: (error) =>
    log.error({ error }, 'the ledger could not record a batch; admission is closed until it is read back'),
  recovered(holds) {
    metrics.holdsRecovered(holds)
    log.warn({ holds }, 'holds without a turn were resolved')
  },
  clockBehind: ({ behindMs }) =>
    log.warn(
      { behind_hours: Math.round(behindMs / 3_600_000) },
      "the machine's clock is behind the newest row of the books; rows keep that time until the clock has caught up",
    ),
})

interface Contents {
  readonly content: SqliteFile
  readonly refusedTurns: RefusedTurnCounter
  readonly answers: KeptAnswers
  readonly responses: StoredResponses
}

/** Before the books, because their recovery asks which answers were kept; closed after them. */
async function openContents(
  { settings, clock, means }: Ground,
  ring: DatabaseRing,
  log: Log,
  closing: Closing,
): Promise<Contents> {
  const { storage, retention } = settings.config
  const file = await means.openContent({ path: join(storage.data, 'content.db'), clock })
  closing.add(() => file.close())
  const now = () => clock.now()
  const keys = sealingKeysOf(ring)
  const answers = await createKeptAnswers({
    ...{ file, keys, now, bytesMax: retention.idempotencyBytesMax },
    onFailure: (error) => log.error({ error }, 'an answer could not be kept; it is charged, and cannot be given again'),
  })
  const responses = createStoredResponses({
    ...{ file, ring: keys, now, bytesMax: retention.stateBytesMax },
    onFailure: (error) => log.error({ error }, 'a stored response could not be written or read'),
  })
  const failed = await responses.recover()
  if (failed > 0) log.warn({ responses: failed }, 'responses that were running when the server stopped have failed')
  const refusedTurns = createRefusedTurnCounter({
    ...{ content: file, clock, intervalMs: REFUSED_INTERVAL_MS },
    onFailure: (error) =>
      log.error({ error }, 'how many requests were refused could not be written; it is tried again'),
  })
  closing.add(() => refusedTurns.close())
  return { content: file, refusedTurns, answers, responses }
}

/** So much of these counts a crash may take with it. */
const REFUSED_INTERVAL_MS = 5000

/** What lies there from before a ring could be rotated is sealed by the founding key, under what the operator calls it. */
const sealingKeysOf = ({ keys, founding }: DatabaseRing): DatabaseRing['keys'] => [
  ...keys,
  { ...founding, id: founding.label },
]

function logOptions({ settings, purpose }: HouseGround): LogOptions {
  const { level, format } = settings.config.telemetry.log
  const spelled = format === 'auto' ? (process.stdout.isTTY ? 'pretty' : 'json') : format
  // A command of the operator keeps stdout for its data.
  return purpose === 'server'
    ? { level, format: spelled, destination: 1 }
    : { level: 'error', format: spelled, destination: 2 }
}
