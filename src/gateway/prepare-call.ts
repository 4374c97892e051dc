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

/** How the answer of one lane becomes the client's: relayed, translated, or a compaction. */
export interface AnswerConversion {
  /** What the provider is asked for. A translated answer is read as a stream, whatever the client wants. */
  readonly delivery: Delivery
  /** For an answer that streams. */
  adapter(): StreamAdapter
  /** Set where the provider compacts the conversation, and a summary is possible instead. */
  readonly nativeCompaction?:
    | {
        /** The provider answered without a compaction. */
        hasFailed(): boolean
      }
    | undefined
  /** For a JSON answer, where the lane may be asked for one. */
  relayReply?(reply: ReceivedReply): EncodedReply
}

/** What the lane is sent, and how its answer is converted: relayed where both sides have the same protocol, else translated. */
interface PreparedCall {
  readonly laneRequest: LaneRequest
  readonly conversion: AnswerConversion
}

/** The call of one lane for one request. */
interface LaneCall {
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

/** Relays or translates: writes the request for the lane. A promise only where the request has to be parsed as a conversation. */
export function prepareCall(given: LaneCall): PreparedCall | Promise<PreparedCall> {
  const call = given.options.withoutSeals ? withoutSeals(given) : given
  const { request, encoder, dialect } = call
  if (request.protocol === 'chat') {
    if (encoder.protocol !== 'chat' || dialect.wire !== 'chat' || !chat.canRewrite(request, dialect))
      return translate(call)
    const target = relayTargetOf(call, dialect, request.delivery)
    return relay(call, encoder, { target, laneRequest: chat.rewriteRequest(request, target) })
  }
  if (encoder.protocol !== 'responses') throw new Error('a Responses request needs a Responses encoder')
  if (dialect.wire === 'responses' && isCompactedByLane(call, request, dialect.compacts)) {
    const laneRequest = responses.rewriteRequest(withTrigger(request), relayTargetOf(call, dialect, 'stream'))
    return compactNatively(call, encoder, laneRequest)
  }
  if (request.compacts !== undefined) return compactBySummary(call, encoder)
  if (dialect.wire === 'responses' && responses.canRewrite(request, dialect)) {
    const target = relayTargetOf(call, dialect, request.delivery)
    return relay(call, encoder, { target, laneRequest: responses.rewriteRequest(request, target) })
  }
  return translate(call)
}

const relayTargetOf = <Dialect>(
  { lane, effort, outputCap, cacheSalt, model }: LaneCall,
  dialect: Dialect,
  delivery: Delivery,
): RelayTarget<Dialect> => ({
  model: lane.model,
  origin: lane.origin,
  effort,
  outputCap,
  dialect,
  delivery,
  cacheSalt,
  passFields: model.passFields,
})

/** The lane has refused the seals: it gets none back, and none are asked for. */
const withoutSeals = (call: LaneCall): LaneCall => ({
  ...call,
  request: call.request.protocol === 'responses' ? { ...call.request, sealed: new Map() } : call.request,
})

/** Client and lane have the same protocol: the request is rewritten in place, and the answer is relayed. */
const relay = <Dialect>(
  call: LaneCall,
  encoder: RelayEncoder<{ readonly model: string; readonly origin: string; readonly dialect: Dialect }>,
  { target, laneRequest }: { readonly target: RelayTarget<Dialect>; readonly laneRequest: LaneRequest },
): PreparedCall => ({
  laneRequest,
  conversion: {
    delivery: target.delivery,
    // A stream instead of a JSON answer is collected.
    adapter: () => (target.delivery === 'json' ? encoder.translate(readerOf(call)) : encoder.relay(target)),
    relayReply: (reply) => encoder.relayReply(reply, target),
  },
})

/** A provider compacts a conversation itself where everything that follows can only go to that provider anyway. */
function isCompactedByLane(
  { lane, model, options }: LaneCall,
  request: ResponsesRequest,
  canCompact: boolean,
): boolean {
  if (request.compacts === undefined) return false
  if (request.boundTo !== undefined) return true
  return canCompact && !options.withoutNativeCompaction && model.lanes.every(({ origin }) => origin === lane.origin)
}

function compactNatively(
  { lane, request }: LaneCall,
  encoder: ResponsesEncoder,
  laneRequest: LaneRequest,
): PreparedCall {
  const reader = createNativeCompactionReader(lane.origin)
  return {
    laneRequest,
    conversion: {
      delivery: 'stream',
      adapter: () => encoder.compact(reader),
      nativeCompaction: request.boundTo === undefined ? { hasFailed: () => reader.hasFailed } : undefined,
    },
  }
}

const TRANSCRIBED_BYTES_MAX = 256 * 1024

/** The fallback for every other lane: it writes a summary. */
async function compactBySummary(call: LaneCall, encoder: ResponsesEncoder): Promise<PreparedCall> {
  const { request } = call
  const conversation = codecs.readConversation(request, await codecs.parseRequest(request))
  if (request.body.bytes.length > PIECE_BYTES) await passTurnstile()
  const { body } = codecs.writeRequest(writeSummaryRequest(conversation), laneTargetOf(call))
  // A long transcript is longer than any summary, and would stay in memory as long as the answer.
  const transcript = request.body.bytes.length > TRANSCRIBED_BYTES_MAX ? '' : transcriptOf(conversation)
  return {
    // Fields that this lane does not know would have changed an answer, but not a summary.
    laneRequest: { body: await bytesOf(body, request), leftOut: request.optionalFields },
    conversion: {
      delivery: 'stream',
      adapter: () => encoder.compact(createSummaryReader(readerOf(call), transcript)),
    },
  }
}

/** Client and lane have different protocols: the request is read as a conversation, the answer as events. */
async function translate(call: LaneCall): Promise<PreparedCall> {
  const { request, encoder } = call
  // A Responses client carries sealed reasoning itself.
  const callSeals = request.protocol === 'responses' ? undefined : call.callSeals.of(call.account)
  const read = codecs.readConversation(request, await codecs.parseRequest(request))
  if (request.body.bytes.length > PIECE_BYTES) await passTurnstile()
  const conversation = callSeals && !call.options.withoutSeals ? restoreSeals(read, callSeals.find) : read
  const { body, leftOut, tools, answerTool } = codecs.writeRequest(conversation, laneTargetOf(call))
  return {
    laneRequest: {
      body: await bytesOf(body, request),
      leftOut: [...new Set([...request.optionalFields, ...codecs.beyondConversation(request), ...leftOut])],
    },
    conversion: {
      delivery: 'stream',
      adapter() {
        const reader = readerOf(call)
        const answer = answerTool === undefined ? reader : readAnswerTool(reader, answerTool)
        return encoder.translate(restoreTools(callSeals ? keepSeals(answer, callSeals.keep) : answer, tools))
      },
    },
  }
}

const bytesOf = async (body: Fields, request: TurnRequest): Promise<Buffer> =>
  restoreNumbers(await writeInPieces(body, request.body.bytes.length))

const laneTargetOf = ({ lane, dialect, request, effort, outputCap, cacheSalt }: LaneCall): LaneTarget<LaneDialect> => ({
  priced: request.priced,
  model: lane.model,
  origin: lane.origin,
  promptCache: lane.promptCache,
  dropsUnbound: lane.upstream.prefixMismatch === 'drop',
  dialect,
  effort,
  outputCap,
  cacheSalt,
  client: request.protocol,
  delivery: 'stream',
})

const readerOf = ({ lane, dialect, mint }: LaneCall) => codecs.createEventReader({ dialect, origin: lane.origin }, mint)
