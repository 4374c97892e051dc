import { lookup } from 'node:dns/promises'
import { describeKey } from '../account/describe-key.ts'
import { readReceipt } from '../account/read-receipt.ts'
import { describeModel } from '../catalog/describe-model.ts'
import { findModel } from '../catalog/resolve-model.ts'
import { visibleModels } from '../catalog/visible-models.ts'
import type { KeptAnswers } from '../content/kept-answers.ts'
import { type EdgeOptions, LINGER, STALL_MS } from '../http/edge-options.ts'
import { createMetricsServer } from '../http/metrics-server.ts'
import { createEdge } from '../http/server.ts'
import { createRequestDigests } from '../idempotency/request-digests.ts'
import type { CallerFinder } from '../keys/find-caller.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { createByteBudget } from '../lib/byte-budget.ts'
import type { Clock } from '../lib/clock.ts'
import type { Closing } from '../lib/closing.ts'
import { type RandomBytes, randomId } from '../lib/random-id.ts'
import { limitHeaders } from '../limits/limit-headers.ts'
import { limitsForTurn } from '../limits/limits-for-turn.ts'
import { createSeenPrefixes } from '../metering/seen-prefixes.ts'
import { createLaneLessons } from '../routing/lane-lessons.ts'
import type { LedgerDb } from '../store/tables.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { earlyRefusal } from '../turn/early-refusal.ts'
import { lookUpAnswer, type OnceDeps } from '../turn/look-up-answer.ts'
import { serveTurn, type TurnDeps } from '../turn/serve-turn.ts'
import { createProviderCaller } from '../upstream/call-provider.ts'
import { createDemoUpstream } from '../upstream/demo/demo-upstream.ts'
import { createOriginPools, type OriginPools } from '../upstream/origin-pools.ts'
import { createSend, type Send } from '../upstream/send.ts'
import { readRequest } from '../wire/chat/read-request.ts'
import type { Config } from './config/config.ts'
import type { Serving } from './house.ts'
import type { KeyRing } from './key-ring.ts'
import { readVersions } from './read-versions.ts'
import type { RuleBook } from './rules.ts'
import { startAuditor } from './start-auditor.ts'
import { startSweeper } from './start-sweeper.ts'
import { createTurnCounter, type TurnCounter } from './turn-counter.ts'
import { turnLogFields } from './turn-log-fields.ts'

/** What has been built when serving begins. */
export interface ServingParts {
  readonly config: Config
  readonly clock: Clock
  readonly random: RandomBytes
  readonly db: LedgerDb
  readonly ledger: Ledger
  readonly answers: KeptAnswers
  readonly ring: KeyRing
  readonly rules: RuleBook
  readonly finder: CallerFinder
  readonly log: Log
  readonly metrics: Metrics
}

const SWEEP_INTERVAL_MS = 5000
const AUDIT_INTERVAL_MS = 3_600_000
const MiB = 1024 * 1024
/** A larger answer is given, charged, and not kept: no text is as long. */
const KEPT_ANSWER_BYTES_MAX = 32 * MiB
/** Answers of turns that run with an idempotency key, and kept ones on their way out again, all together. */
const KEPT_MEMORY_BYTES = 256 * MiB

/** The servers, with the turns behind them, and the sweeper beside them. */
export async function openServing(parts: ServingParts, closing: Closing): Promise<Serving> {
  const { metrics } = parts
  const turns = createTurnCounter()
  const pools = await openPools(parts, closing)
  const send = createSendOver(parts, pools)
  const http = createEdge(edgeDeps(parts, turns, send))
  closing.add(() => http.cut())
  const metricsServer = createMetricsServer(metrics)
  closing.add(() => metricsServer.close())
  const { ledger, answers, log } = parts
  closing.add(startSweeper({ sweep: () => ledger.sweep(), what: 'the books', log }, SWEEP_INTERVAL_MS))
  closing.add(startSweeper({ sweep: () => answers.sweep(), what: 'the kept answers', log }, SWEEP_INTERVAL_MS))
  closing.add(ledger.onOutage(() => turns.cut('ledger-gone')))
  closing.add(startAuditor(parts, AUDIT_INTERVAL_MS))
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

/** The way to the providers. The library of the network is loaded before the first request, if any of them is out there. */
async function openPools({ rules }: ServingParts, closing: Closing): Promise<OriginPools> {
  const pools = createOriginPools({ resolve: (host) => lookup(host, { all: true }) })
  closing.add(() => pools.close())
  if (rules.current.upstreams.some((upstream) => upstream.wire !== 'demo')) await pools.warmUp()
  return pools
}

function createSendOver({ clock, random }: ServingParts, pools: OriginPools): Send {
  const userAgent = `millrace/${readVersions().millrace}`
  return createSend({
    demo: createDemoUpstream({ clock, random }),
    callProvider: createProviderCaller({ pools, ticks: () => clock.ticks(), userAgent }),
  })
}

function edgeDeps(parts: ServingParts, turns: TurnCounter, send: Send): Parameters<typeof createEdge>[0] {
  const { clock, random, rules, ledger, finder, db, log, metrics, config } = parts
  const turnDeps = turnDepsOf(parts, turns, send)
  const onceDeps = onceDepsOf(parts)
  return {
    clock,
    random,
    options: edgeOptions(config),
    logRequest(fields) {
      turns.countServed()
      metrics.requestEnded({ endpoint: String(fields.endpoint ?? 'none'), status: Number(fields.status ?? 0) })
      log.request(fields)
    },
    logConnection: (fields) => log.request(fields),
    findCaller: (token) => finder.find(token),
    limitHeaders: (caller) => limitHeaders(ledger.limitStandings(limitsForTurn(rules.current.limits, caller, 0))),
    refuseEarly: (caller) => earlyRefusal({ ledger, catalog: rules.current.catalog }, caller),
    lookUpAnswer: (call) => lookUpAnswer(onceDeps, call),
    readChatRequest: readRequest,
    async serveTurn(call) {
      const leave = turns.enter()
      try {
        const record = await serveTurn(turnDeps, call)
        metrics.turnEnded(record)
        return turnLogFields(call, record)
      } finally {
        leave()
      }
    },
    listModels: (caller) => visibleModels(rules.current.catalog, caller).map(describeModel),
    findModel(caller, id) {
      const found = findModel(rules.current.catalog, caller, id)
      return found.kind === 'found' ? { kind: 'found', model: describeModel(found.entry) } : found
    },
    describeKey: (caller) =>
      describeKey({ ledger, catalog: () => rules.current.catalog, limits: () => rules.current.limits }, caller),
    findReceipt: (caller, requestId) => readReceipt({ db }, caller, requestId),
    unreadyReasons: () => (ledger.available ? [] : ['ledger unavailable']),
  }
}

function onceDepsOf({ rules, ledger, answers, ring, config }: ServingParts): OnceDeps {
  return {
    ledger,
    answers,
    digests: createRequestDigests(ring.keys[0].secret),
    get limits() {
      return rules.current.limits
    },
    keptMs: config.retention.idempotencyMs,
    answerBytesMax: KEPT_ANSWER_BYTES_MAX,
    budget: createByteBudget(KEPT_MEMORY_BYTES),
  }
}

function turnDepsOf(parts: ServingParts, turns: TurnCounter, send: Send): TurnDeps {
  const { clock, random, rules, ledger, config } = parts
  const { bounds } = config
  return {
    get catalog() {
      return rules.current.catalog
    },
    get limits() {
      return rules.current.limits
    },
    ledger,
    onCut: turns.onCut,
    seen: createSeenPrefixes({ ticks: () => clock.ticks() }),
    send,
    lessons: createLaneLessons(),
    mint: { completionId: () => randomId('chatcmpl-', random), callId: () => randomId('call_', random) },
    now: () => clock.now(),
    ticks: () => clock.ticks(),
    random: () => Buffer.from(random(6)).readUIntBE(0, 6) / 2 ** 48,
    bounds: {
      frameBytesMax: bounds.frameBytesMax,
      bodyBytesMax: bounds.bodyBytesMax,
      depthMax: bounds.jsonDepthMax,
      valuesMax: bounds.jsonValuesMax,
    },
  }
}

const edgeOptions = ({ bounds, streams, server }: Config): EdgeOptions => ({
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
    stallMs: STALL_MS,
  },
  linger: LINGER,
  allowedOrigins: server.allowedOrigins,
})
