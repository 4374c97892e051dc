import { catalogOf, modelDefinition } from '../catalog/catalog.fixture.ts'
import type { AdmittedTurn } from '../ledger/ledger.ts'
import type { AdmitRequest } from '../ledger/state/admit-turn.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { TurnRequest } from '../model/turn.ts'
import { parseRequest } from '../protocols/chat/parse-request.ts'
import { scanJson } from '../protocols/json/scan-json.ts'
import { countedIds } from '../protocols/mint-ids.fixture.ts'
import type { UpstreamBody, UpstreamFailed, UpstreamOutcome } from '../providers/upstream-answer.ts'
import { anyNumberOfRetries, everyLaneRequested } from '../routing/lane-health.fixture.ts'
import { createLearnedCapabilities } from '../routing/learned-capabilities.ts'
import { attemptLanes, type RunDeps } from './attempt-lanes.ts'
import { createCallSealMemory } from './call-seal-memory.ts'
import { Cancellation } from './cancellation.ts'
import { plainSeals } from './plain-seals.fixture.ts'
import { ReleaseGate, type RunningTurn } from './running-turn.ts'
import type { Sink } from './sink.ts'
import { createEncoder } from './turn.ts'

const BOUNDS = { depthMax: 64, valuesMax: 1000, frameBytesMax: 1000, bodyBytesMax: 1000 }
export type Delivery = TurnRequest['delivery']

function turnOf(delivery: Delivery): TurnRequest {
  const value = { model: 'm', stream: delivery === 'stream', messages: [{ role: 'user', content: 'Hello' }] }
  const bytes = Buffer.from(JSON.stringify(value))
  const scanned = scanJson(bytes, BOUNDS)
  const read = scanned.kind === 'scanned' ? parseRequest({ bytes, members: scanned.members, value }) : undefined
  if (read?.kind !== 'read') throw new Error('the request of this test is malformed')
  return read.request
}

/** A body that says these pieces, and then ends or fails. */
function bodyOf(pieces: readonly string[], failure?: Error): UpstreamBody {
  const left = pieces.map((piece) => [Buffer.from(piece)])
  return {
    read: () => (left.length === 0 && failure ? Promise.reject(failure) : Promise.resolve(left.shift() ?? [])),
    cancel() {},
    release() {},
  }
}

export const answer = (status: number, pieces: readonly string[] = [], failure?: Error): UpstreamOutcome => ({
  kind: 'answer',
  status,
  headers: {},
  body: bodyOf(pieces, failure),
})
export const failure = (reason: UpstreamFailed['reason'], expired?: UpstreamFailed['expired']): UpstreamOutcome => ({
  kind: 'failed',
  reason,
  message: 'as the test wants it',
  ...(expired ? { expired } : {}),
})

export type Play = (delivery: Delivery) => UpstreamOutcome

const WHOLE = '{"object":"chat.completion","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}'
export const CHUNK =
  '{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}'
export const good: Play = (delivery) =>
  answer(200, [delivery === 'json' ? WHOLE : `data: ${CHUNK}\n\ndata: [DONE]\n\n`])

export interface LanePlay extends Partial<Pick<RunDeps, 'send' | 'health' | 'retries' | 'nowMicros' | 'patience'>> {
  readonly delivery: Delivery
  /** In the order in which lanes are asked, of which there are as many. */
  readonly plays: readonly Play[]
  readonly turn?: TurnRequest
}

/** Runs a model whose lanes are played in their order; returns what became of it and how many were asked. */
export async function playLanes({ delivery, plays, turn = turnOf(delivery), ...means }: LanePlay) {
  const lanes = plays.map((_, at) => ({ upstream: 'demo', model: `lane-${at}`, priority: at, weight: 1 }))
  const entry = catalogOf(modelDefinition('m', { lanes })).entries.get('m')!
  let asked = 0
  const deps: RunDeps = {
    send: () => Promise.resolve(plays[asked++]!(delivery)),
    capabilities: createLearnedCapabilities(),
    health: everyLaneRequested,
    retries: anyNumberOfRetries,
    patience: { mostMs: () => 0, wait: async () => false },
    sticky: { find: () => undefined, remember() {} },
    seen: { seenTokens: () => 0, remember() {}, digest() {} },
    mint: countedIds(),
    nowMicros: () => 0,
    now: () => 0,
    bounds: BOUNDS,
    ...means,
  }
  const hold = { cap: 10, durable: Promise.resolve('durable'), mark() {} } as Partial<AdmittedTurn> as AdmittedTurn
  const spoken = {
    request: turn,
    requestId: 'req_1' as RequestId,
    caller: { account: 1 as AccountRow } as Caller,
    entry,
    effort: undefined,
  }
  const running: Partial<RunningTurn> = {
    ...spoken,
    cacheSalt: undefined,
    encoder: createEncoder({ ...deps, seals: plainSeals }, spoken, () => true),
    callSeals: createCallSealMemory({ nowMicros: () => 0 }).of(1 as AccountRow),
    hold,
    releaseGate: new ReleaseGate(hold, { begun: undefined }),
    admitRequest: { inputEstimate: 1 } as AdmitRequest,
    sink: { announce() {}, write: () => undefined } as Partial<Sink> as Sink,
    cancellation: new Cancellation(
      { onCut: () => () => {}, drains: { begin: () => undefined } },
      1 as AccountRow,
      undefined,
    ),
  }
  const lanesOfModel = entry.model.lanes
  return { ...(await attemptLanes(deps, running as RunningTurn, lanesOfModel)), asked, lanes: lanesOfModel }
}
