import { fileURLToPath } from 'node:url'
import { describeKey } from '../admin/key-views.ts'
import { playgroundKey } from '../admin/keys.ts'
import type { OperationDeps } from '../admin/operations.ts'
import { readReceipt } from '../admin/receipts.ts'
import { describeForCodex, describeModel } from '../catalog/describe-model.ts'
import { findModel, visibleModels } from '../catalog/resolve-model.ts'
import { listAccountIds } from '../db/accounts.ts'
import { lastUsedOf } from '../db/content/usage-totals.ts'
import { createCacheSalts, createCallSealMemory } from '../gateway/seals.ts'
import type { TurnRecord } from '../gateway/deliver-end.ts'
import { createDrains } from '../gateway/cancellation.ts'
import { type OnceDeps, createRequestDigests, lookUpAnswer } from '../gateway/idempotency.ts'
import { type ReadDeps, readTurn } from '../gateway/read-turn.ts'
import type { RecordingBounds } from '../gateway/keep-answer.ts'
import { earlyRefusal } from '../gateway/refusals.ts'
import { createRetryAfter, createRetryBudget } from '../routing/retry-budget.ts'
import { type TurnDeps, serveTurn } from '../gateway/serve-turn.ts'
import type { TurnInput } from '../gateway/turn.ts'
import type { Closing } from '../lib/async.ts'
import { createByteBudget } from '../lib/bytes.ts'
import { wholeSeconds } from '../lib/clock.ts'
import { uniform } from '../lib/random-id.ts'
import type { RateRule } from '../lib/rates.ts'
import { createAddressRates, limitHeaders, limitsOfCaller } from '../limits/limits.ts'
import type { AccountId } from '../model/ids.ts'
import { inputTokensOf } from '../model/usage.ts'
import { createLaneRates } from '../pricing/lane-rates.ts'
import { createSeenPrefixes } from '../pricing/seen-prefixes.ts'
import { mintIdsOf } from '../protocols/shared/codec-types.ts'
import type { Send } from '../providers/send.ts'
import { createLearnedCapabilities } from '../routing/learned-capabilities.ts'
import { createStickyLanes } from '../routing/plan-lanes.ts'
import { createConsoleApi } from '../server/console/api.ts'
import { type ConsoleDeps, loadConsoleFiles } from '../server/console/deps.ts'
import type { ConsoleServices } from '../server/console/handler.ts'
import { createEdge } from '../server/listener.ts'
import { createMetricsServer } from '../server/metrics-server.ts'
import { type EdgeDeps, type EdgeOptions, LINGER, type LogFields } from '../server/request-context.ts'
import type { ServerFacts, Services, Serving } from './app.ts'
import { startJobs } from './jobs.ts'
import { openSend } from './open-send.ts'
import { type OpenedLimiter, type TurnCounter, createTurnCounter, openConcurrencyLimiter } from './turn-counter.ts'

/** The servers, with the turns behind them, and the jobs beside them. */
export async function openServing(parts: Services, app: ConsoleServices, closing: Closing): Promise<Serving> {
  const { clock, random, overrides, metrics } = parts
  const turns = createTurnCounter()
  const { pools, send } = await openSend({ clock, random, ...overrides }, parts.rules.current.upstreams, closing)
  const console = await consoleDepsOf(parts, app)
  const http = createEdge(edgeDepsOf(parts, { turns, send, guard: openConcurrencyLimiter(parts, closing), console }))
  closing.add(async () => {
    const ended = http.stopAccepting()
    http.cut()
    await ended
  })
  metrics.watchReload(() => {
    const status = app.status()
    return status.running && status.reload_refused !== null
  })
  const metricsServer = createMetricsServer(metrics)
  closing.add(() => metricsServer.close())
  startJobs(parts, closing)
  closing.add(parts.ledger.onOutage(() => turns.cut('ledger-gone')))
  // What the last process did not come to count. Nobody waits for it.
  void parts.usage.catchUp()
  return {
    listen: http.listen,
    listenMetrics: metricsServer.listen,
    announceDrain: http.announceDrain,
    stopAccepting: http.stopAccepting,
    turnsEnded: turns.ended,
    cutTurns: () => turns.cut('draining'),
    cutConnections: http.cut,
    retireConnections: () => pools.keepOnly(parts.rules.current.upstreams),
    get turnsRunning() {
      return turns.running
    },
    get requestsServed() {
      return turns.served
    },
  }
}

interface EdgeMeans {
  readonly turns: TurnCounter
  readonly send: Send
  readonly guard: OpenedLimiter
  readonly console: ConsoleDeps | undefined
}

/** What the edge needs of the house behind it, as plain functions. */
function edgeDepsOf(parts: Services, { turns, send, guard, console }: EdgeMeans): EdgeDeps {
  const { clock, random, rules, ledger, responses, finder, db, log, metrics } = parts
  const recording = createRecordingBounds()
  const turnDeps = turnDepsOf(parts, { turns, send, recording })
  const onceDeps = onceDepsOf(parts, recording)
  const reading = readDepsOf(parts)
  /** What a provider counted, and not what was estimated, shows whether the configured context is too small. */
  const noteInput = ({ model: id, usage }: TurnRecord) => {
    const entry = id === undefined || usage === undefined ? undefined : rules.current.catalog.entries.get(id)
    if (entry && usage && !usage.estimated) parts.countedInputs.note(entry.model, inputTokensOf(usage))
  }
  const strangers = createAddressRates({
    nowMicros: () => clock.nowMicros(),
    rule: () => rules.current.strangersOfAddress,
  })
  return {
    clock,
    random,
    options: edgeOptionsOf(parts),
    load: guard.load,
    isLate: guard.isLate,
    logRequest(fields) {
      metrics.requestEnded({ endpoint: String(fields.endpoint ?? 'none'), status: Number(fields.status ?? 0) })
      log.request(fields)
    },
    logConnection: (fields) => log.request(fields),
    connectionDropped: () => guard.onShed('connections'),
    findCaller: (token) => finder.find(token),
    findCallerAgain: (caller) => finder.findAgain(caller),
    takeFromAddress: (address) => strangers.take(address),
    limitHeaders: (caller) => limitHeaders(ledger.limitStatuses(limitsOfCaller(rules.current.limits, caller))),
    async refuseEarly(caller) {
      const { catalog, limits } = rules.current
      const early = await earlyRefusal({ ledger, catalog, limits }, caller)
      if (early) metrics.turnEnded({ model: undefined, outcome: 'refused', totalMs: undefined })
      return early
    },
    lookUpAnswer: (call) => lookUpAnswer(onceDeps, call),
    readTurn: (sent) => readTurn(reading, sent),
    async serveTurn(asked) {
      const leave = turns.enter()
      try {
        const record = await serveTurn(turnDeps, asked)
        if (record.outcome !== 'refused') turns.countServed()
        metrics.turnEnded(record)
        noteInput(record)
        const { model, estimateError } = record
        if (model !== undefined && estimateError !== undefined) parts.estimateErrors.note(model, estimateError)
        return {
          refusedWith: record.outcome === 'refused' ? record.problem : undefined,
          facts: turnLogFields(asked, record),
        }
      } finally {
        leave()
      }
    },
    turnRefused: (caller, code) => parts.refusedTurns.note(caller, code),
    listModels: (caller) => visibleModels(rules.current.catalog, caller).map(describeModel),
    listModelsForCodex: (caller) => describeForCodex(visibleModels(rules.current.catalog, caller)),
    findModel(caller, id) {
      const found = findModel(rules.current.catalog, caller, id)
      return found.kind === 'found' ? { kind: 'found', model: describeModel(found.entry) } : found
    },
    describeKey: (caller) =>
      describeKey({ ledger, catalog: () => rules.current.catalog, limits: () => rules.current.limits }, caller),
    findReceipt: (caller, requestId) => readReceipt({ db }, caller, requestId),
    findResponse: ({ accountId }, id) => responses.find(accountId, id),
    readResponseEvents: ({ accountId }, id, startingAfter) => responses.events(accountId, id, startingAfter),
    removeResponse: ({ accountId }, id) => responses.remove(accountId, id),
    console,
    unreadyReasons: () => (ledger.available ? [] : ['ledger unavailable']),
  }
}

const edgeOptionsOf = ({ config: { bounds, streams, server }, overrides }: Services): EdgeOptions => ({
  connectionsMax: server.maxConnections,
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
  stream: {
    headDelayMs: streams.silenceBeforeHeadMs,
    keepAliveMs: streams.keepAliveMs,
  },
  stallMs: overrides.stallMs,
  linger: LINGER,
  allowedOrigins: server.allowedOrigins,
  trustedProxies: server.trustProxy,
})

/**
 * What the one log line of a request says about its turn, in the words of that line. Ids, counts and money; never
 * contents. How long it all took is said by the edge, which also counts the reading of the body.
 */
const turnLogFields = (
  { request, caller }: TurnInput,
  { problem, firstByteMs, totalMs: _, attempts: __, ...record }: TurnRecord,
): LogFields => ({
  ...record,
  ...(problem !== undefined && { code: problem }),
  first_byte_ms: firstByteMs,
  kind: caller.kind,
  delivery: request.delivery,
})

const MiB = 1024 * 1024
/** A larger answer is given, charged, and not kept: no text is as long. */
const KEPT_ANSWER_BYTES_MAX = 32 * MiB
/** Answers of turns that run with an idempotency key, and kept ones on their way out again, all together. */
const KEPT_MEMORY_BYTES = 256 * MiB

/** How much of an answer is recorded while it runs, and of all of them together. */
const createRecordingBounds = (): RecordingBounds => ({
  answerBytesMax: KEPT_ANSWER_BYTES_MAX,
  budget: createByteBudget(KEPT_MEMORY_BYTES),
})

interface TurnMeans {
  readonly turns: TurnCounter
  readonly send: Send
  readonly recording: RecordingBounds
}

/** What turns need of the house: the rules of the moment, the books, and the way to the providers. */
function turnDepsOf(parts: Services, { turns, send, recording }: TurnMeans): TurnDeps {
  const { clock, random, rules, ledger, answers, responses, seals, health, config } = parts
  const { bounds } = config
  return {
    get catalog() {
      return rules.current.catalog
    },
    get limits() {
      return rules.current.limits
    },
    get chosenCap() {
      return rules.current.chosenCap
    },
    ledger,
    rights: parts.finder,
    answers,
    responses,
    stateMs: config.retention.stateMs,
    ...recording,
    onCut: turns.onCut,
    drains: createDrains({ nowMicros: () => clock.nowMicros() }),
    sticky: createStickyLanes({ nowMicros: () => clock.nowMicros() }),
    rates: createLaneRates(),
    seen: createSeenPrefixes({ nowMicros: () => clock.nowMicros() }),
    callSeals: createCallSealMemory({ nowMicros: () => clock.nowMicros() }),
    cacheSaltOf: createCacheSalts(parts.ring.founding.secret),
    send,
    capabilities: createLearnedCapabilities(),
    health,
    retries: createRetryBudget({ nowMicros: () => clock.nowMicros(), terms: () => rules.current.routing.retries }),
    patience: createRetryAfter({ mostMs: () => rules.current.routing.patienceMs, random: () => uniform(random) }),
    mint: mintIdsOf(random),
    seals,
    now: () => clock.now(),
    nowMicros: () => clock.nowMicros(),
    random: () => uniform(random),
    bounds: {
      frameBytesMax: bounds.frameBytesMax,
      bodyBytesMax: bounds.bodyBytesMax,
      depthMax: bounds.jsonDepthMax,
      valuesMax: bounds.jsonValuesMax,
    },
  }
}

/** What it takes to know a request again, and to give its answer again. */
function onceDepsOf(
  { rules, ledger, answers, responses, ring, config }: Services,
  recording: RecordingBounds,
): OnceDeps {
  return {
    ledger,
    answers,
    responses,
    digests: createRequestDigests(ring.founding.secret),
    get limits() {
      return rules.current.limits
    },
    keptMs: config.retention.idempotencyMs,
    budget: recording.budget,
  }
}

/** What it takes to read a request with all that it refers to. */
function readDepsOf({ rules, responses, seals, config }: Services): ReadDeps {
  const { bodyBytesMax, jsonDepthMax, jsonValuesMax } = config.bounds
  return {
    responses,
    seals,
    stateMs: config.retention.stateMs,
    bounds: { bytesMax: bodyBytesMax, depthMax: jsonDepthMax, valuesMax: jsonValuesMax },
    get catalog() {
      return rules.current.catalog
    },
    get hostedTools() {
      return rules.current.hostedTools
    },
  }
}

/** Whoever clicks and polls as fast as a page can stays far below; whoever scrapes or guesses does not. */
const ASKED_OF_ADDRESS: RateRule = { perMinute: 1200, burst: 300 }

/** What the console needs of the house behind it; undefined where the operator has switched it off. */
async function consoleDepsOf(parts: Services, app: ConsoleServices): Promise<ConsoleDeps | undefined> {
  const { config, clock, people, db, random } = parts
  if (!config.console.enabled) return undefined
  const askers = createAddressRates({ nowMicros: () => clock.nowMicros(), rule: () => ASKED_OF_ADDRESS })
  const { hosts, allowHttp } = config.console
  return {
    site: { publicUrl: config.server.publicUrl, hosts, allowHttp },
    files: await loadConsoleFiles(CONSOLE_FOLDER),
    api: createConsoleApi(app),
    findSession: (secret) => people.sessions.find(secret),
    countAsker(address) {
      const taken = askers.take(address)
      return taken.kind === 'taken' ? undefined : wholeSeconds(taken.waitMs)
    },
    // Who pays does not wait behind those who look.
    findPlayer: ({ row }, kind) => playgroundKey({ db, clock, random }, row, kind),
  }
}

/** What the use cases behind the console ask for, beside those of the command line. */
export const consoleServicesOf = (
  { config, content, usage, refusedTurns, log }: Services,
  operations: Omit<OperationDeps, 'status'> & ServerFacts,
): ConsoleServices => ({
  ...operations,
  content,
  usage,
  refusedTurns,
  // Nobody loses a new secret for what is only told beside it.
  async lastUsed(account, keys) {
    try {
      const [owner] = await listAccountIds(operations.db, [account])
      return owner === undefined ? new Map() : await lastUsedOf(content, owner.id as AccountId, keys)
    } catch (error) {
      log.error({ error }, 'when keys were used last could not be read')
      return new Map()
    }
  },
  baseUrl: (origin) => `${config.server.publicUrl ?? origin}/v1`,
})

/** Where the build puts it, seen from the sources and from `dist` alike. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../../dist/console', import.meta.url))
