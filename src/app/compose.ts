import { join } from 'node:path'
import { createKeptAnswers, type KeptAnswers } from '../content/kept-answers.ts'
import { openContent } from '../content/open-content.ts'
import { createStoredResponses, type StoredResponses } from '../content/stored-responses.ts'
import { createCallerFinder } from '../keys/find-caller.ts'
import { mintKey } from '../keys/mint-key.ts'
import { openLedger } from '../ledger/open-ledger.ts'
import { type Closing, createClosing } from '../lib/closing.ts'
import { deriveKey } from '../lib/derive-key.ts'
import { createSeals } from '../seals/create-seals.ts'
import { DatabaseLocked } from '../sqlite/sqlite-failure.ts'
import { type Database, openDatabase } from '../store/open-database.ts'
import { createLog, type Log, type LogOptions } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { checkRing, type DatabaseRing } from './check-ring.ts'
import { findKeptFacts } from './find-kept-facts.ts'
import type { House, HouseGround, HouseOutcome } from './house.ts'
import { loadKeyRing } from './key-ring.ts'
import { openServing } from './open-serving.ts'
import { createRuleBook } from './rules.ts'
import { watchLanes } from './watch-lanes.ts'

/**
 * Builds everything once, in the order in which things need each other: ring, database, books (whatever a dead process
 * left open is resolved here), catalogue. What opens registers its closing on the next line.
 */
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
  const { settings, clock } = ground
  const { storage, keyRing } = settings.config
  const loaded = await loadKeyRing({ dataDir: storage.data, secretFromEnvironment: keyRing.secretKey })
  const database = await openDatabase({ path: join(storage.data, 'ledger.db'), clock })
  closing.add(() => database.close())
  const checked = await checkRing(database.db, loaded)
  if (checked.kind === 'refused') return { kind: 'refused', message: `${checked.reason} ${checked.cure}` }
  const { keys } = checked.ring
  // An operator who has rotated the ring wants to see that the server has understood.
  if (keys.length > 1) log.info({ primary: keys[0].label, keys: keys.length }, 'the key ring has former keys')
  return { kind: 'open', house: await furnish(ground, { ring: checked.ring, database, log }, closing) }
}

async function furnish(
  ground: HouseGround,
  { ring, database, log }: { readonly ring: DatabaseRing; readonly database: Database; readonly log: Log },
  closing: Closing,
): Promise<House> {
  const { settings, clock, random } = ground
  const { db, file, journal } = database
  const metrics = createMetrics()
  const { answers, responses } = await openContents(ground, ring, log, closing)
  const ledger = await openLedger({
    db,
    file,
    journal,
    clock,
    findKeptFacts: findKeptFacts(answers, responses),
    markIntervalMs: settings.config.ledger.markIntervalMs,
    observer: {
      batchRecorded: (batch) => metrics.batchCommitted(batch),
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
    },
  })
  closing.add(() => ledger.close())
  metrics.watchOpenHolds(() => ledger.openHolds)
  const rules = await createRuleBook(
    {
      db,
      clock,
      onPlansMissing: (plans) =>
        log.warn(
          { plans },
          'accounts are on plans that the configuration does not have: their builder keys are refused',
        ),
    },
    settings.config,
  )
  const health = watchLanes({ clock, random, rules, log, metrics })
  const pepper = deriveKey(ring.founding.secret, 'api-key-pepper')
  const finder = createCallerFinder({ db, pepper, clock })
  const kept = { answers, responses, seals: createSeals(ring.keys) }
  const parts = {
    config: settings.config,
    clock,
    random,
    db,
    ledger,
    ...kept,
    ring,
    rules,
    health,
    finder,
    log,
    metrics,
  }
  return {
    operations: {
      db,
      file,
      clock,
      random,
      ledger,
      catalog: () => rules.current.catalog,
      health,
      mintKey: (kind) => mintKey({ pepper, random }, kind),
      forgetKey: (id) => finder.forget(id),
      forgetAccount: (account) => finder.forgetAccount(account),
    },
    ledgerAvailable: () => ledger.available,
    driver: file.driver,
    log,
    rules,
    openServing: () => openServing(parts, closing),
    close: () => closing.close(),
  }
}

interface Contents {
  readonly answers: KeptAnswers
  readonly responses: StoredResponses
}

/** Before the books, because their recovery asks which answers were kept; closed after them. */
async function openContents(
  { settings, clock }: HouseGround,
  ring: DatabaseRing,
  log: Log,
  closing: Closing,
): Promise<Contents> {
  const { storage, retention } = settings.config
  const file = await openContent({ path: join(storage.data, 'content.db'), clock })
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
  return { answers, responses }
}

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
