import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createUsageKeeper, type UsageKeeper } from '../admin/count-usage.ts'
import { createCountedInputs } from '../admin/models.ts'
import { createPeopleDeps, type PeopleDeps } from '../admin/people-deps.ts'
import { finishRedemptions } from '../admin/redeem-code.ts'
import { createRefusedTurnCounter } from '../admin/refused-turns.ts'
import { createCallerFinder } from '../auth/callers.ts'
import { findAuditHead } from '../db/audit.ts'
import { withMarks } from '../db/content/content-ledger.ts'
import { createStoredResponses } from '../db/content/create-stored-responses.ts'
import { createKeptAnswers } from '../db/content/kept-answers.ts'
import { createLockoutKeeper, listLockouts } from '../db/content/lockouts.ts'
import { moveOn, NO_MARK } from '../db/meta.ts'
import { LedgerUnusable } from '../db/open-database.ts'
import { findLatestLedgerTime } from '../db/receipts.ts'
import { DatabaseLocked } from '../db/sqlite/failure.ts'
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb } from '../db/tables.ts'
import { createSeals } from '../gateway/seals.ts'
import type { LedgerObserver } from '../ledger/create-core.ts'
import type { FindKeptFacts, FoundFacts } from '../ledger/ledger.ts'
import { openLedger } from '../ledger/open-ledger.ts'
import { type Closing, createClosing } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { deriveKey } from '../lib/crypto.ts'
import { urlOf } from '../lib/network.ts'
import { type ClockEvent, createSteadyClock, HOLD_MS, type SteadyClock } from '../lib/steady-clock.ts'
import type { RequestId } from '../model/ids.ts'
import { createEstimateErrors } from '../pricing/estimate.ts'
import { createLog, type Log, type LogOptions } from '../telemetry/log.ts'
import { type AuditLogEnd, createMetrics } from '../telemetry/metrics.ts'
import type { App, AppLog, AppOptions, AppOutcome, Contents, Core, OpenedLedger, Services } from './app.ts'
import { filesOfLedger, listQuarantined, noticesOf } from './data-folder.ts'
import { watchLanes } from './jobs.ts'
import {
  apiKeyPepper,
  checkKeyring,
  type DatabaseKeyring,
  findMissingKeyring,
  loadKeyring,
  nameLedgerOfKeyring,
} from './key-ring.ts'
import { openContentOfLedger } from './open-content.ts'
import { operationsOf } from './operations.ts'
import { DEFAULTS } from './overrides.ts'
import { createRuleBook } from './rules.ts'
import { consoleServicesOf, openServing } from './serving.ts'

/** Builds everything once. What opens registers its closing on the next line. */
export async function openApp(ground: AppOptions): Promise<AppOutcome> {
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

async function build(ground: AppOptions, log: Log, closing: Closing): Promise<AppOutcome> {
  let onDeath: (death: Error) => void = () => {}
  const died = new Promise<Error>((resolve) => {
    onDeath = resolve
  })
  const openBefore = listQuarantined(ground.settings.config.storage.data)
  const laid = await openCore({ ...ground, log, onDeath }, closing)
  if (laid.kind === 'refused') return laid
  const parts = await createServices(laid.core, closing)
  const notices = noticesOf(parts.database.journal.found, parts.contentFound, parts.progress.mark.receipt > 0)
  // A command says errors only, and may be the one that has found it.
  for (const { message, facts } of notices) log.error(facts, message)
  if (openBefore.length > 0) {
    notices.push({ message: `Set aside earlier, and not served: ${openBefore.join(', ')}.`, facts: {} })
  }
  const operations = operationsOf(parts)
  // What a dead process had given to somebody and not made money of. Money that must wait stops no server.
  const finished = await finishRedemptions({
    ...operations,
    onUnfinished: (code, reason) => log.warn({ code, reason }, 'a redeemed code could not be credited yet'),
  })
  if (finished > 0) log.info({ codes: finished }, 'redeemed codes were credited')
  const app: App = {
    operations,
    ledgerAvailable: () => parts.ledger.available,
    driver: parts.database.file.driver,
    log,
    rules: parts.rules,
    openServing: (facts) => openServing(parts, consoleServicesOf(parts, { ...operations, ...facts }), closing),
    notices: notices.map(({ message }) => message),
    died,
    close: () => closing.close(),
  }
  return { kind: 'open', app }
}

type OpenedCore = { readonly kind: 'laid'; readonly core: Core } | Extract<AppOutcome, { kind: 'refused' }>

/** The key ring and the database that it belongs to: with another ring nothing of it could be read. */
async function openCore(handed: AppOptions & Pick<Core, 'log' | 'onDeath'>, closing: Closing): Promise<OpenedCore> {
  const { random, log, onDeath } = handed
  const { config } = handed.settings
  const overrides = { ...DEFAULTS, ...handed.overrides }
  const dataDir = config.storage.data
  const path = join(dataDir, 'ledger.db')
  const database = await overrides.openDatabase({
    ...{ path, clock: handed.clock, onDeath },
    ofEarlierLedger: filesOfLedger(dataDir),
  })
  closing.add(() => database.close())
  const { db } = database
  // After the ledger: a ring that is made beside a ledger which has lost its own would only hide that.
  const place = { dataDir, secretFromEnvironment: config.keyring.secretKey }
  const missing = await findMissingKeyring(db, place)
  if (missing !== undefined) return { kind: 'refused', message: missing }
  const loaded = await loadKeyring(place)
  if (loaded.wasOpenTo !== undefined)
    log.warn({ mode: loaded.wasOpenTo }, 'keyring.json could be read by other users; its mode is 0600 from now on')
  const checked = await checkKeyring(db, loaded)
  if (checked.kind === 'refused') return { kind: 'refused', message: `${checked.reason} ${checked.cure}` }
  const { ring } = checked
  if (ring.source !== 'environment' && !(await nameLedgerOfKeyring(dataDir, database.ledger))) {
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
    core: {
      ...{ config, clock, random, overrides, log, metrics },
      ...{ database, db, ring, progress, onDeath },
    },
  }
}

/** All that exists, in the order in which things need each other. */
async function createServices(core: Core, closing: Closing): Promise<Services> {
  const { config, clock, log, metrics, db, ring } = core
  metrics.watchAuditLog(() => auditTrailHead(core))
  const contents = await openContents(core, closing)
  const books = await openLedgerServices(core, contents, closing)
  const rules = await createRuleBook(
    { db, clock, onPlansMissing: (plans) => log.warn({ plans }, PLANS_MISSING) },
    config,
  )
  return {
    ...{ ...core, ...contents, ...books, rules },
    seals: createSeals(ring.keys),
    health: watchLanes({ ...core, rules }),
    countedInputs: createCountedInputs((found) => log.warn(found, CONTEXT_TOO_SMALL)),
    estimateErrors: createEstimateErrors(),
    finder: createCallerFinder({ db, pepper: apiKeyPepper(ring), clock }),
    people: await openPeople(core, contents, closing),
  }
}

const CONTEXT_TOO_SMALL = 'context_tokens looks too small: a provider counted more input than it'
const PLANS_MISSING = 'accounts are on plans that the configuration does not have: their builder keys are refused'

/** A figure that cannot be read keeps nobody from reading the others. */
async function auditTrailHead({ db, log }: Core): Promise<AuditLogEnd | undefined> {
  try {
    const head = await findAuditHead(db)
    return head && { rows: head.seq, head: Buffer.from(head.hash).readUIntBE(0, 6) }
  } catch (error) {
    log.error({ error }, 'the end of the audit trail could not be read')
    return undefined
  }
}

function logOptions({ settings, purpose }: AppOptions): LogOptions {
  const { level, format } = settings.config.telemetry.log
  const spelled = format === 'auto' ? (process.stdout.isTTY ? 'pretty' : 'json') : format
  // A command of the operator keeps stdout for its data.
  return purpose === 'server'
    ? { level, format: spelled, destination: 1 }
    : { level: 'error', format: spelled, destination: 2 }
}

/** What a client just paid is counted when somebody asks; without a question it may be seen this much later. */
const USAGE_INTERVAL_MS = 500

/** Whatever a dead process left open is resolved here. */
export async function openLedgerServices(core: Core, contents: Contents, closing: Closing): Promise<OpenedLedger> {
  const { config, clock, overrides, log, metrics, database } = core
  const { db, patientDb, file, journal } = database
  const usage = createUsageKeeper({
    ...{ db: patientDb, content: contents.content, clock, intervalMs: USAGE_INTERVAL_MS },
    onFailure: (error) =>
      log.error({ error }, 'usage could not be counted; it is tried again, and nothing of it is lost'),
  })
  closing.add(() => usage.close())
  const ledger = await openLedger({
    ...{ db, patientDb, file, journal, clock },
    findKeptFacts: findKeptFacts(contents),
    markIntervalMs: config.ledger.markIntervalMs,
    outageGraceMs: overrides.outageGraceMs,
    readBackPauseMs: overrides.readBackPauseMs,
    observer: observerOf(core, usage),
  })
  closing.add(() => ledger.close())
  metrics.watchOpenHolds(() => ledger.openHolds)
  return { ledger, usage }
}

/** What recovery asks: which answers were whole when the process died, and may still be had. */
const findKeptFacts =
  ({ answers, responses }: Contents): FindKeptFacts =>
  async (requests) => {
    const found = new Map<RequestId, FoundFacts>()
    for (const [requestId, { facts, isAsSent }] of await responses.factsOf(requests))
      found.set(requestId, { facts, givenAgain: isAsSent })
    // Whoever repeats the request gets the answer: that is more than its id can give.
    for (const [requestId, facts] of await answers.factsOf(requests)) found.set(requestId, { facts, givenAgain: true })
    return found
  }

/** What is heard of the ledger: the figures, the words for the operator, and who has used something. */
const observerOf = ({ log, metrics, progress }: Core, usage: UsageKeeper): LedgerObserver => ({
  batchRecorded(batch) {
    metrics.batchCommitted(batch)
    progress.mark = moveOn(progress.mark, batch.changes)
    usage.note(batch.changes)
  },
  batchFailed: (error) =>
    log.error({ error }, 'the ledger could not record a batch; admission is closed until it is read back'),
  recovered(holds) {
    metrics.holdsRecovered(holds)
    log.warn({ holds }, 'holds without a turn were resolved')
  },
  doesNotAddUp: (account, error) =>
    log.error(
      { account_row: account, error },
      'an account does not add up and was frozen; `millrace db verify` tells more, and lifts it when it adds up again',
    ),
})

/** So much of these counts a crash may take with it. */
const REFUSED_INTERVAL_MS = 5000

/** Before the books, because their recovery asks which answers were kept; closed after them. */
export async function openContents(core: Core, closing: Closing): Promise<Contents> {
  const { clock, log } = core
  const { built, ...found } = await openContentOfLedger(core, async (file, mark) => {
    core.progress.mark = mark
    return keepIn(
      withMarks(file, () => core.progress.mark),
      core,
    )
  })
  const { content, failed } = built
  closing.add(() => content.close())
  if (failed > 0) log.warn({ responses: failed }, 'responses that were running when the server stopped have failed')
  const refusedTurns = createRefusedTurnCounter({
    ...{ content, clock, intervalMs: REFUSED_INTERVAL_MS },
    onFailure: (error) =>
      log.error({ error }, 'how many requests were refused could not be written; it is tried again'),
  })
  closing.add(() => refusedTurns.close())
  return { ...built, refusedTurns, contentFound: found }
}

/** What is kept in the file, and how many responses a dead process has left running in it. */
async function keepIn(file: SqliteFile, { config: { retention }, clock, ring, log }: Core) {
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
  return { content: file, answers, responses, failed: await responses.recover() }
}

/** What lies there from before a ring could be rotated is sealed by the founding key, under what the operator calls it. */
const sealingKeysOf = ({ keys, founding }: DatabaseKeyring): DatabaseKeyring['keys'] => [
  ...keys,
  { ...founding, id: founding.label },
]

/** Ledger time: every right and every retention is judged by it. It goes on from the newest time in the ledger. */
export async function openClock(clock: Clock, db: LedgerDb, log: Pick<AppLog, 'info' | 'warn'>): Promise<SteadyClock> {
  const floorMs = await findLatestLedgerTime(db)
  return createSteadyClock(clock, { floorMs, onEvent: (event) => report(log, event) })
}

function report(log: Pick<AppLog, 'info' | 'warn'>, event: ClockEvent): void {
  switch (event.kind) {
    case 'stepped':
      log.warn({ ahead_seconds: seconds(event.aheadMs), followed_in_seconds: seconds(HOLD_MS) }, STEPPED)
      break
    case 'step-followed':
      log.warn({ ahead_seconds: seconds(event.aheadMs) }, 'ledger time followed a forward step of the wall clock')
      break
    case 'step-undone':
      log.info({}, 'the wall clock went back from its step; ledger time never followed it')
      break
    case 'wall-behind':
      log.warn({ behind_seconds: seconds(event.behindMs) }, event.catchesUp ? CATCHES_UP : FAR_BEHIND)
      break
    case 'together-again':
      log.info({}, 'the wall clock has caught up with ledger time')
      break
    case 'set-back': {
      const [from, to] = [event.fromMs, event.toMs].map((ms) => new Date(ms).toISOString())
      log.warn({ from, to }, 'an operator set ledger time back')
    }
  }
}

const STEPPED =
  'the wall clock stepped forward; ledger time follows if the step holds, or at once with `millrace db clock --follow`'
const CATCHES_UP = 'the wall clock is behind ledger time, which runs at half speed until the wall clock has caught up'
const FAR_BEHIND =
  'the wall clock is far behind ledger time; see `millrace db clock`, and repair with `millrace db clock --set-back`'

const seconds = (ms: number): number => Math.round(ms / 1000)

/** Where the link for the first person is, when nobody reads what the start prints. */
export const consoleSetupFile = (data: string): string => join(data, 'console-setup')

/** Whoever signs in, with the lockouts that a restart shall not lift. */
export async function openPeople(
  { config: { server, storage }, clock, random, ring, database: { db, file }, log }: Core,
  { content }: Contents,
  closing: Closing,
): Promise<PeopleDeps> {
  const lockouts = createLockoutKeeper({
    ...{ file: content, now: () => clock.now() },
    onFailure: (error) => log.error({ error }, 'a lockout could not be written down; a restart would lift it'),
  })
  closing.add(() => lockouts.close())
  const people = createPeopleDeps({
    ...{ db, file, clock, random, lockouts, secret: deriveKey(ring.founding.secret, 'people') },
    consoleUrl: () => `${server.publicUrl ?? urlOf(server.host, server.port)}/console`,
    onFailure: (error) => log.error({ error }, 'a file or a row of people who sign in could not be brought up to date'),
    onFirstPerson: () => rm(consoleSetupFile(storage.data), { force: true }),
  })
  const kept = await listLockouts(content, clock.now()).catch((error: unknown) => {
    log.error({ error }, 'lockouts could not be read; those from before this start are lifted')
    return []
  })
  people.tries.restore(kept)
  return people
}
