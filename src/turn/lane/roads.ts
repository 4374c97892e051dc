import type { Lane } from '../../catalog/catalog.ts'
import type { Protocol, TurnRequest } from '../../model/turn.ts'
import type { LaneWire } from '../../model/wire.ts'
import * as chat from '../../wire/chat/retarget-request.ts'
import { codecs, type LaneDialect } from '../../wire/codecs.ts'
import { restoreNumbers } from '../../wire/json/exact-numbers.ts'
import { pauseAfter } from '../../wire/json/piece-turns.ts'
import { writeInPieces } from '../../wire/json/write-in-pieces.ts'
import type { LaneRequest, LaneTarget, RelayTarget, WrittenRequest } from '../../wire/lane-target.ts'
import { createNativeCompactionReader, withTrigger } from '../../wire/responses/native-compaction.ts'
import * as responses from '../../wire/responses/retarget-request.ts'
import { NO_CALL_SEALS, noticeSeals, restoreSeals } from '../../wire/seals/call-seals.ts'
import { askForSummary, createSummaryReader, transcriptOf } from '../../wire/summary.ts'
import { readAnswerTool } from '../../wire/tools/answer-tool.ts'
import { restoreTools } from '../../wire/tools/restore-tools.ts'
import type { RelayVoice } from '../../wire/voice.ts'
import type { TurnVoice } from '../open-voice.ts'
import type { Journey, Road } from './road.ts'

/**
 * The roads from a client to a lane, by the languages at their ends: a request takes the first that is open to it. Whatever
 * else there is between a client and a lane is translated.
 */
const ROADS = [
  road({
    client: 'chat',
    lane: 'chat',
    isOpen: ({ request, dialect }) => chat.canBeRetargeted(request, dialect),
    build: (way) => relay(way, chat.retargetRequest),
  }),
  road({ client: 'responses', lane: 'responses', isOpen: isMadeShortThere, build: compactionByProvider }),
  road({
    client: 'responses',
    lane: 'any',
    isOpen: ({ request }) => request.compacts !== undefined,
    build: compactionBySummary,
  }),
  road({
    client: 'responses',
    lane: 'responses',
    isOpen: goesAsItCame,
    build: (way) => relay(way, responses.retargetRequest),
  }),
]

/** The road from this client to this lane. */
export async function roadTo(lane: Lane, dialect: LaneDialect, journey: Journey): Promise<Road> {
  const way = { ...(journey.withoutSeals ? forgettingSeals(journey) : journey), lane, dialect }
  for (const build of ROADS) {
    const found = build(way)
    if (found !== undefined) return await found
  }
  return translation(way)
}

interface Way extends Journey {
  readonly lane: Lane
  readonly dialect: LaneDialect
}

/** A way with these languages at its ends. */
type Between<Client extends Protocol, Wire extends LaneWire> = Way & {
  readonly request: Extract<TurnRequest, { protocol: Client }>
  readonly voice: Extract<TurnVoice, { protocol: Client }>
  readonly dialect: Extract<LaneDialect, { wire: Wire }>
}

interface RoadRow<Client extends Protocol, Wire extends LaneWire> {
  readonly client: Client
  readonly lane: Wire | 'any'
  /** Left out: always. */
  readonly isOpen?: (way: Between<Client, Wire>) => boolean
  readonly build: (way: Between<Client, Wire>) => Road | Promise<Road>
}

/** Builds it where it is open, and else nothing. */
function road<Client extends Protocol, Wire extends LaneWire>({
  client,
  lane,
  isOpen = () => true,
  build,
}: RoadRow<Client, Wire>): (way: Way) => Road | Promise<Road> | undefined {
  const isBetween = (way: Way): way is Between<Client, Wire> =>
    way.request.protocol === client && way.voice.protocol === client && (lane === 'any' || way.dialect.wire === lane)
  return (way) => (isBetween(way) && isOpen(way) ? build(way) : undefined)
}

/** What only who has sealed it can open is neither sent nor asked for: the lane has refused it. */
const forgettingSeals = (journey: Journey): Journey => ({
  ...journey,
  request: journey.request.protocol === 'responses' ? { ...journey.request, sealed: new Map() } : journey.request,
  callSeals: { ...journey.callSeals, find: NO_CALL_SEALS.find },
})

function goesAsItCame({ request, dialect }: Between<'responses', 'responses'>): boolean {
  return responses.canBeRetargeted(request, dialect)
}

interface RelayWay<Request, Dialect> extends Omit<Way, 'request' | 'voice' | 'dialect'> {
  readonly request: Request
  readonly voice: RelayVoice<{ readonly model: string; readonly origin: string; readonly dialect: Dialect }>
  readonly dialect: Dialect
}

/** Client and lane speak the same language: the request goes in the client's words, and the answer comes in the lane's. */
function relay<Request extends TurnRequest, Dialect>(
  way: RelayWay<Request, Dialect>,
  retarget: (request: Request, target: RelayTarget<Dialect>) => LaneRequest,
): Road {
  const { request, voice, dialect, lane } = way
  const speaking = { model: lane.model, origin: lane.origin, dialect }
  return {
    delivery: request.delivery,
    sent: retarget(request, relayTargetOf(way, request.delivery)),
    carrier: () => voice.relay(speaking),
    carryReply: (reply) => voice.relayReply(reply, speaking),
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

function compactionByProvider(way: Between<'responses', 'responses'>): Road {
  const { request, voice, lane } = way
  const reader = createNativeCompactionReader(lane.origin)
  return {
    delivery: 'stream',
    sent: responses.retargetRequest(withTrigger(request), relayTargetOf(way, 'stream')),
    // Read anew at its end: a conversation that was kept would live as long as the answer.
    carrier: () => voice.compact(reader),
    ...(request.boundTo === undefined ? { nativeCompaction: { hasFailed: () => reader.hasFailed } } : {}),
  }
}

const TRANSCRIBED_BYTES_MAX = 256 * 1024

/** Every lane can write and read a summary. */
async function compactionBySummary(way: Between<'responses', LaneWire>): Promise<Road> {
  const { request, voice } = way
  const conversation = codecs.readConversation(request, await codecs.parseRequest(request))
  await pauseAfter(request.body.bytes)
  const written = codecs.writeRequest(askForSummary(conversation), laneTargetOf(way))
  const body = await bytesOf(written, request)
  // A long one is longer than any summary, and would live as long as the answer.
  const transcript = request.body.bytes.length > TRANSCRIBED_BYTES_MAX ? '' : transcriptOf(conversation)
  return {
    delivery: 'stream',
    // What else this lane has no words for would have changed an answer, and a summary is none.
    sent: { body, leftOut: request.optionalFields },
    carrier: () => voice.compact(createSummaryReader(readerOf(way), transcript)),
  }
}

/** Read as a conversation, and written in the lane's words; what comes back is read as events, and said in the client's. */
async function translation(way: Way): Promise<Road> {
  const { request, voice, callSeals } = way
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
    carrier() {
      const said = readerOf(way)
      const lane = answerTool === undefined ? said : readAnswerTool(said, answerTool)
      return voice.translate(restoreTools(carriesSeals ? lane : noticeSeals(lane, callSeals.keep), tools))
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
