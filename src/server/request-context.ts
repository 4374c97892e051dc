import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CallerOutcome } from '../auth/callers.ts'
import type { FoundEvents, FoundResponse } from '../db/content/stored-responses.ts'
import type { KeyedCall, LookedUpAnswer } from '../gateway/idempotency.ts'
import type { SentBody } from '../gateway/read-turn.ts'
import type { TurnInput } from '../gateway/turn.ts'
import { createBag } from '../lib/bag.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import type { AddressRates } from '../limits/address-rates.ts'
import type { Caller } from '../model/caller.ts'
import { mintRequestId, type RequestId } from '../model/ids.ts'
import type { Problem, ProblemCode, Refused } from '../model/problem.ts'
import type { ReadRequestOutcome } from '../protocols/shared/event-reader.ts'
import type { Clients } from './client-address.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'
import { type Connection, connectionOf, type IncomingBody, isLastRequest } from './connection.ts'
import type { ConsoleDeps } from './console/deps.ts'
import { pathOf } from './paths.ts'

/** How the client waits for its body to be asked for. */
export type Expectation = 'none' | 'continue' | 'unknown'

/** One request with its answer, as the edge handles it. */
export interface Exchange {
  readonly edge: EdgeContext
  readonly requestId: RequestId
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly connection: Connection
  readonly body: IncomingBody
  readonly answerOver: AnswerOver
  readonly path: string
  readonly startedTicks: number
  /** Its answer closes the connection, and nothing behind it is a request. */
  readonly isLast: boolean
  /** What the log line will say; whoever learns something adds it. */
  readonly log: Record<string, unknown>
  expectation: Expectation
  /** Who is asking, once that is known. */
  caller: Caller | undefined
  /** Headers of every answer in this place, unless the answer has its own of that name. */
  ownHeaders: Readonly<Record<string, string>> | undefined
  /** All of the answer has been said, although its client may not have taken it yet. */
  isToldWhole: boolean
}

/** Mints the id, and counts the exchange on its connection. */
export function openExchange(
  edge: EdgeContext,
  request: IncomingMessage,
  response: ServerResponse,
  expectation: Expectation,
): Exchange {
  const { socket } = request
  const connection = connectionOf(socket)
  const requestId = mintRequestId(edge.clock.now(), edge.random)
  const path = pathOf(request.url ?? '')
  const isLast = isLastRequest(request)
  if (isLast) connection.isClosing = true
  connection.openExchanges += 1
  const body: IncomingBody = { request, bytesRead: 0, fail: undefined }
  connection.newestBody = body
  const answerOver = watchAnswer(response, connection)
  onAnswerOver({ answerOver }, () => {
    connection.openExchanges -= 1
    // What is left of a body that nobody reads on would stand in front of the next request.
    if (!request.complete) request.resume()
    edge.onAnswered()
    // Behind garbage nothing can be understood: the connection ends with the last answer that was owed.
    if (connection.failure && connection.openExchanges === 0) socket.destroySoon()
  })
  return {
    edge,
    requestId,
    request,
    response,
    connection,
    body,
    answerOver,
    path,
    startedTicks: edge.clock.nowMicros(),
    isLast,
    log: {},
    expectation,
    caller: undefined,
    ownHeaders: undefined,
    isToldWhole: false,
  }
}

/** What one log line says of a request: ids, times, outcome; never contents. */
export type LogFields = Readonly<Record<string, unknown>>

type DescribedModel = { readonly kind: 'found'; readonly model: object } | Refused

/** What the edge has to know of a turn that is over. */
export interface ServedTurn {
  /** It was not admitted. */
  readonly refusedWith: ProblemCode | undefined
  /** What joins the log line. */
  readonly facts: LogFields
}

type MaybePromise<Value> = Value | Promise<Value>

/** All that the edge needs of the house behind it: plain functions, none of which needs a `this`. */
export interface EdgeDeps {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly options: EdgeOptions
  /** Whether there is room for another turn. */
  readonly load: ConcurrencyLimiter
  /** Whether the event loop was late a moment ago. */
  isLate(): boolean
  /** A request that was answered, or whose client has gone. */
  logRequest(fields: LogFields): void
  /** What happened to a connection and never became a request: not one of those that were served. */
  logConnection(fields: LogFields): void
  /** As many connections are open as may be: this one was closed without a word. */
  connectionDropped(): void
  findCaller(token: string): MaybePromise<CallerOutcome>
  /** Judges a caller again whose body has arrived since. */
  findCallerAgain(caller: Caller): MaybePromise<CallerOutcome>
  /** Counts a request without a valid key on the address that it came from. */
  readonly takeFromAddress: AddressRates['take']
  /** `x-ratelimit-*`: how the caller's limits stand now. */
  limitHeaders(caller: Caller): Readonly<Record<string, string>>
  /** What can be refused before the body is read: a limit that is used up, an empty wallet. */
  refuseEarly(caller: Caller): MaybePromise<Problem | undefined>
  /** What an idempotency key says of a request whose body has been read. */
  lookUpAnswer(call: KeyedCall): Promise<LookedUpAnswer>
  /** The request that a body is, with all that it refers to. */
  readTurn(sent: SentBody): MaybePromise<ReadRequestOutcome>
  /** Answers through the sink. It throws after a fault of ours, and has said so itself in a stream that has begun. */
  serveTurn(asked: TurnInput): Promise<ServedTurn>
  /** A turn was refused before it began, and leaves no receipt: it is only counted. */
  turnRefused(caller: Caller, code: ProblemCode): void
  /** The entries of `GET /models` for this caller. */
  listModels(caller: Caller): readonly object[]
  /** The same ids, as Codex wants them described. */
  listModelsForCodex(caller: Caller): readonly object[]
  findModel(caller: Caller, id: string): DescribedModel
  describeKey(caller: Caller): Promise<object>
  /** What a request of this account cost and why; undefined for other people's requests too. */
  findReceipt(caller: Caller, requestId: RequestId): Promise<object | undefined>
  /** A stored response of this account; undefined for other people's, expired and deleted ones too. */
  findResponse(caller: Caller, id: string): Promise<FoundResponse | undefined>
  /** The events of one that was streamed, behind a sequence number. */
  readResponseEvents(caller: Caller, id: string, startingAfter: number): Promise<FoundEvents>
  /** False when there was none to be seen. */
  removeResponse(caller: Caller, id: string): Promise<boolean>
  /** Undefined where the operator has switched it off. */
  readonly console: ConsoleDeps | undefined
  /** Why this node should get no traffic; empty when it should. */
  unreadyReasons(): MaybePromise<readonly string[]>
}

/** What the edge remembers beside what it was handed. */
export interface EdgeContext extends EdgeDeps, Clients {
  readonly heartbeat: Heartbeat
  readonly drain: DrainState
  onAnswered(): void
}

/**
 * `announced`: not ready any more, connections are closed after their answer, but new requests are served, because load
 * balancers need a moment. `refusing`: the door is shut, a request on a kept-alive connection gets `server_draining`.
 */
export interface DrainState {
  stage: 'open' | 'announced' | 'refusing'
}

/** The bounds of the edge. What can be configured is said, with its default and the reason for it, in `app/config`. */
export interface EdgeOptions {
  readonly connectionsMax: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly headerBytesMax: number
  readonly body: BodyBounds
  readonly linger: LingerBounds
  readonly stream: StreamTimes
  /** A client that takes nothing for so long, or up to twice as long, is treated as gone. */
  readonly stallMs: number
  /** Web origins, as browsers send them, that may call although they are not loopback. */
  readonly allowedOrigins: readonly string[]
  /** Addresses and networks of reverse proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[]
}

export interface BodyBounds {
  /** Before and after decompression. */
  readonly bytesMax: number
  /** Decompressed bytes per compressed byte. */
  readonly expansionRatioMax: number
  readonly depthMax: number
  readonly valuesMax: number
}

/** How long a refused client may go on sending before the connection is closed on it. */
interface LingerBounds {
  readonly timeMs: number
  readonly bytesMax: number
  /** A rest of the body this small is read and dropped, and the connection stays usable. */
  readonly discardBytesMax: number
}

interface StreamTimes {
  /** Without a first event for so long, the head goes out anyway. */
  readonly headDelayMs: number
  readonly keepAliveMs: number
}

const KiB = 1024
const MiB = 1024 * KiB

/** Bounds that no configuration sets: nobody has a reason to want others. */
export const LINGER: LingerBounds = { timeMs: 2_000, bytesMax: 16 * MiB, discardBytesMax: 64 * KiB }
export const STALL_MS = 60_000

/** The end of one answer, to which several parts of the edge listen. */
interface AnswerOver {
  isOver: boolean
  readonly listeners: ((() => void) | undefined)[]
}

/** What an exchange is here: it has an answer, which will be over. */
interface Answering {
  readonly answerOver: AnswerOver
}

/**
 * Notices once when nothing of an answer is under way any more: all of it has been written, or its connection has
 * closed. Of the latter Node says nothing to a response that is queued behind another one of the same connection, so
 * the connection is listened to as well.
 */
function watchAnswer(response: ServerResponse, connection: Connection): AnswerOver {
  const answerOver: AnswerOver = { isOver: false, listeners: [] }
  const end = () => {
    if (answerOver.isOver) return
    answerOver.isOver = true
    forgetConnection()
    for (const listener of answerOver.listeners) listener?.()
  }
  const forgetConnection = connection.closeListeners.add(end)
  response.on('close', end)
  return answerOver
}

/** Calls back once when the answer is over, at once where it is over already. Returns how to stop listening. */
export function onAnswerOver({ answerOver: { isOver, listeners } }: Answering, listener: () => void): () => void {
  if (isOver) {
    listener()
    return () => {}
  }
  const place = listeners.push(listener) - 1
  return () => {
    listeners[place] = undefined
  }
}

/** Resolves when the socket takes more, or when nobody will ever read it. */
export function whenDrained(exchange: Answering & { readonly response: ServerResponse }): Promise<void> {
  const { response } = exchange
  return new Promise((resolve) => {
    let stop = () => {}
    const done = () => {
      response.off('drain', done)
      stop()
      resolve()
    }
    response.on('drain', done)
    stop = onAnswerOver(exchange, done)
  })
}

/**
 * One timer for all open streams: each counts beats of silence for itself, so a write costs a store and not a timer.
 * It runs only while somebody listens and never keeps the process alive.
 */
interface Heartbeat {
  readonly beatMs: number
  /** Calls back on every beat; returns how to stop. */
  listen(onBeat: () => void): () => void
}

export function createHeartbeat(beatMs: number): Heartbeat {
  const listeners = createBag<() => void>()
  let timer: NodeJS.Timeout | undefined

  const stopIfUnused = () => {
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    beatMs,
    listen(onBeat) {
      const forget = listeners.add(onBeat)
      timer ??= setInterval(() => {
        listeners.each((listener) => listener())
      }, beatMs).unref()
      return () => {
        forget()
        stopIfUnused()
      }
    },
  }
}

/** A tenth of the shortest wait is exact enough, and one second is never too often. */
export const beatFor = ({ headDelayMs, keepAliveMs }: StreamTimes): number =>
  Math.max(5, Math.min(1000, Math.floor(Math.min(headDelayMs, keepAliveMs) / 10)))
