import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Bag, createBag } from '../lib/collections.ts'
import type { Caller } from '../model/caller.ts'
import { mintRequestId, type RequestId } from '../model/ids.ts'
import type { Problem } from '../model/problem.ts'
import type { RequestFacts } from '../telemetry/log.ts'
import type { RequestTrace } from '../telemetry/tracing.ts'
import { isApi } from './paths.ts'
import type { EdgeContext } from './services.ts'

/** The request's `Expect` header. */
export type Expectation = 'none' | 'continue' | 'unknown'

/** One request with its answer, from its head to its log line. */
export class RequestContext implements OpenRequest {
  readonly edge: EdgeContext
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly connection: Connection
  readonly requestId: RequestId
  readonly path: string
  /** Monotonic microseconds. */
  readonly startedAt: number
  /** Its answer closes the connection, and later bytes are not requests. */
  readonly isLast: boolean
  /** Fields of the log line. */
  readonly log: RequestFacts = {}
  expectation: Expectation
  /** Undefined unless requests are traced. */
  readonly trace: RequestTrace | undefined
  /** Known once the key has been checked. */
  caller: Caller | undefined
  /** Headers of every answer on this path, unless the answer sets them itself. */
  ownHeaders: Readonly<Record<string, string>> | undefined
  bodyBytesRead = 0
  failBody: ((problem: Problem) => void) | undefined
  /** The whole answer was written, although the client may not have read it yet. */
  isAnswered = false
  /** The answer was written or its connection closed. */
  isClosed = false
  /** The answer of a turn. */
  sink: { onClose(): void } | undefined
  #closeListeners: Bag<() => void> | undefined

  constructor(edge: EdgeContext, request: IncomingMessage, response: ServerResponse, expectation: Expectation) {
    this.edge = edge
    this.request = request
    this.response = response
    this.expectation = expectation
    this.requestId = mintRequestId(edge.clock.now(), edge.random)
    const { pathPrefix } = edge.options
    if (pathPrefix !== undefined) request.url = withoutPrefix(request.url ?? '', pathPrefix)
    this.path = pathOf(request.url ?? '')
    this.startedAt = edge.clock.nowMicros()
    this.connection = connectionOf(request.socket)
    // Behind an offered `Upgrade` Node's parser drops the bytes that it has in hand and reads the next ones as a new request, so the
    // body of a pipelined request would run as one. The offer is declined (RFC 9110, section 7.8): the request is answered over
    // HTTP/1.1, and then its connection ends.
    this.isLast = request.headers.upgrade !== undefined || !SERVED_VERSIONS.has(request.httpVersion)
    if (this.isLast) this.connection.isClosing = true
    this.trace = edge.tracing !== undefined && isApi(this.path) ? edge.tracing.startRequest(request) : undefined
    this.connection.open.push(this)
    this.connection.newest = this
    response.on('close', this.close)
  }

  /**
   * The answer was written or its connection closed. Node tells a response that is queued behind another one of the same
   * connection nothing about a close, so the connection calls this too. Bound to its request.
   */
  readonly close = (): void => {
    if (this.isClosed) return
    this.isClosed = true
    const { connection, request, edge } = this
    connection.open.splice(connection.open.indexOf(this), 1)
    // An unread rest of the body would stand in front of the next request.
    if (!request.complete) request.resume()
    // While the node drains, a connection must not be reused after its answer.
    if (edge.drain.stage === 'refusing') edge.closeIdleConnections()
    if (connection.waiting.length > 0) beginWaiting(connection, request.socket)
    // After a parse error the connection ends with the last answer that was owed.
    if (connection.failure && connection.open.length === 0) request.socket.destroySoon()
    this.#closeListeners?.each((listener) => listener())
    this.sink?.onClose()
  }

  /** Calls back once when the answer is over, or at once. Returns how to remove the listener. */
  onClose(listener: () => void): () => void {
    if (this.isClosed) listener()
    this.#closeListeners ??= createBag()
    return this.#closeListeners.add(listener)
  }

  /** A client that waits for a slot: its body is not read meanwhile, so a parse error has to end the wait too. */
  onLeave(leave: () => void): () => void {
    this.failBody = leave
    const forget = this.onClose(leave)
    return () => {
      this.failBody = undefined
      forget()
    }
  }

  /** Backpressure: resolves when the socket takes more bytes, or when the connection has closed. */
  whenDrained(): Promise<void> {
    return new Promise((resolve) => {
      let forget = () => {}
      const done = () => {
        this.response.off('drain', done)
        forget()
        resolve()
      }
      this.response.on('drain', done)
      forget = this.onClose(done)
    })
  }
}

/** Removes the host of an absolute-form target, which proxies send. The Host header decides. */
export const withoutOrigin = (target: string): string =>
  target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')

/** Removes the path of `server.public_url`, which a proxy in front keeps or has removed. */
function withoutPrefix(target: string, prefix: string): string {
  const local = withoutOrigin(target)
  if (!local.startsWith(prefix)) return target
  const rest = local.slice(prefix.length)
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : target
}

/**
 * The path of a request target: origin-form, absolute-form or `*`, without its query. One slash too many after the base URL or at
 * the end is ignored, because clients join base URLs with and without one.
 */
function pathOf(target: string): string {
  const local = target.startsWith('/') ? target : withoutOrigin(target)
  const end = local.search(/[?#]/)
  const path = end < 0 ? local : local.slice(0, end)
  if (path === '') return '/'
  const joined = path.startsWith(JOINED_TWICE) ? BASE + path.slice(JOINED_TWICE.length) : path
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined
}

const BASE = '/v1/'
const JOINED_TWICE = '/v1//'

/** One request on a connection, as the connection sees it. Pipelined requests each have their own. */
export interface OpenRequest {
  readonly request: IncomingMessage
  /** Set while the body is being read: ends the reading with a problem. */
  failBody: ((problem: Problem) => void) | undefined
  /** The connection has closed. */
  close(): void
}

/** What the edge knows about one socket. Pipelined requests share it. */
export interface Connection {
  /** Requests whose answer is not finished. */
  readonly open: OpenRequest[]
  /** The newest request: the only one whose body can still be arriving. */
  newest: OpenRequest | undefined
  /** A parse error behind a running answer: nothing more can be read from this socket. */
  failure: Problem | undefined
  /** An answer has said `Connection: close`: later bytes are not requests (RFC 9112, section 9.6). */
  isClosing: boolean
  ignoredRequests: number
  /** Requests that are begun when answers before them have ended, in their order. */
  readonly waiting: { readonly request: IncomingMessage; readonly begin: () => void }[]
}

const connections = new WeakMap<Duplex, Connection>()

export function connectionOf(socket: Duplex): Connection {
  const known = connections.get(socket)
  if (known) return known
  const connection: Connection = {
    open: [],
    newest: undefined,
    failure: undefined,
    isClosing: false,
    ignoredRequests: 0,
    waiting: [],
  }
  connections.set(socket, connection)
  // One listener, however many requests are pipelined. Each takes itself out of the list.
  socket.once('close', () => {
    connection.waiting.length = 0
    for (const each of [...connection.open]) each.close()
  })
  return connection
}

/** Only these two versions are served (RFC 9112). Node's parser also takes HTTP/0.9 and HTTP/2.0 in a request line. */
export const SERVED_VERSIONS: ReadonlySet<string> = new Set(['1.0', '1.1'])

/** Answers of one connection that are made at the same time: those behind the first one are held until it has been read. */
const PIPELINED_MAX = 4
/** Each waiting request keeps a few kilobytes. */
const WAITING_MAX = 256

/** Begins a request, when the answers before it on its connection are few. One behind an answer that closes it is ignored. */
export function beginInTurn(request: IncomingMessage, begin: () => void): void {
  const { socket } = request
  const connection = connectionOf(socket)
  const { waiting, open } = connection
  if (connection.isClosing) ignoreRequest(request, socket)
  else if (open.length < PIPELINED_MAX && waiting.length === 0) begin()
  else if (waiting.length < WAITING_MAX) waiting.push({ request, begin })
  else socket.destroy()
}

function beginWaiting({ waiting, open, isClosing }: Connection, socket: Socket): void {
  if (socket.destroyed) return
  if (isClosing) for (const { request } of waiting.splice(0)) ignoreRequest(request, socket)
  else if (open.length < PIPELINED_MAX) waiting.shift()?.begin()
}

/** Each ignored request keeps a few kilobytes until the answer before it has ended. */
const IGNORED_MAX = 100

/** Ignores a request behind an answer that closes its connection (RFC 9112, section 9.6). */
function ignoreRequest(request: IncomingMessage, socket: Socket): void {
  const connection = connectionOf(socket)
  connection.ignoredRequests += 1
  if (connection.ignoredRequests > IGNORED_MAX) socket.destroy()
  // The end of the connection is noticed only while its bytes are read.
  else request.resume()
}
