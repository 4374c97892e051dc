import type { CatalogEntry, Lane } from '../catalog/catalog.ts'
import type { AdmittedTurn } from '../ledger/ledger.ts'
import type { Effort } from '../model/effort.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { LaneLessons } from '../routing/lane-lessons.ts'
import { readRetryAfter } from '../upstream/retry-after.ts'
import type { Send } from '../upstream/send.ts'
import { isUntouched, type UpstreamAnswer, type UpstreamBody } from '../upstream/upstream-answer.ts'
import type { LaneDialect } from '../wire/codecs.ts'
import type { MintIds } from '../wire/mint-ids.ts'
import { type CallSeals, NO_CALL_SEALS } from '../wire/notice-seals.ts'
import {
  classifyRefusal,
  type RefusalClass,
  readProviderError,
  refusesSeals,
  refusesTrigger,
} from '../wire/read-provider-error.ts'
import { ignoredFieldsHeader } from './announced-names.ts'
import { whenClientGoes } from './client-gone.ts'
import type { FirstWord } from './first-word.ts'
import { failed, problemOfFailure, refused } from './provider-refusal.ts'
import { relayJson } from './relay-json.ts'
import { relayStream } from './relay-stream.ts'
import { laneDialect, type Road, roadTo } from './road.ts'
import { NOTHING_PRODUCED, type RunFate } from './run.ts'
import type { Sink } from './sink.ts'
import type { TurnAbort } from './turn-abort.ts'
import type { TurnVoice } from './turn-voice.ts'

export interface LaneDeps {
  readonly send: Send
  readonly lessons: LaneLessons
  readonly mint: MintIds
  readonly ticks: () => number
  readonly now: () => number
  readonly bounds: ProviderBounds
}

/** Bounds on what a provider may send us. */
export interface ProviderBounds {
  readonly frameBytesMax: number
  readonly bodyBytesMax: number
  readonly depthMax: number
  readonly valuesMax: number
}

/** A turn that may run: what it asks, of whom, with which money. */
export interface RunnableTurn {
  readonly turn: TurnRequest
  readonly voice: TurnVoice
  readonly entry: CatalogEntry
  readonly effort: Effort | undefined
  /** Of the account whose turn it is. */
  readonly callSeals: CallSeals
  readonly hold: AdmittedTurn
  readonly firstWord: FirstWord
  readonly inputEstimate: number
  readonly sink: Sink
  readonly abort: TurnAbort
}

export interface TriedLane {
  readonly fate: RunFate
  readonly status: number | undefined
  /** For the receipt: how this try ended, in a word. */
  readonly outcome: string
}

/** A server that refuses a field is asked again without it; one that refuses many is not our server. */
const LESSONS_A_TURN_MAX = 3

/** What a server says that has never heard of compaction. */
const CANNOT_COMPACT: ReadonlySet<RefusalClass> = new Set(['rejected', 'unsupported-field', 'not-found'])

/**
 * Asks one lane, as its dialect wants to be asked, and relays what comes. What a model has thought before is not worth a
 * turn that fails: a lane that does not take what was sealed is asked once more without any of it.
 */
export async function tryLane(
  deps: LaneDeps,
  work: RunnableTurn,
  lane: Lane,
  onFirstContent: () => void,
): Promise<TriedLane> {
  const tried = await tryAsItIs(deps, work, lane, onFirstContent)
  const { fate } = tried
  const hasRefused = fate.kind === 'failed' && fate.refusesSeals && mayGiveSeals(work, laneDialect(lane))
  return hasRefused ? tryAsItIs(deps, withoutSeals(work), lane, onFirstContent) : tried
}

/** A relay gives nothing back but what its client has sent. */
const mayGiveSeals = ({ turn }: RunnableTurn, { wire }: LaneDialect): boolean =>
  turn.protocol === 'responses' ? turn.sealed.size > 0 : wire !== 'chat'

const withoutSeals = (work: RunnableTurn): RunnableTurn => ({
  ...work,
  turn: work.turn.protocol === 'responses' ? { ...work.turn, sealed: new Map() } : work.turn,
  callSeals: { ...work.callSeals, find: NO_CALL_SEALS.find },
})

async function tryAsItIs(
  deps: LaneDeps,
  work: RunnableTurn,
  lane: Lane,
  onFirstContent: () => void,
): Promise<TriedLane> {
  let isToSummarise = false
  for (let lessons = 0; ; lessons++) {
    // Who has gone before anybody was asked has cost nothing.
    if (work.abort.reason) return stopped(work.abort, undefined)
    const taught = deps.lessons.dialectOf(lane.id, laneDialect(lane))
    const dialect = isToSummarise ? { ...taught, compacts: false } : taught
    const road = roadTo(lane, dialect, {
      turn: work.turn,
      voice: work.voice,
      mint: deps.mint,
      callSeals: work.callSeals,
      lanes: work.entry.model.lanes,
    })
    const then = whenClientGoes(lane, dialect, { model: work.entry.model, effort: work.effort })
    // A stream without a head is nothing that anybody owes for; a JSON answer gets its head when it has been made.
    work.abort.whenClientGoes(work.turn.delivery === 'json' ? then : 'cut')
    const outcome = await ask(deps, work, lane, road)
    if (outcome.kind === 'failed') {
      if (work.abort.reason) return stopped(work.abort, undefined)
      const fate = { ...failed(problemOfFailure(outcome)), mayBeBilled: !isUntouched(outcome) }
      return { fate, status: undefined, outcome: outcome.expired ?? outcome.reason }
    }
    if (outcome.status < 400) {
      work.abort.whenClientGoes(then)
      const fate = await relay(deps, work, { road, body: outcome.body }, onFirstContent)
      if (road.nativeCompaction?.hasFailed()) {
        deps.lessons.learnNoCompaction(lane.id)
        continue
      }
      return { fate, status: outcome.status, outcome: fate.kind }
    }
    const error = readProviderError(outcome.status, await readSome(outcome.body))
    if (work.abort.reason) return stopped(work.abort, outcome.status)
    const refusal = classifyRefusal(error)
    const isOfSeals = refusesSeals(error) && mayGiveSeals(work, dialect)
    if (road.nativeCompaction && CANNOT_COMPACT.has(refusal) && !isOfSeals) {
      // What is wrong with one request must not be held against the server by everybody else's.
      if (refusesTrigger(error)) deps.lessons.learnNoCompaction(lane.id)
      isToSummarise = true
      continue
    }
    const mayLearn = refusal === 'unsupported-field' && lessons < LESSONS_A_TURN_MAX
    if (mayLearn && deps.lessons.learn(lane.id, dialect, error)) continue
    const fate = refused(error, readRetryAfter(outcome.headers, deps.now()))
    return { fate, status: outcome.status, outcome: refusal }
  }
}

function ask(deps: LaneDeps, work: RunnableTurn, lane: Lane, road: Road) {
  const { entry, effort, hold, abort, sink } = work
  const room = Math.max(leastRoomFor(work.turn), entry.model.contextTokens - work.inputEstimate)
  const outputCap = Math.min(hold.cap, room)
  const { body, leftOut } = road.write({ entry, effort, outputCap })
  sink.announce(ignoredFieldsHeader(leftOut, work.turn.body))
  return deps.send({ upstream: lane.upstream, body, delivery: road.delivery, signal: abort.signal })
}

/** A summary is asked for when the context is nearly full: better that a provider refuses than that it writes three words. */
const leastRoomFor = (turn: TurnRequest): number =>
  turn.protocol === 'responses' && turn.compacts !== undefined ? SUMMARY_TOKENS : 1

const SUMMARY_TOKENS = 2048

interface AnsweringLane {
  readonly road: Road
  readonly body: UpstreamAnswer['body']
}

function relay(
  deps: LaneDeps,
  work: RunnableTurn,
  answering: AnsweringLane,
  onFirstContent: () => void,
): Promise<RunFate> {
  const { turn, entry, hold, sink, abort, firstWord } = work
  const { road, body } = answering
  if (road.delivery === 'json' && road.carryReply) {
    return relayJson({ body, abort, carry: road.carryReply, bounds: deps.bounds })
  }
  return relayStream({
    body,
    carrier: road.carrier(),
    sink,
    hold,
    abort,
    firstWord,
    choices: turn.choices,
    bytesPerToken: entry.model.bytesPerToken,
    frameBytesMax: deps.bounds.frameBytesMax,
    onFirstContent,
  })
}

function stopped(abort: TurnAbort, status: number | undefined): TriedLane {
  const reason = abort.reason ?? 'client-gone'
  const fate: RunFate = { kind: 'stopped', reason, accepted: false, used: NOTHING_PRODUCED }
  return { fate, status, outcome: reason }
}

/** Error bodies are short; what is longer is a page, and its beginning is enough. */
const ERROR_BYTES_MAX = 64 * 1024

async function readSome(body: UpstreamBody): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for (let chunks = await body.read(); chunks.length > 0 && size < ERROR_BYTES_MAX; chunks = await body.read()) {
      for (const chunk of chunks) size += chunk.length
      parts.push(...chunks)
    }
  } catch {
    // A refusal that breaks off is a refusal all the same.
  }
  body.cancel()
  return Buffer.concat(parts).subarray(0, ERROR_BYTES_MAX)
}
