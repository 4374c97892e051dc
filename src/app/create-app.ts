import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { actorLogOf, COMMAND_LINE } from '../admin/audit.ts'
import { finishRedemptions } from '../admin/codes.ts'
import { createServedCounter, type ServedCounter } from '../admin/count-served.ts'
import {
  createCountedInputs,
  createRefusedTurnCounter,
  createUsageKeeper,
  type UsageKeeper,
} from '../admin/count-usage.ts'
import { createSignInServices, type SignInServices } from '../admin/sessions.ts'
import { createRedeemTries } from '../admin/sign-in-limits.ts'
import { createCallers } from '../auth/callers.ts'
import { digestKey, mintKey } from '../auth/secrets.ts'
import { readEnvironment } from '../config/files.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { findAuditHead } from '../db/audit.ts'
import { createStoredCallSeals } from '../db/content/call-seals.ts'
import { createConversations } from '../db/content/conversations.ts'
import { createKeptAnswers } from '../db/content/kept-answers.ts'
import { createLockoutKeeper, listLockouts } from '../db/content/lockouts.ts'
import { eraseDeleted, openContent, withMarks } from '../db/content/open-content.ts'
import { createStoredResponses } from '../db/content/stored-responses.ts'
import { NO_MARK } from '../db/meta.ts'
import { type Database, knowsRequestOf, LedgerUnusable, openDatabase } from '../db/open-database.ts'
import type { PostgresDatabase } from '../db/postgres/open-database.ts'
import type { Signal } from '../db/postgres/signals.ts'
import { findLatestLedgerTime } from '../db/receipts.ts'
import { openSettleJournal, takeRecords } from '../db/settle-journal.ts'
import type { SqlStore } from '../db/sql-store.ts'
import { DatabaseLocked } from '../db/sqlite/failure.ts'
import { createSeals } from '../gateway/seals.ts'
import type { FindKeptFacts, KeptFacts } from '../ledger/core.ts'
import { OUTAGE_GRACE_MS } from '../ledger/core.ts'
import { openLedger } from '../ledger/open-ledger.ts'
import { READ_BACK_PAUSE_MS } from '../ledger/recovery.ts'
import { type Closing, createClosing } from '../lib/async.ts'
import { createSteadyClock } from '../lib/clock.ts'
import { createLruMap } from '../lib/collections.ts'
import { deriveKey } from '../lib/crypto.ts'
import type { AccountRow, KeyId, RequestId } from '../model/ids.ts'
import type { NoticeWatch } from '../notices/watch.ts'
import { createStripe } from '../payments/stripe.ts'
import { createEstimateErrors } from '../pricing/estimate.ts'
import { resolveHost } from '../providers/address-guard.ts'
import { STALL_MS } from '../server/services.ts'
import { createLog, logOptionsOf } from '../telemetry/log.ts'
import { type AuditLogEnd, createMetrics } from '../telemetry/metrics.ts'
import type { App, AppOptions, AppOutcome, Contents, Core, Notices, Overrides, Services } from './app.ts'
import {
  consoleSetupFile,
  foldersOfFormerWorkers,
  listQuarantined,
  measureStorage,
  nodeFolderOf,
  noticesOf,
  whyBackup,
} from './data-folder.ts'
import { REDEEMED_WITHIN_MS, watchLanes } from './jobs.ts'
import {
  apiKeyPepper,
  checkKeyring,
  createDatabaseSeals,
  type DatabaseKeyring,
  filesOfLedger,
  findMissingKeyring,
  jobKeySecret,
  loadKeyring,
  nameLedgerOfKeyring,
  resealWithPrimary,
} from './key-ring.ts'
import { createFileWork } from './ledger-files.ts'
import { createManaged } from './managed-entries.ts'
import { consoleUrlOf, createNotices } from './notices.ts'
import { logClockEvent, observerOf } from './observers.ts'
import { openContentOfLedger } from './open-content.ts'
import { callProviders } from './open-send.ts'
import { createRuleBook } from './rules.ts'
import { isServed } from './server-note.ts'
import { consoleServicesOf, openServing } from './serving.ts'

const DEFAULTS: Overrides = {
  openDatabase,
  openPostgres: async (options) => (await import('../db/postgres/open-database.ts')).openPostgres(options),
  openContent,
  resolveHost,
  otelOptIn: readEnvironment().OTEL_SEMCONV_STABILITY_OPT_IN,
  outageGraceMs: OUTAGE_GRACE_MS,
  readBackPauseMs: READ_BACK_PAUSE_MS,
  stallMs: STALL_MS,
}

/** Builds everything once. What opens registers on the next line how it closes. */
export async function openApp(options: AppOptions): Promise<AppOutcome> {
  const { settings, purpose, worker } = options
  const log = createLog(options, {
    ...logOptionsOf(settings.config.telemetry.log, purpose),
    worker: worker?.number,
  })
  const closing = createClosing()
  const giveUp = () => closing.close().finally(() => log.close())
  try {
    const outcome = await build(options, log, closing)
    if (outcome.kind !== 'open') await giveUp()
    return outcome
  } catch (error) {
    await giveUp()
    if (error instanceof DatabaseLocked) return { kind: 'locked' }
    if (error instanceof LedgerUnusable) return { kind: 'refused', message: error.message }
    throw error
  }
}

async function build(options: AppOptions, log: Core['log'], closing: Closing): Promise<AppOutcome> {
  let onDeath: (death: Error) => void = () => {}
  const died = new Promise<Error>((resolve) => {
    onDeath = resolve
  })
  const quarantinedBefore = listQuarantined(nodeFolderOf(options.settings.config.storage.data, options.worker))
  const opened = await openCore(options, { log, onDeath }, closing)
  if (opened.kind === 'refused') return opened
  const services = await createServices(opened.core, closing)
  const { database, ledger, contentFound, progress, rules } = services
  const notices = noticesOf(services.journal?.found, contentFound, progress.mark.receipt > 0)
  // A command logs errors only, and may be the first to find it.
  for (const { message, facts } of notices) log.error(facts, message)
  if (quarantinedBefore.length > 0) {
    notices.push({ message: `Set aside earlier, and not used: ${quarantinedBefore.join(', ')}.`, facts: {} })
  }
  const operations = operationsOf(services, options, closing)
  const { managed } = services
  managed.reloadBy(async () => {
    const loaded = await managed.load()
    if (loaded.kind === 'invalid') return loaded.message
    await rules.replace(loaded.settings.config, loaded.asOf)
    return null
  })
  if (database.kind === 'postgres' && options.purpose === 'server') {
    closing.add(await database.listen((signals) => applySignals(services, operations, signals)))
  }
  if (options.purpose === 'server') await managed.catchUp()
  // Codes that a dead process redeemed without crediting them. A credit that has to wait does not stop the start.
  const finished = await finishRedemptions({
    ...operations,
    redeemedBefore: database.kind === 'postgres' ? services.clock.now() - REDEEMED_WITHIN_MS : Number.POSITIVE_INFINITY,
    onUnfinished: (code, reason) => log.warn({ code, reason }, 'a redeemed code could not be credited yet'),
  })
  if (finished > 0) log.info({ codes: finished }, 'redeemed codes were credited')
  const app: App = {
    operations,
    ledgerAvailable: () => ledger.gate.open,
    driver: database.file.driver,
    ...{ log, rules, managed, settings: opened.settings },
    openServing: ({ version, status, listWorkers }) =>
      openServing(services, consoleServicesOf(services, { ...operations, version, status, listWorkers }), closing),
    notices: notices.map(({ message }) => message),
    died,
    close: () => closing.close(),
  }
  return { kind: 'open', app }
}

type OpenedCore =
  | { readonly kind: 'open'; readonly core: Core; readonly settings: LoadedConfig }
  | Extract<AppOutcome, { kind: 'refused' }>

/** Opens the database and the key ring that it belongs to. Another ring could not read it. */
async function openCore(
  { random, settings: file, loadSettings, clock: systemClock, purpose, worker, overrides: replaced }: AppOptions,
  { log, onDeath }: Pick<Core, 'log' | 'onDeath'>,
  closing: Closing,
): Promise<OpenedCore> {
  const overrides = { ...DEFAULTS, ...replaced }
  // Only upstreams, models and plans are managed.
  const { config } = file
  const dataDir = config.storage.data
  const { database: chosen } = config.storage
  const nodeFolder = nodeFolderOf(dataDir, worker)
  if (chosen.kind === 'postgres' && purpose === 'server' && (await isServed(nodeFolder)))
    throw new DatabaseLocked(nodeFolder)
  const backup = chosen.kind === 'postgres' ? undefined : whyBackup(dataDir)
  if (backup !== undefined) return { kind: 'refused', message: backup }
  const database =
    chosen.kind === 'postgres'
      ? await overrides.openPostgres({
          url: chosen.url,
          mayLoseCommits: config.storage.mayLoseCommits,
          onTrouble: (error) => log.warn({ error }, 'a connection to PostgreSQL failed; it is opened again'),
          onLockWait: () => log.warn({}, 'a change of the tables waits for another session, which keeps them locked'),
        })
      : await overrides.openDatabase({
          ...{ path: join(dataDir, 'ledger.db'), clock: systemClock, onDeath },
          ofEarlierLedger: filesOfLedger(dataDir),
        })
  closing.add(() => database.close())
  const { db } = database
  // After the ledger: a new ring beside a ledger that has lost its own would hide the loss.
  const place = { dataDir, secretFromEnvironment: config.keyring.secretKey }
  const missing = await findMissingKeyring(db, place)
  if (missing !== undefined) return { kind: 'refused', message: missing }
  const loaded = await loadKeyring(place)
  if (loaded.wasOpenTo !== undefined) {
    log.warn({ mode: loaded.wasOpenTo }, 'keyring.json was readable by other users; its mode is now 0600')
  }
  const checked = await checkKeyring(db, loaded)
  if (checked.kind === 'refused') return checked
  const { keyring } = checked
  if (keyring.source !== 'environment' && !(await nameLedgerOfKeyring(dataDir, database.ledger))) {
    log.warn({}, 'keyring.json cannot be written, so it does not record which ledger it belongs to')
  }
  if (keyring.keys.length > 1) {
    log.info({ primary: keyring.keys[0].label, keys: keyring.keys.length }, 'the key ring has former keys')
  }
  const ringSeals = createDatabaseSeals(keyring)
  if (purpose === 'server' && keyring.keys.length > 1) {
    const { resealed, unreadable } = await resealWithPrimary(database.file, ringSeals)
    if (resealed > 0) log.info({ secrets: resealed }, 'secrets were sealed again with the primary key')
    if (unreadable > 0) log.warn({ secrets: unreadable }, 'secrets cannot be opened: their key is not on the key ring')
  }
  // Ledger time goes on from the newest time in the ledger.
  const floorMs = database.kind === 'sqlite' ? await findLatestLedgerTime(db) : 0
  const clock = createSteadyClock(systemClock, { floorMs, onEvent: (event) => logClockEvent(log, event) })
  const managed = createManaged({
    ...{ db, clock, secrets: ringSeals.managed, settings: file, loadSettings, log },
    waits: purpose === 'server',
    callProviders: (upstreams, use) => callProviders({ config, clock, random, ...overrides }, upstreams, use),
  })
  closing.add(() => managed.close())
  const { settings, asOf } = await managed.loadAtStart()
  const core = {
    ...{ config: settings.config, pricesAsOf: asOf, managed, clock, random, purpose, worker, overrides, log },
    ...{ database, db, keyring },
    ...{ ringSeals, onDeath, metrics: createMetrics(), progress: { mark: NO_MARK } },
  }
  return { kind: 'open', core, settings }
}

/** Builds all services, in the order in which they need each other. */
async function createServices(core: Core, closing: Closing): Promise<Services> {
  const { config, clock, log, metrics, db, keyring } = core
  metrics.watchAuditLog(() => findAuditLogEnd(core))
  metrics.watchStorage(() => measureStorage(config.storage.data))
  const contents = await openContents(core, closing)
  const notices = createNotices(core)
  const ledger = await openLedgerServices(core, contents, notices, closing)
  const rules = await createRuleBook(
    { db, clock, workers: core.worker?.of ?? 1, onPlansMissing: (plans) => log.warn({ plans }, PLANS_MISSING) },
    config,
    core.pricesAsOf,
  )
  return {
    ...{ ...core, ...contents, ...ledger, notices, rules },
    seals: createSeals(keyring.keys),
    health: watchLanes({ ...core, rules }),
    countedInputs: createCountedInputs((found) => log.warn(found, CONTEXT_TOO_SMALL)),
    estimateErrors: createEstimateErrors(),
    callers: createCallers({ db, pepper: apiKeyPepper(keyring), jobSecret: jobKeySecret(keyring), clock }),
    people: await openPeople(core, { ...contents, notices, rules }, closing),
  }
}

const CONTEXT_TOO_SMALL = 'context_tokens looks too small: a provider counted more input than it'
const PLANS_MISSING = 'accounts have plans that the configuration does not define; their builder keys are refused'

/** Undefined without a row, or when it cannot be read. The other metrics are still rendered. */
async function findAuditLogEnd({ db, log }: Core): Promise<AuditLogEnd | undefined> {
  try {
    const head = await findAuditHead(db)
    return head && { rows: head.seq, head: Buffer.from(head.hash).readUIntBE(0, 6) }
  } catch (error) {
    log.error({ error }, 'the end of the audit log could not be read')
    return undefined
  }
}

/** A crash loses at most this much of the counts of refused turns. */
const REFUSED_INTERVAL_MS = 5000

/** Opens content.db before the ledger, because recovery asks which answers were kept. It closes after the ledger. */
async function openContents(core: Core, closing: Closing): Promise<Contents> {
  const { clock, log, database } = core
  const { built, ...contentFound } =
    database.kind === 'postgres'
      ? { built: await openStores(database.content, core), isNew: false, quarantine: undefined }
      : await openContentOfLedger({ ...core, database }, (file, mark) => {
          core.progress.mark = mark
          return openStores(
            withMarks(file, () => core.progress.mark),
            core,
          )
        })
  const { failed, ...stores } = built
  closing.add(() => stores.content.close())
  closing.add(() => stores.callSeals?.close())
  if (failed > 0) log.warn({ responses: failed }, 'responses that were running when the server stopped have failed')
  const refusedTurns = createRefusedTurnCounter({
    ...{ content: stores.content, clock, intervalMs: REFUSED_INTERVAL_MS },
    onFailure: (error) => log.error({ error }, 'the counts of refused requests could not be written; retrying'),
  })
  closing.add(() => refusedTurns.close())
  return { ...stores, refusedTurns, contentFound }
}

/** The stores in content.db, and how many responses a dead process left running. */
async function openStores(content: SqlStore, { config: { retention }, clock, keyring, log, database }: Core) {
  const { now } = clock
  // Contents from before key rotation are sealed by the founding key under its label.
  const keys: DatabaseKeyring['keys'] = [...keyring.keys, { ...keyring.founding, id: keyring.founding.label }]
  const answers = await createKeptAnswers({
    ...{ file: content, keys, now, bytesMax: retention.idempotencyBytesMax },
    isShared: database.kind === 'postgres',
    onFailure: (error) => log.error({ error }, 'an answer could not be stored; it is charged and cannot be replayed'),
  })
  const responses = createStoredResponses({
    ...{ file: content, sealingKeys: keys, now, bytesMax: retention.stateBytesMax },
    isShared: database.kind === 'postgres',
    eraseDeleted: database.kind === 'sqlite' ? () => eraseDeleted(content) : undefined,
    onFailure: (error) => log.error({ error }, 'a stored response could not be written or read'),
  })
  const conversations = createConversations({
    ...{ file: content, sealingKeys: keys, now, keeps: retention.stateBytesMax > 0 },
    isShared: database.kind === 'postgres',
    eraseDeleted: database.kind === 'sqlite' ? () => eraseDeleted(content) : undefined,
  })
  // On PostgreSQL other nodes may run them: a job fails the abandoned ones.
  const failed = database.kind === 'sqlite' ? await responses.recover() : 0
  const callSeals =
    database.kind === 'sqlite'
      ? undefined
      : createStoredCallSeals({
          ...{ file: content, now },
          onFailure: (error) => log.error({ error }, 'the reasoning before tool calls could not be stored'),
        })
  return { content, answers, responses, conversations, callSeals, failed }
}

/** Usage is counted when it is read, and at least this often. */
const USAGE_INTERVAL_MS = 500

/** Opens the ledger and recovers what a dead process left open. */
async function openLedgerServices(core: Core, contents: Contents, { watch }: Notices, closing: Closing) {
  const { clock, log, metrics, database } = core
  const { lowPriorityDb } = database
  const usage = createUsageKeeper({
    ...{ db: lowPriorityDb, content: contents.content, clock, intervalMs: USAGE_INTERVAL_MS },
    onFailure: (error) => log.error({ error }, 'usage could not be counted; retrying, and nothing is lost'),
  })
  closing.add(() => usage.close())
  const served = createServedCounter({
    ...{ db: lowPriorityDb, content: contents.content, clock, intervalMs: USAGE_INTERVAL_MS },
    isShared: database.kind === 'postgres',
    onFailure: (error) => log.error({ error }, 'what was served could not be counted; retrying, and nothing is lost'),
  })
  closing.add(() => served.close())
  const kept = findKeptFacts(contents)
  const { ledger, journal } =
    database.kind === 'postgres'
      ? await openNodeLedger({ ...core, database }, { usage, served, watch, findKeptFacts: kept }, closing)
      : await openFileLedger({ ...core, database }, { usage, served, watch, findKeptFacts: kept })
  closing.add(() => ledger.close())
  metrics.watchLedger(ledger)
  return { ledger, journal, usage, served }
}

interface LedgerNeeds {
  readonly usage: UsageKeeper
  readonly served: ServedCounter
  readonly watch: NoticeWatch
  readonly findKeptFacts: FindKeptFacts
}

async function openFileLedger(
  core: Core & { readonly database: Database },
  { usage, served, watch, findKeptFacts }: LedgerNeeds,
) {
  const { config, clock, overrides, database } = core
  const { db, lowPriorityDb, file, journal } = database
  const ledger = await openLedger({
    ...{ db, lowPriorityDb, file, journal, clock, findKeptFacts },
    markIntervalMs: config.ledger.markIntervalMs,
    outageGraceMs: overrides.outageGraceMs,
    readBackPauseMs: overrides.readBackPauseMs,
    observer: observerOf(core, usage, served, watch),
  })
  return { ledger, journal }
}

/** After the end of its lease a node has this long to bring the ends of its turns. */
const RECOVERY_GRACE_MS = 10_000

/** The ledger of one node of several on one PostgreSQL. */
async function openNodeLedger(
  core: Core & { readonly database: PostgresDatabase },
  { usage, served, watch, findKeptFacts }: LedgerNeeds,
  closing: Closing,
) {
  const { config, clock, log, metrics, database, purpose } = core
  // A command beside the server has no turns; the journal belongs to the server.
  const journal = purpose === 'command' ? undefined : await openNodeJournal(core, closing)
  const { openPostgresLedger } = await import('../ledger/postgres/open-ledger.ts')
  const ledger = await openPostgresLedger({
    ...{
      pool: database.ledgerPool,
      leasePool: database.leasePool,
      proofPool: database.proofPool,
      clock,
      journal,
      findKeptFacts,
    },
    markIntervalMs: config.ledger.markIntervalMs,
    leaseMs: config.ledger.nodeLeaseMs,
    leaseNowMicros: core.overrides.leaseNowMicros,
    recoveryGraceMs: RECOVERY_GRACE_MS,
    observer: {
      trouble: (error) => log.error({ error }, 'PostgreSQL did not answer the ledger; it is asked again'),
      recovered: (holds) => {
        metrics.holdsRecovered(holds)
        log.warn({ holds }, 'holds without a running turn were resolved')
      },
      leaseLost: () => log.error({}, 'the lease of this node ended: other nodes resolve its turns, which are cut off'),
      recorded: (batch) => metrics.batchCommitted(batch),
      closed(account) {
        usage.noteAccount(account)
        served.noteAccount(account)
        watch.note(account)
      },
    },
  })
  return { ledger, journal }
}

async function openNodeJournal(core: Core & { readonly database: PostgresDatabase }, closing: Closing) {
  const { config, clock, log, database, db, worker = { number: 1, of: 1 } } = core
  const { data } = config.storage
  const open = (folder: string) =>
    openSettleJournal({
      ...{ path: join(folder, 'settles.journal'), ledger: database.ledger, now: () => clock.now() },
      knows: (record) => knowsRequestOf(db, record),
    })
  const journal = await open(nodeFolderOf(data, worker))
  closing.add(() => journal.close())
  if (worker.number > 1) return journal
  // Ends of workers that this server no longer has. A worker that has lost its server may still be ending its turns.
  for (const folder of foldersOfFormerWorkers(data, worker.of)) {
    if (await isServed(folder)) continue
    const former = await open(folder)
    try {
      const ends = await takeRecords(journal, former)
      if (ends === undefined)
        log.error({ folder }, 'a former worker has left more ends of requests than fit: start again')
      else if (ends > 0) log.warn({ folder, ends }, 'ends of requests were found that a former worker has left')
    } finally {
      await former.close()
    }
  }
  return journal
}

/** For recovery: which answers were complete when the process died, and can still be fetched. */
const findKeptFacts =
  ({ answers, responses }: Contents): FindKeptFacts =>
  async (requests) => {
    const found = new Map<RequestId, KeptFacts>()
    for (const [requestId, { facts, isAsSent }] of await responses.factsOf(requests))
      found.set(requestId, { facts, isReplayable: isAsSent })
    // A kept answer is replayed to a repeated request, which is more than a stored response offers.
    for (const [requestId, facts] of await answers.factsOf(requests))
      found.set(requestId, { facts, isReplayable: true })
    return found
  }

/** People who sign in, with the lockouts, which survive a restart. */
async function openPeople(
  { config, clock, random, keyring, ringSeals, db, database: { file }, log }: Core,
  { content, notices, rules }: Contents & Pick<Services, 'notices' | 'rules'>,
  closing: Closing,
): Promise<SignInServices> {
  const lockouts = createLockoutKeeper({
    ...{ file: content, now: clock.now },
    onFailure: (error) => log.error({ error }, 'a lockout could not be stored; a restart would lift it'),
  })
  closing.add(() => lockouts.close())
  const people = createSignInServices({
    ...{ db, file, clock, random, lockouts, secret: deriveKey(keyring.founding.secret, 'people') },
    totpSeals: ringSeals.totp,
    rules: () => rules.current.signIn,
    consoleUrl: () => consoleUrlOf(config),
    invitationMail: notices.invitationMail,
    onFailure: (error) => log.error({ error }, 'a file or a row of people who sign in could not be updated'),
    onFirstPerson: () => rm(consoleSetupFile(config.storage.data), { force: true }),
  })
  const kept = await listLockouts(content, clock.now()).catch((error: unknown) => {
    log.error({ error }, 'lockouts could not be read; those from before this start are lifted')
    return []
  })
  people.tries.restore(kept)
  return people
}

/** The services of the operator's and the owner's use cases, with the command line as actor. */
function operationsOf(services: Services, options: AppOptions, closing: Closing): App['operations'] {
  const { clock, random, ledger, rules, health, estimateErrors, callers, people, countedInputs } = services
  const { database, content, keyring, notices, managed } = services
  const pepper = apiKeyPepper(keyring)
  const adminPepper = deriveKey(keyring.founding.secret, 'admin-keys')
  const codePepper = deriveKey(keyring.founding.secret, 'redemption-codes')
  return {
    ...{ db: database.lowPriorityDb, clock, random, ledger, health, estimateErrors, people, countedInputs, managed },
    catalog: () => rules.current.catalog,
    liveKeysMax: () => rules.current.liveKeysMax,
    keyRateLimits: () => rules.current.limits.key,
    auditLog: actorLogOf(people.audit, COMMAND_LINE),
    mintKey: (kind) => mintKey({ pepper, random }, kind),
    adminKeys: {
      mint: () => mintKey({ pepper: adminPepper, random }, 'admin'),
      digest: (token) => digestKey(adminPepper, token),
    },
    digestCode: (letters) => digestKey(codePepper, letters),
    redeemTries: createRedeemTries(clock),
    payments: paymentsOf(services),
    notices: notices.admin,
    ledgerClock: clock,
    files: { ledger: database.file, content },
    usage: services.usage,
    served: services.served,
    ...(database.kind === 'sqlite' ? createFileWork(services, database, options, closing) : {}),
    forgetAll() {
      callers.forgetAll()
      people.sessions.forgetAll()
    },
    forgetKey: (id) => callers.forget(id),
    // A session also says something about its account.
    forgetAccount(account) {
      callers.forgetAccount(account)
      people.sessions.forgetAll()
    },
  }
}

const ASKED_PAYMENTS_MAX = 10_000

const paymentsOf = ({ config: { stripe } }: Services) =>
  stripe && {
    provider: createStripe(stripe),
    terms: stripe.terms,
    askedAt: createLruMap<string, number>(ASKED_PAYMENTS_MAX),
  }

/** Forgets what another node has changed. */
function applySignals(
  { managed, log }: Pick<Services, 'managed' | 'log'>,
  operations: App['operations'],
  signals: readonly Signal[],
): void {
  if (signals.some(({ about }) => about === 'managed' || about === 'everything'))
    managed.apply().catch((error: unknown) => log.error({ error }, 'managed entries could not be loaded; retrying'))
  for (const { about, subject } of signals) {
    if (about === 'key') operations.forgetKey(subject as KeyId)
    else if (about === 'account') operations.forgetAccount(Number(subject) as AccountRow)
    else if (about === 'people') operations.people.sessions.forgetAll()
    else if (about === 'everything') operations.forgetAll()
  }
}
