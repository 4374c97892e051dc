import type { IncomingMessage } from 'node:http'
import { showsLimits } from '../limits/limits.ts'
import { findClientProgram } from '../model/caller.ts'
import { PROBLEMS, type Problem, problemEnvelope, retryHeaders } from '../model/problem.ts'
import { pushCrossOrigin } from './cross-origin.ts'
import { type Exchange, onAnswerOver } from './request-context.ts'

/**
 * Node writes a head and a text as one piece, a head and bytes as two; a longer text costs more than that saves. As latin1
 * a text has one character for each byte, whatever the bytes mean, and needs no encoding.
 */
const TEXT_BYTES_MAX = 16 * 1024

/** A whole JSON answer in one go. An answer to a client that is gone is dropped. */
export function sendJson(exchange: Exchange, status: number, body: object, headers: Headers = {}): void {
  sendJsonBytes(exchange, status, Buffer.from(JSON.stringify(body)), headers)
}

export function sendJsonBytes(exchange: Exchange, status: number, bytes: Buffer, headers: Headers = {}): void {
  const { response, edge } = exchange
  if (response.destroyed) return
  const unread = unreadBodyBytes(exchange)
  const closes = unread > edge.options.linger.discardBytesMax || exchange.expectation !== 'none'
  writeHead(exchange, status, {
    'content-type': 'application/json',
    'content-length': String(bytes.length),
    ...headers,
    ...(closes ? { connection: 'close' } : {}),
  })
  if (unread === 0 || response.shouldKeepAlive) {
    endAnswer(exchange, bytes.length <= TEXT_BYTES_MAX ? bytes.toString('latin1') : bytes)
  } else {
    response.write(bytes)
    lingerThenEnd(exchange)
  }
}

/** How much of the request's body is still to come here: 0 for none, infinite where only the end will tell. */
function unreadBodyBytes({ request, body }: Exchange): number {
  // Whoever has closed its own half behind a body that it cut off sends nothing any more.
  if (request.complete || request.socket.readableEnded) return 0
  if (request.headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  const length = Number(request.headers['content-length'] ?? 0)
  return Math.max(0, length - body.bytesRead)
}

/**
 * The answer has been written whole; its end, which closes the connection, waits until the client has stopped sending.
 * Closing at once would make the kernel reset the connection, and the client would lose the answer it has not read yet.
 */
function lingerThenEnd(exchange: Exchange): void {
  const { request, response, body, edge } = exchange
  const { timeMs, bytesMax } = edge.options.linger
  let discarded = 0

  const onData = (chunk: Buffer) => {
    discarded += chunk.length
    if (discarded > bytesMax) finish()
  }
  const finish = () => {
    clearTimeout(timer)
    body.fail = undefined
    request.off('data', onData).off('end', finish).off('close', finish)
    response.end()
  }
  const timer = setTimeout(finish, timeMs).unref()
  exchange.isToldWhole = true
  body.fail = finish
  request.on('data', onData).once('end', finish).once('close', finish)
  request.resume()
}

/** A problem as status, headers and the one envelope. */
export function sendProblem(exchange: Exchange, problem: Problem, headers: Headers = {}): void {
  exchange.log.code = problem.code
  sendJson(exchange, PROBLEMS[problem.code].status, problemEnvelope(problem, exchange.requestId), {
    ...headers,
    ...whenToRetry(exchange.request, problem),
    ...problem.headers,
  })
}

/**
 * When to come back, as this client takes it. Codex gives up on an overloaded server after five requests, but where the
 * answer carries a `retry-after` that it can read it asks thirty times: the server that is overloaded would get six times the
 * load for saying how long. It does not know `retry-after-ms`, which the SDKs do. Measured: `docs/clients/codex.md`.
 */
export function whenToRetry(request: IncomingMessage, problem: Problem): Headers {
  const { 'retry-after': seconds, ...others } = retryHeaders(problem)
  if (seconds === undefined) return others
  return problem.code === 'server_is_overloaded' && findClientProgram(request.headers) === 'codex'
    ? { ...others, 'retry-after-ms': String(Number(seconds) * 1000) }
    : { ...others, 'retry-after': seconds }
}

/** What is undefined is not there; a list is one line for each, as cookies have to be. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Every head goes out here: with the request's id and how the caller's limits stand, and with `Connection: close` where
 * the node drains, the connection is broken or the request is its last one. As one flat list, which Node writes without building a table first.
 */
export function writeHead(exchange: Exchange, status: number, headers: Headers): void {
  const { response, edge, connection, caller } = exchange
  const closes =
    headers.connection === 'close' || exchange.isLast || edge.drain.stage !== 'open' || connection.failure !== undefined
  if (closes) {
    response.shouldKeepAlive = false
    connection.isClosing = true
  }
  const head = ['x-request-id', exchange.requestId as string]
  // A turn tells them itself, with those of its model.
  if (caller !== undefined && !showsLimits(headers)) pushHeaders(head, edge.limitHeaders(caller))
  pushHeaders(head, exchange.ownHeaders === undefined ? headers : { ...exchange.ownHeaders, ...headers })
  if (closes && headers.connection === undefined) head.push('connection', 'close')
  pushCrossOrigin(head, exchange)
  response.writeHead(status, head)
}

function pushHeaders(head: string[], headers: Headers): void {
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string') head.push(name, value)
    else for (const each of value ?? []) head.push(name, each)
  }
}

/** So much is the kernel's at once where nothing else waits for it. */
const TAKEN_AT_ONCE_BYTES = 16 * 1024

/**
 * The last bytes of an answer, or a text of one character for each of them. Once an answer has ended, Node takes its connection
 * for idle, although its client may have taken next to nothing of it, and closes it when the server stops or needs room. So
 * a longer answer ends when it is taken.
 */
export function endAnswer(exchange: Exchange, last: Buffer | string): void {
  const { response } = exchange
  exchange.isToldWhole = true
  if (last.length <= TAKEN_AT_ONCE_BYTES && response.socket?.writableLength === 0) response.end(last, 'latin1')
  else response.write(last, 'latin1', () => response.end())
}

/** Notices when the client goes before its answer has ended. */
export interface ClientWatch {
  readonly disconnected: boolean
  /** The answer has ended: whatever happens to the connection now is not the client's going. */
  end(): void
  /** Calls back once, at once if the client has gone already; returns how to stop listening. */
  onDisconnect(listener: () => void): () => void
}

export function watchClient(exchange: Pick<Exchange, 'request' | 'response' | 'answerOver'>): ClientWatch {
  const listeners: ((() => void) | undefined)[] = []
  const watch = {
    disconnected: exchange.response.destroyed || exchange.request.socket.destroyed,
    end() {
      stop()
      listeners.length = 0
    },
    onDisconnect(listener: () => void) {
      if (watch.disconnected) {
        listener()
        return () => {}
      }
      const place = listeners.push(listener) - 1
      return () => {
        listeners[place] = undefined
      }
    },
  }
  const stop = onAnswerOver(exchange, () => {
    watch.disconnected = true
    for (const listener of listeners) listener?.()
  })
  if (watch.disconnected) stop()
  return watch
}
