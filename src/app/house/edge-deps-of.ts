import { describeKey } from '../../account/keys/describe-key.ts'
import { readReceipt } from '../../account/requests/describe-receipt.ts'
import { describeForCodex } from '../../catalog/describe-for-codex.ts'
import { describeModel } from '../../catalog/describe-model.ts'
import { findModel } from '../../catalog/resolve-model.ts'
import { visibleModels } from '../../catalog/visible-models.ts'
import type { ConsoleDeps } from '../../http/console/console-deps.ts'
import type { EdgeDeps, LogFields } from '../../http/edge-deps.ts'
import { type EdgeOptions, LINGER } from '../../http/edge-options.ts'
import { createAddressRates } from '../../limits/address-rates.ts'
import { limitHeaders } from '../../limits/limit-headers.ts'
import { limitsOfCaller } from '../../limits/limits-for-turn.ts'
import { inputTokensOf } from '../../model/usage.ts'
import { earlyRefusal } from '../../turn/admit/early-refusal.ts'
import type { TurnRecord } from '../../turn/end/turn-record.ts'
import { lookUpAnswer } from '../../turn/keep/look-up-answer.ts'
import { readTurn } from '../../turn/read/read-turn.ts'
import { serveTurn } from '../../turn/serve-turn.ts'
import type { AskedTurn } from '../../turn/turn.ts'
import type { Send } from '../../upstream/send.ts'
import type { OpenLoadGuard } from './open-load-guard.ts'
import type { Parts } from './parts.ts'
import type { TurnCounter } from './turn-counter.ts'
import { createRecordingBounds, onceDepsOf, readDepsOf, turnDepsOf } from './turn-deps-of.ts'

interface EdgeMeans {
  readonly turns: TurnCounter
  readonly send: Send
  readonly guard: OpenLoadGuard
  readonly console: ConsoleDeps | undefined
}

/** What the edge needs of the house behind it, as plain functions. */
export function edgeDepsOf(parts: Parts, { turns, send, guard, console }: EdgeMeans): EdgeDeps {
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
  const strangers = createAddressRates({ ticks: () => clock.ticks(), rule: () => rules.current.strangersOfAddress })
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
    limitHeaders: (caller) => limitHeaders(ledger.limitStandings(limitsOfCaller(rules.current.limits, caller))),
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

const edgeOptionsOf = ({ config: { bounds, streams, server }, means }: Parts): EdgeOptions => ({
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
  stallMs: means.stallMs,
  linger: LINGER,
  allowedOrigins: server.allowedOrigins,
  trustedProxies: server.trustProxy,
})

/**
 * What the one log line of a request says about its turn, in the words of that line. Ids, counts and money; never
 * contents. How long it all took is said by the edge, which also counts the reading of the body.
 */
const turnLogFields = (
  { request, caller }: AskedTurn,
  { problem, firstByteMs, totalMs: _, attempts: __, ...record }: TurnRecord,
): LogFields => ({
  ...record,
  ...(problem !== undefined && { code: problem }),
  first_byte_ms: firstByteMs,
  kind: caller.kind,
  delivery: request.delivery,
})
