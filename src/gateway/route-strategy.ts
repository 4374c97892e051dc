import type { Lane, Model } from '../catalog/catalog.ts'
import type { Effort } from '../model/effort.ts'
import type { LaneWire } from '../model/event.ts'
import type { Delivery, Protocol, TurnRequest } from '../model/turn.ts'
import { type LaneDialect, codecs } from '../protocols/codecs.ts'
import { restoreNumbers } from '../protocols/json/exact-numbers.ts'
import { writeInPieces } from '../protocols/json/in-pieces.ts'
import { pauseAfter } from '../protocols/json/scan-json.ts'
import { createNativeCompactionReader, withTrigger } from '../protocols/responses/compaction.ts'
import { type CallSeals, NO_CALL_SEALS, noticeSeals, restoreSeals } from '../protocols/seals/call-seals.ts'
import type { EncodedReply, MintIds, ReceivedReply, RelayEncoder, StreamAdapter } from '../protocols/shared/codec-types.ts'
import type { CacheSalt, LaneRequest, LaneTarget, RelayTarget, WrittenRequest } from '../protocols/shared/lane-target.ts'
import { createSummaryReader, transcriptOf, writeSummaryRequest } from '../protocols/shared/summary.ts'
import { readAnswerTool } from '../protocols/tools/answer-tool.ts'
import { restoreTools } from '../protocols/tools/restore-tools.ts'
import type { TurnEncoder } from './turn.ts'
import * as chat from '../protocols/chat/write-request.ts'
import * as responses from '../protocols/responses/rewrite-request.ts'

/**
 * How one request goes to one lane, and how its answer comes back: relayed where client and lane speak the same language,
 * translated where they do not.
 */
interface RouteStrategy {
  /** What the provider is asked for: an answer in another language is read as a stream, whatever the client wants. */
  readonly delivery: Delivery
  /** The request in the lane's words. */
  readonly sent: LaneRequest
  /** For an answer that streams. */
  adapter(): StreamAdapter
  /** The provider is asked to make a conversation short in its own way; one that cannot may be asked in ours. */
  readonly nativeCompaction?: {
    /** It has answered, and not with that. */
    hasFailed(): boolean
  }
  /** For an answer in one piece, where the lane may be asked for one. */
  carryReply?(reply: ReceivedReply): EncodedReply
}

/** What is left of a road when the request has gone. */
export type ReturnRoute = Omit<RouteStrategy, 'sent'>

interface AttemptInput {
  readonly request: TurnRequest
  readonly encoder: TurnEncoder
  readonly mint: MintIds
  /** Of the account whose turn it is. */
  readonly callSeals: CallSeals
  /** The account's salt for caches of prompts. */
  readonly cacheSalt: CacheSalt
  /** What it runs on, and what the operator lets pass to it. */
  readonly model: Pick<Model, 'lanes' | 'passFields'>
  readonly effort: Effort | undefined
  /** The most that the provider may produce: what the hold covers. */
  readonly outputCap: number
  /** The lane does not take back what was sealed. */
  readonly withoutSeals: boolean
  /** The lane was asked to make the conversation short by itself, and has not. */
  readonly withoutNativeCompaction: boolean
}

/**
 * The roads from a client to a lane, by the languages at their ends: a request takes the first that is open to it. Whatever
 * else there is between a client and a lane is translated.
 */
const STRATEGIES = [
  strategy({
    client: 'chat',
    lane: 'chat',
    isOpen: ({ request, dialect }) => chat.canRewrite(request, dialect),
    build: (way) => relay(way, chat.rewriteRequest),
  }),
  strategy({ client: 'responses', lane: 'responses', isOpen: isMadeShortThere, build: compactionByProvider }),
  strategy({
    client: 'responses',
    lane: 'any',
    isOpen: ({ request }) => request.compacts !== undefined,
    build: compactionBySummary,
  }),
  strategy({
    client: 'responses',
    lane: 'responses',
    isOpen: goesAsItCame,
    build: (way) => relay(way, responses.rewriteRequest),
  }),
]

/** The road from this client to this lane. */
export async function routeTo(lane: Lane, dialect: LaneDialect, attemptInput: AttemptInput): Promise<RouteStrategy> {
  const way = { ...(attemptInput.withoutSeals ? forgettingSeals(attemptInput) : attemptInput), lane, dialect }
  for (const build of STRATEGIES) {
    const found = build(way)
    if (found !== undefined) return await found
  }
  return translation(way)
}

interface Way extends AttemptInput {
  readonly lane: Lane
  readonly dialect: LaneDialect
}

/** A way with these languages at its ends. */
type Between<Client extends Protocol, Wire extends LaneWire> = Way & {
  readonly request: Extract<TurnRequest, { protocol: Client }>
  readonly encoder: Extract<TurnEncoder, { protocol: Client }>
  readonly dialect: Extract<LaneDialect, { wire: Wire }>
}

interface StrategyRow<Client extends Protocol, Wire extends LaneWire> {
  readonly client: Client
  readonly lane: Wire | 'any'
  /** Left out: always. */
  readonly isOpen?: (way: Between<Client, Wire>) => boolean
  readonly build: (way: Between<Client, Wire>) => RouteStrategy | Promise<RouteStrategy>
}

/** Builds it where it is open, and else nothing. */
function strategy<Client extends Protocol, Wire extends LaneWire>({
  client,
  lane,
  isOpen = () => true,
  build,
}: StrategyRow<Client, Wire>): (way: Way) => RouteStrategy | Promise<RouteStrategy> | undefined {
  const isBetween = (way: Way): way is Between<Client, Wire> =>
    way.request.protocol === client && way.encoder.protocol === client && (lane === 'any' || way.dialect.wire === lane)
  return (way) => (isBetween(way) && isOpen(way) ? build(way) : undefined)
}

/** What only who has sealed it can open is neither sent nor asked for: the lane has refused it. */
const forgettingSeals = (attemptInput: AttemptInput): AttemptInput => ({
  ...attemptInput,
  request:
    attemptInput.request.protocol === 'responses'
      ? { ...attemptInput.request, sealed: new Map() }
      : attemptInput.request,
  callSeals: { ...attemptInput.callSeals, find: NO_CALL_SEALS.find },
})

function goesAsItCame({ request, dialect }: Between<'responses', 'responses'>): boolean {
  return responses.canRewrite(request, dialect)
}

interface RelayWay<Request, Dialect> extends Omit<Way, 'request' | 'encoder' | 'dialect'> {
  readonly request: Request
  readonly encoder: RelayEncoder<{ readonly model: string; readonly origin: string; readonly dialect: Dialect }>
  readonly dialect: Dialect
}

/** Client and lane speak the same language: the request goes in the client's words, and the answer comes in the lane's. */
function relay<Request extends TurnRequest, Dialect>(
  way: RelayWay<Request, Dialect>,
  rewrite: (request: Request, target: RelayTarget<Dialect>) => LaneRequest,
): RouteStrategy {
  const { request, encoder, dialect, lane } = way
  const speaking = { model: lane.model, origin: lane.origin, dialect }
  return {
    delivery: request.delivery,
    sent: rewrite(request, relayTargetOf(way, request.delivery)),
    adapter: () => encoder.relay(speaking),
    carryReply: (reply) => encoder.relayReply(reply, speaking),
  }
}

function relayTargetOf<Dialect>(
  { lane, dialect, effort, outputCap, cacheSalt, model }: RelayWay<unknown, Dialect>,
  delivery: LaneTarget<Dialect>['delivery'],
): RelayTarget<Dialect> {
  const { passFields } = model
  return { model: lane.model, origin: lane.origin, dialect, effort, outputCap, delivery, cacheSalt, passFields }
}

/**
 * A conversation is made short by the provider itself where whatever comes after it can only go to that provider anyway: what
 * it alone can read it alone can make short.
 */
function isMadeShortThere({
  request,
  lane,
  dialect,
  model,
  withoutNativeCompaction,
}: Between<'responses', 'responses'>): boolean {
  if (request.compacts === undefined) return false
  if (request.boundTo !== undefined) return true
  return dialect.compacts && !withoutNativeCompaction && model.lanes.every(({ origin }) => origin === lane.origin)
}

function compactionByProvider(way: Between<'responses', 'responses'>): RouteStrategy {
  const { request, encoder, lane } = way
  const reader = createNativeCompactionReader(lane.origin)
  return {
    delivery: 'stream',
    sent: responses.rewriteRequest(withTrigger(request), relayTargetOf(way, 'stream')),
    // Read anew at its end: a conversation that was kept would live as long as the answer.
    adapter: () => encoder.compact(reader),
    ...(request.boundTo === undefined ? { nativeCompaction: { hasFailed: () => reader.hasFailed } } : {}),
  }
}

const TRANSCRIBED_BYTES_MAX = 256 * 1024

/** Every lane can write and read a summary. */
async function compactionBySummary(way: Between<'responses', LaneWire>): Promise<RouteStrategy> {
  const { request, encoder } = way
  const conversation = codecs.readConversation(request, await codecs.parseRequest(request))
  await pauseAfter(request.body.bytes)
  const written = codecs.writeRequest(writeSummaryRequest(conversation), laneTargetOf(way))
  const body = await bytesOf(written, request)
  // A long one is longer than any summary, and would live as long as the answer.
  const transcript = request.body.bytes.length > TRANSCRIBED_BYTES_MAX ? '' : transcriptOf(conversation)
  return {
    delivery: 'stream',
    // What else this lane has no words for would have changed an answer, and a summary is none.
    sent: { body, leftOut: request.optionalFields },
    adapter: () => encoder.compact(createSummaryReader(readerOf(way), transcript)),
  }
}

/** Read as a conversation, and written in the lane's words; what comes back is read as events, and said in the client's. */
async function translation(way: Way): Promise<RouteStrategy> {
  const { request, encoder, callSeals } = way
  // Who speaks Responses carries what is sealed itself.
  const carriesSeals = request.protocol === 'responses'
  const read = codecs.readConversation(request, await codecs.parseRequest(request))
  await pauseAfter(request.body.bytes)
  const written = codecs.writeRequest(carriesSeals ? read : restoreSeals(read, callSeals.find), laneTargetOf(way))
  const { leftOut, tools, answerTool } = written
  return {
    delivery: 'stream',
    sent: {
      body: await bytesOf(written, request),
      leftOut: [...new Set([...request.optionalFields, ...codecs.beyondConversation(request), ...leftOut])],
    },
    adapter() {
      const said = readerOf(way)
      const lane = answerTool === undefined ? said : readAnswerTool(said, answerTool)
      return encoder.translate(restoreTools(carriesSeals ? lane : noticeSeals(lane, callSeals.keep), tools))
    },
  }
}

const bytesOf = async ({ body }: WrittenRequest, request: TurnRequest): Promise<Buffer> =>
  restoreNumbers(await writeInPieces(body, request.body.bytes.length))

/** An answer in another language is read as a stream, whatever the client wants. */
const laneTargetOf = ({ lane, dialect, request, effort, outputCap, cacheSalt }: Way): LaneTarget<LaneDialect> => ({
  ...{ model: lane.model, origin: lane.origin, promptCache: lane.promptCache, dialect },
  ...{ effort, outputCap, cacheSalt, client: request.protocol, delivery: 'stream' },
})

const readerOf = ({ lane, dialect, mint }: Way) => codecs.createEventReader({ dialect, origin: lane.origin }, mint)
