import type { Lane, Model } from '../catalog/catalog.ts'
import type { Fields } from '../lib/types.ts'
import type { Effort } from '../model/effort.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Delivery, ResponsesRequest, TurnRequest } from '../model/turn.ts'
import * as chat from '../protocols/chat/write-request.ts'
import { restoreNumbers } from '../protocols/json/exact-numbers.ts'
import { writeInPieces } from '../protocols/json/in-pieces.ts'
import { PIECE_BYTES, passTurnstile } from '../protocols/json/scan-json.ts'
import { createNativeCompactionReader, withTrigger } from '../protocols/responses/compaction.ts'
import type { ResponsesEncoder } from '../protocols/responses/encoder.ts'
import * as responses from '../protocols/responses/rewrite-request.ts'
import { keepSeals, restoreSeals } from '../protocols/seals/call-seals.ts'
import type {
  EncodedReply,
  MintIds,
  ReceivedReply,
  RelayEncoder,
  StreamAdapter,
} from '../protocols/shared/codec-types.ts'
import type { CacheSalt, LaneRequest, LaneTarget, RelayTarget } from '../protocols/shared/lane-target.ts'
import { createSummaryReader, transcriptOf, writeSummaryRequest } from '../protocols/shared/summary.ts'
import { readAnswerTool, restoreTools } from '../protocols/tools/restore-tools.ts'
import { codecs, type LaneDialect } from '../protocols/wires.ts'
import type { CallSealMemory } from './seals.ts'
import type { TurnEncoder } from './turn-input.ts'

/** How the answer of one call comes back to the client. */
export interface ReturnRoute {
  /** What the provider is asked for. A translated answer is read as a stream, whatever the client wants. */
  readonly delivery: Delivery
  /** For an answer that streams. */
  adapter(): StreamAdapter
  /** Set where the provider compacts the conversation, and a summary is possible instead. */
  readonly nativeCompaction?: {
    /** The provider answered without a compaction. */
    hasFailed(): boolean
  }
  /** For a JSON answer, where the lane may be asked for one. */
  relayReply?(reply: ReceivedReply): EncodedReply
}

/** How one request goes to one lane, and its answer back: relayed where both have the same protocol, else translated. */
interface RouteStrategy {
  readonly sent: LaneRequest
  readonly strategy: ReturnRoute
}

/** One request and the lane that it goes to. */
interface Route {
  readonly lane: Lane
  readonly dialect: LaneDialect
  readonly request: TurnRequest
  readonly encoder: TurnEncoder
  readonly mint: MintIds
  readonly callSeals: CallSealMemory
  readonly account: AccountRow
  readonly cacheSalt: CacheSalt
  readonly model: Pick<Model, 'lanes' | 'passFields'>
  readonly effort: Effort | undefined
  /** The most that the provider may write within the hold. */
  readonly outputCap: number
  readonly options: {
    readonly withoutSeals: boolean
    readonly withoutNativeCompaction: boolean
  }
}

/** Chooses how this request goes to this lane. A promise only where the request has to be parsed as a conversation. */
export function routeTo(given: Route): RouteStrategy | Promise<RouteStrategy> {
  const route = given.options.withoutSeals ? withoutSeals(given) : given
  const { lane, request, encoder, dialect, effort, outputCap, cacheSalt, model } = route
  const { delivery } = request
  const { passFields } = model
  const plain = { model: lane.model, origin: lane.origin, effort, outputCap, delivery, cacheSalt, passFields }
  if (request.protocol === 'chat') {
    if (encoder.protocol !== 'chat' || dialect.wire !== 'chat' || !chat.canRewrite(request, dialect))
      return translate(route)
    const target = { ...plain, dialect }
    return relay(encoder, target, chat.rewriteRequest(request, target))
  }
  if (encoder.protocol !== 'responses') throw new Error('a Responses request needs a Responses encoder')
  if (dialect.wire === 'responses' && isCompactedByLane(route, request, dialect.compacts)) {
    const sent = responses.rewriteRequest(withTrigger(request), { ...plain, dialect, delivery: 'stream' })
    return compactNatively(route, encoder, sent)
  }
  if (request.compacts !== undefined) return compactBySummary(route, encoder)
  if (dialect.wire === 'responses' && responses.canRewrite(request, dialect)) {
    const target = { ...plain, dialect }
    return relay(encoder, target, responses.rewriteRequest(request, target))
  }
  return translate(route)
}

/** The lane has refused the seals: it gets none back, and none are asked for. */
const withoutSeals = (route: Route): Route => ({
  ...route,
  request: route.request.protocol === 'responses' ? { ...route.request, sealed: new Map() } : route.request,
})

/** Client and lane have the same protocol: the request is rewritten in place, and the answer is relayed. */
const relay = <Dialect>(
  encoder: RelayEncoder<{ readonly model: string; readonly origin: string; readonly dialect: Dialect }>,
  target: RelayTarget<Dialect>,
  sent: LaneRequest,
): RouteStrategy => ({
  sent,
  strategy: {
    delivery: target.delivery,
    adapter: () => encoder.relay(target),
    relayReply: (reply) => encoder.relayReply(reply, target),
  },
})

/** A provider compacts a conversation itself where everything that follows can only go to that provider anyway. */
function isCompactedByLane({ lane, model, options }: Route, request: ResponsesRequest, canCompact: boolean): boolean {
  if (request.compacts === undefined) return false
  if (request.boundTo !== undefined) return true
  return canCompact && !options.withoutNativeCompaction && model.lanes.every(({ origin }) => origin === lane.origin)
}

function compactNatively({ lane, request }: Route, encoder: ResponsesEncoder, sent: LaneRequest): RouteStrategy {
  const reader = createNativeCompactionReader(lane.origin)
  const canFallBack = request.boundTo === undefined
  return {
    sent,
    strategy: {
      delivery: 'stream',
      adapter: () => encoder.compact(reader),
      ...(canFallBack ? { nativeCompaction: { hasFailed: () => reader.hasFailed } } : {}),
    },
  }
}

const TRANSCRIBED_BYTES_MAX = 256 * 1024

/** The fallback for every other lane: it writes a summary. */
async function compactBySummary(route: Route, encoder: ResponsesEncoder): Promise<RouteStrategy> {
  const { request } = route
  const conversation = codecs.readConversation(request, await codecs.parseRequest(request))
  if (request.body.bytes.length > PIECE_BYTES) await passTurnstile()
  const { body } = codecs.writeRequest(writeSummaryRequest(conversation), laneTargetOf(route))
  // A long transcript is longer than any summary, and would stay in memory as long as the answer.
  const transcript = request.body.bytes.length > TRANSCRIBED_BYTES_MAX ? '' : transcriptOf(conversation)
  return {
    // Fields that this lane does not know would have changed an answer, but not a summary.
    sent: { body: await bytesOf(body, request), leftOut: request.optionalFields },
    strategy: {
      delivery: 'stream',
      adapter: () => encoder.compact(createSummaryReader(readerOf(route), transcript)),
    },
  }
}

/** Client and lane have different protocols: the request is read as a conversation, the answer as events. */
async function translate(route: Route): Promise<RouteStrategy> {
  const { request, encoder } = route
  // A Responses client carries sealed reasoning itself.
  const callSeals = request.protocol === 'responses' ? undefined : route.callSeals.of(route.account)
  const read = codecs.readConversation(request, await codecs.parseRequest(request))
  if (request.body.bytes.length > PIECE_BYTES) await passTurnstile()
  const conversation = callSeals && !route.options.withoutSeals ? restoreSeals(read, callSeals.find) : read
  const { body, leftOut, tools, answerTool } = codecs.writeRequest(conversation, laneTargetOf(route))
  return {
    sent: {
      body: await bytesOf(body, request),
      leftOut: [...new Set([...request.optionalFields, ...codecs.beyondConversation(request), ...leftOut])],
    },
    strategy: {
      delivery: 'stream',
      adapter() {
        const reader = readerOf(route)
        const answer = answerTool === undefined ? reader : readAnswerTool(reader, answerTool)
        return encoder.translate(restoreTools(callSeals ? keepSeals(answer, callSeals.keep) : answer, tools))
      },
    },
  }
}

const bytesOf = async (body: Fields, request: TurnRequest): Promise<Buffer> =>
  restoreNumbers(await writeInPieces(body, request.body.bytes.length))

const laneTargetOf = ({ lane, dialect, request, effort, outputCap, cacheSalt }: Route): LaneTarget<LaneDialect> => ({
  ...{ model: lane.model, origin: lane.origin, promptCache: lane.promptCache, dialect },
  ...{ effort, outputCap, cacheSalt, client: request.protocol, delivery: 'stream' },
})

const readerOf = ({ lane, dialect, mint }: Route) => codecs.createEventReader({ dialect, origin: lane.origin }, mint)
