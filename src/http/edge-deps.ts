import type { FoundEvents, FoundResponse } from '../content/stored-responses.ts'
import type { CallerOutcome } from '../keys/known-key.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import type { AddressRates } from '../limits/address-rates.ts'
import type { Caller } from '../model/caller.ts'
import type { RequestId } from '../model/ids.ts'
import type { Problem, ProblemCode, Refused } from '../model/problem.ts'
import type { KeyedCall, LookedUpAnswer } from '../turn/keep/look-up-answer.ts'
import type { SentBody } from '../turn/read/read-turn.ts'
import type { AskedTurn } from '../turn/turn.ts'
import type { ReadRequestOutcome } from '../wire/request-reader.ts'
import type { Heartbeat } from './answer/heartbeat.ts'
import type { ConsoleDeps } from './console/console-deps.ts'
import type { LoadGuard } from './door/load-guard.ts'
import type { EdgeOptions } from './edge-options.ts'
import type { Clients } from './socket/client-address.ts'

/** What one log line says of a request: ids, times, outcome; never contents. */
export type LogFields = Readonly<Record<string, unknown>>

export type DescribedModel = { readonly kind: 'found'; readonly model: object } | Refused

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
  readonly load: LoadGuard
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
  serveTurn(asked: AskedTurn): Promise<ServedTurn>
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
