import { fileURLToPath } from 'node:url'
import { createJobKeys } from '../admin/job-keys.ts'
import { playgroundKey } from '../admin/playground.ts'
import { readReceipt } from '../admin/requests.ts'
import type { AdminServices } from '../admin/services.ts'
import { createSignOn } from '../admin/sign-on.ts'
import { listUnknownAccounts } from '../admin/sign-on-people.ts'
import { listAccountIds } from '../db/accounts.ts'
import { lastUsedOf } from '../db/content/usage-totals.ts'
import { createDrains } from '../gateway/cancellation.ts'
import { createRequestDigests, lookUpAnswer } from '../gateway/idempotency.ts'
import { readTurn } from '../gateway/read-turn.ts'
import { createRunningResponses } from '../gateway/running-responses.ts'
import { createRuns } from '../gateway/runs.ts'
import { type CallSealMemory, createCacheSalts, createCallSealMemory, shareCallSeals } from '../gateway/seals.ts'
import { earlyRefusal, serveTurn } from '../gateway/serve-turn.ts'
import type { Closing } from '../lib/async.ts'
import { createSharedByteBudget } from '../lib/bytes.ts'
import { deriveKey } from '../lib/crypto.ts'
import { uniform } from '../lib/random-id.ts'
import type { RateLimit } from '../lib/rate-limit.ts'
import { createAddressLimiter } from '../limits/limits.ts'
import type { AccountId } from '../model/ids.ts'
import { createLaneEstimators } from '../pricing/lane-estimators.ts'
import { createSeenPrefixes } from '../pricing/seen-prefixes.ts'
import { mintIdsOf } from '../protocols/shared/codec-types.ts'
import type { Send } from '../providers/send.ts'
import { createLearnedCapabilities } from '../routing/learned-capabilities.ts'
import { createStickyLanes } from '../routing/plan-lanes.ts'
import { createPrefixGuard } from '../routing/prefix-guard.ts'
import { createRetryBudget, createRetryWait } from '../routing/retry-budget.ts'
import { createConsoleApi } from '../server/console/api.ts'
import type { ConsoleServices } from '../server/console/handler.ts'
import { createEdge } from '../server/listener.ts'
import { createMetricsServer } from '../server/metrics-server.ts'
import { type EdgeConsole, type EdgeOptions, type Gateway, LINGER, type SiteFiles } from '../server/services.ts'
import { loadSiteFiles } from '../server/site-files.ts'
import { openTracing } from '../telemetry/tracing.ts'
import type { ServerFacts, Services, Serving } from './app.ts'
import { startJobs } from './jobs.ts'
import { jobKeySecret } from './key-ring.ts'
import { startNotices } from './notices.ts'
import { openSend } from './open-send.ts'
import { openConcurrencyLimiter, TurnCounter } from './turn-counter.ts'

/** Builds the HTTP servers, the turns behind them and the periodic jobs. */
export async function openServing(services: Services, admin: ConsoleServices, closing: Closing): Promise<Serving> {
  const { clock, random, overrides, metrics, rules, db } = services
  const { traces } = services.config.telemetry
  const turns = new TurnCounter()
  const { pools, send } = await openSend({ clock, random, ...overrides }, rules.current.upstreams, closing)
  const edge = createEdge({
    ...services,
    ...openConcurrencyLimiter(services, closing),
    options: edgeOptionsOf(services),
    jobKeys: createJobKeys({
      ...{ db, clock, audit: services.people.audit, secret: jobKeySecret(services.keyring) },
      issuers: () => rules.current.jobIssuers,
      onRefused: (facts) => services.log.warn(facts, 'the token of a CI job was refused'),
    }),
    unauthenticatedLimiter: createAddressLimiter({
      nowMicros: clock.nowMicros,
      rule: () => rules.current.unauthenticatedPerAddress,
    }),
    gateway: createGateway(services, turns, send),
    turnCounts: turns,
    about: { version: admin.version, publicUrl: services.config.server.publicUrl },
    tracing: traces.enabled
      ? await openTracing({
          ...{ version: admin.version, optIn: overrides.otelOptIn },
          fromClients: traces.fromClients,
        })
      : undefined,
    findReceipt: (caller, requestId) => readReceipt({ db }, caller, requestId),
    admin,
    console: createEdgeConsole(services, admin),
    docs: services.config.server.docs ? readOnce(() => loadSiteFiles(DOCS_FOLDER)) : undefined,
  })
  closing.add(async () => {
    const ended = edge.stopAccepting()
    edge.closeAllConnections()
    await ended
  })
  metrics.watchReload(() => reloadRefusedOf(admin) !== null)
  metrics.started(admin.version)
  metrics.configLoaded(rules.current.catalog)
  const metricsServer = createMetricsServer(metrics)
  closing.add(() => metricsServer.close())
  startJobs(services, admin, closing)
  startNotices(services, { reloadRefused: () => reloadRefusedOf(admin) }, closing)
  closing.add(services.ledger.gate.onOutage(() => turns.abortAll('ledger-gone')))
  void warnOfUnknownAccounts(services)
  // Counts what the last process did not count, without delaying the start.
  void services.usage.catchUp()
  void services.served.catchUp()
  return {
    listen: edge.listen,
    listenMetrics: metricsServer.listen,
    renderMetrics: async () => (await metrics.render()).body,
    useCertificate: ({ cert, key }) => edge.useCertificate({ cert, key: key.reveal() }),
    announceDrain: edge.announceDrain,
    stopAccepting: edge.stopAccepting,
    turnsEnded: () => turns.ended(),
    abortTurns: () => turns.abortAll('draining'),
    closeAllConnections: edge.closeAllConnections,
    onSwapped() {
      metrics.configLoaded(rules.current.catalog)
      return pools.keepOnly(rules.current.upstreams)
    },
    get turnsRunning() {
      return turns.running
    },
    get requestsServed() {
      return turns.served
    },
    get consoleRequests() {
      return turns.console
    },
  }
}

function reloadRefusedOf({ status }: Pick<ConsoleServices, 'status'>): string | null {
  const now = status()
  return now.running ? now.reload_refused : null
}

/** Groups that give a role in an account that does not exist give none. */
async function warnOfUnknownAccounts({ config: { signIn }, db, log }: Services): Promise<void> {
  const roles = [...signIn.providers.flatMap((provider) => provider.roles), ...signIn.scimRoles]
  const accounts = await listUnknownAccounts(db, roles).catch(() => [])
  if (accounts.length > 0) log.warn({ accounts }, 'sign_in gives roles in accounts that do not exist')
}

/** Undefined without a path. */
const pathPrefixOf = (publicUrl: string | undefined): string | undefined =>
  publicUrl === undefined ? undefined : new URL(publicUrl).pathname.replace(/\/$/, '') || undefined

const edgeOptionsOf = ({ config: { bounds, streams, server, tls }, worker, overrides }: Services): EdgeOptions => ({
  pathPrefix: pathPrefixOf(server.publicUrl),
  tls: tls && { cert: tls.cert, key: tls.key.reveal() },
  connectionsMax: server.maxConnections,
  sharesPort: worker !== undefined,
  headersTimeoutMs: bounds.headerTimeoutMs,
  requestTimeoutMs: bounds.requestTimeoutMs,
  keepAliveTimeoutMs: bounds.keepAliveTimeoutMs,
  headerBytesMax: bounds.headerBytesMax,
  body: {
    bytesMax: bounds.bodyBytesMax,
    expansionRatioMax: bounds.expansionRatioMax,
    depthMax: bounds.jsonDepthMax,
    valuesMax: bounds.jsonValuesMax,
  },
  stream: { headDelayMs: streams.silenceBeforeHeadMs, keepAliveMs: streams.keepAliveMs },
  stallMs: overrides.stallMs,
  linger: LINGER,
  allowedOrigins: server.allowedOrigins,
  trustedProxies: server.trustProxy,
})

const MiB = 1024 * 1024
/** A larger answer is sent and charged, and not kept. No text is this long. */
const KEPT_ANSWER_BYTES_MAX = 32 * MiB
/** Answers of running turns with an idempotency key, replays and stored responses that are looked up, all together. */
const KEPT_MEMORY_BYTES = 256 * MiB
/** A response has about its request in it, and an account may take half. */
const LARGEST_RESPONSES = 4

/** The gateway, with the services that turns share. Catalogue, limits and routing are those of the current configuration. */
function createGateway(services: Services, { onServerAbort }: TurnCounter, send: Send): Gateway {
  const { clock, random, rules, ledger, answers, responses, seals, config } = services
  const { now, nowMicros } = clock
  const { frameBytesMax, bodyBytesMax, jsonDepthMax: depthMax, jsonValuesMax: valuesMax } = config.bounds
  const founding = services.keyring.founding.secret
  const budget = createSharedByteBudget(Math.max(KEPT_MEMORY_BYTES, LARGEST_RESPONSES * bodyBytesMax))
  const { catalog, limits, chosenCap, hostedTools } = rules.current
  const shared = {
    ...{ catalog, limits, chosenCap, hostedTools },
    ...{ ledger, answers, responses, seals, send, now, nowMicros, budget, onServerAbort },
    callers: services.callers,
    health: services.health,
    stateMs: config.retention.stateMs,
    answerBytesMax: KEPT_ANSWER_BYTES_MAX,
    drains: createDrains({ nowMicros }),
    running: createRunningResponses({
      responses,
      onFailure: (error) => services.log.error({ error }, 'a running response could not be looked at'),
    }),
    live: new Map(),
    waiting: new Map(),
    sticky: createStickyLanes({ nowMicros }),
    estimators: createLaneEstimators(),
    seenPrefixes: createSeenPrefixes({ nowMicros }),
    prefixGuard: createPrefixGuard({ nowMicros }),
    callSeals: callSealsOf(services),
    runs: createRuns({
      ...{ db: services.db, file: services.database.file, now },
      onFailure: (error) => services.log.warn({ error }, 'a run could not be read or recorded'),
    }),
    cacheSaltOf: createCacheSalts(founding),
    capabilities: createLearnedCapabilities(nowMicros),
    retryBudget: createRetryBudget({ nowMicros, terms: () => rules.current.routing.retries }),
    retryWait: createRetryWait({ maxMs: () => rules.current.routing.patienceMs, random: () => uniform(random) }),
    mint: mintIdsOf(random),
    random: () => uniform(random),
    bounds: { frameBytesMax, bodyBytesMax, bytesMax: bodyBytesMax, depthMax, valuesMax },
    digests: createRequestDigests(founding),
    keptMs: config.retention.idempotencyMs,
  }
  rules.onReplaced = (next) => {
    shared.catalog = next.catalog
    shared.limits = next.limits
    shared.chosenCap = next.chosenCap
    shared.hostedTools = next.hostedTools
  }
  return { services: shared, earlyRefusal, lookUpAnswer, readTurn, serveTurn }
}

function callSealsOf({ clock, callSeals: stored, seals, log }: Services): CallSealMemory {
  const memory = createCallSealMemory({ nowMicros: clock.nowMicros })
  if (stored === undefined) return memory
  const onFailure = (error: unknown) => log.error({ error }, 'the reasoning before tool calls could not be read')
  return shareCallSeals(memory, { stored, seals, onFailure })
}

/** More than a person with an open page needs, and too little to scrape or to guess secrets. */
const CONSOLE_RATE: RateLimit = { perMinute: 1200, burst: 300 }

/** Where the build puts the console and the documentation, seen from `src` and from `dist` alike. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../../dist/console', import.meta.url))
const DOCS_FOLDER = fileURLToPath(new URL('../../dist/docs', import.meta.url))

/** Reads the files with the first request, because few servers are asked for them, and again if they could not be read. */
function readOnce(load: () => Promise<SiteFiles>): () => Promise<SiteFiles> {
  let files: Promise<SiteFiles> | undefined
  return () => {
    files ??= load().catch((error: unknown) => {
      files = undefined
      throw error
    })
    return files
  }
}

/** The page names its files by their whole paths. They name each other from where they are. */
const addPrefix = (page: string, prefix = ''): string => page.replaceAll('"/console/', () => `"${prefix}/console/`)

/** Undefined when the operator has switched the console off. */
function createEdgeConsole(services: Services, admin: ConsoleServices): EdgeConsole | undefined {
  const { config, clock, people, db, random, database } = services
  if (!config.console.enabled) return undefined
  const { hosts, allowHttp } = config.console
  const { publicUrl } = config.server
  return {
    site: { publicUrl, hosts, allowHttp },
    files: readOnce(() => loadSiteFiles(CONSOLE_FOLDER, (page) => addPrefix(page, pathPrefixOf(publicUrl)))),
    api: createConsoleApi(admin),
    sessions: people.sessions,
    devices: people.devices,
    signOn: admin.signOn,
    addressLimiter: createAddressLimiter({ nowMicros: clock.nowMicros, rule: () => CONSOLE_RATE }),
    findPlaygroundCaller: (of, kind) =>
      playgroundKey({ db, clock, random, files: { ledger: database.file } }, of, kind),
  }
}

/** The services of the use cases behind the console, beside those of the command line. */
export const consoleServicesOf = (
  { config, content, conversations, usage, refusedTurns, log, people, keyring, rules }: Services,
  operations: Omit<AdminServices, 'status'> & ServerFacts,
): ConsoleServices => ({
  ...operations,
  content,
  conversations,
  usage,
  refusedTurns,
  scimRoles: () => rules.current.signIn.scimRoles,
  // The list of keys is shown without this column when it cannot be read.
  async lastUsed(account, keys) {
    try {
      const [owner] = await listAccountIds(operations.db, [account])
      return owner === undefined ? new Map() : await lastUsedOf(content, owner.id as AccountId, keys)
    } catch (error) {
      log.error({ error }, 'the last use of keys could not be read')
      return new Map()
    }
  },
  baseUrl: (origin) => `${config.server.publicUrl ?? origin}/v1`,
  signOn: createSignOn({
    ...{ people, forgetAccount: operations.forgetAccount, providers: () => rules.current.signIn.providers },
    secret: deriveKey(keyring.founding.secret, 'people'),
    onFailure: ({ provider, error }) => log.warn({ provider, error }, 'a sign-in by a provider has failed'),
  }),
})
