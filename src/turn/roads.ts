import type { Lane } from '../catalog/catalog.ts'
import type { Protocol, TurnRequest } from '../model/turn.ts'
import * as chat from '../wire/chat/retarget-request.ts'
import { codecs, type LaneDialect, type LaneWire } from '../wire/codecs.ts'
import type { LaneRequest, LaneTarget, RelayTarget } from '../wire/lane-target.ts'
import { createNativeCompactionReader, withTrigger } from '../wire/responses/native-compaction.ts'
import * as responses from '../wire/responses/retarget-request.ts'
import { NO_CALL_SEALS, noticeSeals, restoreSeals } from '../wire/seals/call-seals.ts'
import { askForSummary, createSummaryReader, transcriptOf } from '../wire/summary.ts'
import { readAnswerTool } from '../wire/tools/answer-tool.ts'
import { restoreTools } from '../wire/tools/restore-tools.ts'
import type { RelayVoice } from '../wire/voice.ts'
import type { Journey, Road } from './road.ts'
import type { TurnVoice } from './turn-voice.ts'

/**
 * The roads from a client to a lane, by the languages at their ends: a request takes the first that is open to it. Whatever
 * else there is between a client and a lane is translated.
 */
const ROADS = [
  road({ client: 'chat', lane: 'chat', build: (way) => relay(way, chat.retargetRequest) }),
  road({ client: 'responses', lane: 'responses', isOpen: isMadeShortThere, build: compactionByProvider }),
  road({
    client: 'responses',
    lane: 'any',
    isOpen: ({ turn }) => turn.compacts !== undefined,
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
export function roadTo(lane: Lane, dialect: LaneDialect, journey: Journey): Road {
  const way = { ...(journey.withoutSeals ? forgettingSeals(journey) : journey), lane, dialect }
  for (const build of ROADS) {
    const found = build(way)
    if (found !== undefined) return found
  }
  return translation(way)
}

interface Way extends Journey {
  readonly lane: Lane
  readonly dialect: LaneDialect
}

/** A way with these languages at its ends. */
type Between<Client extends Protocol, Wire extends LaneWire> = Way & {
  readonly turn: Extract<TurnRequest, { protocol: Client }>
  readonly voice: Extract<TurnVoice, { protocol: Client }>
  readonly dialect: Extract<LaneDialect, { wire: Wire }>
}

interface RoadRow<Client extends Protocol, Wire extends LaneWire> {
  readonly client: Client
  readonly lane: Wire | 'any'
  /** Left out: always. */
  readonly isOpen?: (way: Between<Client, Wire>) => boolean
  readonly build: (way: Between<Client, Wire>) => Road
}

/** Builds it where it is open, and else nothing. */
function road<Client extends Protocol, Wire extends LaneWire>({
  client,
  lane,
  isOpen = () => true,
  build,
}: RoadRow<Client, Wire>): (way: Way) => Road | undefined {
  const isBetween = (way: Way): way is Between<Client, Wire> =>
    way.turn.protocol === client && way.voice.protocol === client && (lane === 'any' || way.dialect.wire === lane)
  return (way) => (isBetween(way) && isOpen(way) ? build(way) : undefined)
}

/** What only who has sealed it can open is neither sent nor asked for: the lane has refused it. */
const forgettingSeals = (journey: Journey): Journey => ({
  ...journey,
  turn: journey.turn.protocol === 'responses' ? { ...journey.turn, sealed: new Map() } : journey.turn,
  callSeals: { ...journey.callSeals, find: NO_CALL_SEALS.find },
})

function goesAsItCame({ turn, dialect }: Between<'responses', 'responses'>): boolean {
  return responses.canBeRetargeted(turn, dialect)
}

interface RelayWay<Turn, Dialect> extends Omit<Way, 'turn' | 'voice' | 'dialect'> {
  readonly turn: Turn
  readonly voice: RelayVoice<{ readonly model: string; readonly origin: string; readonly dialect: Dialect }>
  readonly dialect: Dialect
}

/** Client and lane speak the same language: the request goes in the client's words, and the answer comes in the lane's. */
function relay<Turn extends TurnRequest, Dialect>(
  way: RelayWay<Turn, Dialect>,
  retarget: (turn: Turn, target: RelayTarget<Dialect>) => LaneRequest,
): Road {
  const { turn, voice, dialect, lane } = way
  const speaking = { model: lane.model, origin: lane.origin, dialect }
  return {
    delivery: turn.delivery,
    request: retarget(turn, relayTargetOf(way, turn.delivery)),
    carrier: () => voice.relay(speaking),
    carryReply: (body, value) => voice.relayReply(body, value, speaking),
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
  turn,
  lane,
  dialect,
  model,
  withoutNativeCompaction,
}: Between<'responses', 'responses'>): boolean {
  if (turn.compacts === undefined) return false
  if (turn.boundTo !== undefined) return true
  return dialect.compacts && !withoutNativeCompaction && model.lanes.every(({ origin }) => origin === lane.origin)
}

function compactionByProvider(way: Between<'responses', 'responses'>): Road {
  const { turn, voice, lane } = way
  const reader = createNativeCompactionReader(lane.origin)
  return {
    delivery: 'stream',
    request: responses.retargetRequest(withTrigger(turn), relayTargetOf(way, 'stream')),
    carrier: () => voice.compact(reader),
    ...(turn.boundTo === undefined ? { nativeCompaction: { hasFailed: () => reader.hasFailed } } : {}),
  }
}

/** Every lane can write and read a summary. */
function compactionBySummary(way: Between<'responses', LaneWire>): Road {
  const { turn, voice } = way
  const conversation = codecs.readConversation(turn)
  const { body } = codecs.writeRequest(askForSummary(conversation), laneTargetOf(way))
  return {
    delivery: 'stream',
    // What else this lane has no words for would have changed an answer, and a summary is none.
    request: { body, leftOut: turn.optionalFields },
    carrier: () => voice.compact(createSummaryReader(readerOf(way), () => transcriptOf(conversation))),
  }
}

/** Read as a conversation, and written in the lane's words; what comes back is read as events, and said in the client's. */
function translation(way: Way): Road {
  const { turn, voice, callSeals } = way
  // Who speaks Responses carries what is sealed itself.
  const carriesSeals = turn.protocol === 'responses'
  const read = codecs.readConversation(turn)
  const { body, leftOut, tools, answerTool } = codecs.writeRequest(
    carriesSeals ? read : restoreSeals(read, callSeals.find),
    laneTargetOf(way),
  )
  return {
    delivery: 'stream',
    request: { body, leftOut: [...new Set([...turn.optionalFields, ...codecs.beyondConversation(turn), ...leftOut])] },
    carrier() {
      const said = readerOf(way)
      const lane = answerTool === undefined ? said : readAnswerTool(said, answerTool)
      return voice.translate(restoreTools(carriesSeals ? lane : noticeSeals(lane, callSeals.keep), tools))
    },
  }
}

/** An answer in another language is read as a stream, whatever the client wants. */
const laneTargetOf = ({ lane, dialect, turn, effort, outputCap, cacheSalt }: Way): LaneTarget<LaneDialect> => ({
  ...{ model: lane.model, origin: lane.origin, promptCache: lane.promptCache, dialect },
  ...{ effort, outputCap, cacheSalt, client: turn.protocol, delivery: 'stream' },
})

const readerOf = ({ lane, dialect, mint }: Way) => codecs.createEventReader({ dialect, origin: lane.origin }, mint)
