import type { IncomingMessage } from 'node:http'
import { limitHeaders, limitsOfCaller } from '../limits/limits.ts'
import type { ClientProgram } from '../model/caller.ts'
import { PROBLEMS, type Problem, problemEnvelope, retryHeaders } from '../model/problem.ts'
import { pushCrossOrigin } from './cross-origin.ts'
import type { RequestContext } from './request-context.ts'

/** An undefined header is not sent; a list is one line for each item, as cookies require. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Node writes a head and a text in one piece, a head and bytes in two. A longer text costs more than that saves. In latin1 each
 * byte is one character, so no encoding is needed.
 */
const TEXT_BYTES_MAX = 16 * 1024

/** A whole JSON answer. An answer to a disconnected client is dropped. */
export function sendJson(context: RequestContext, status: number, body: object, headers: Headers = {}): void {
  sendJsonBytes(context, status, Buffer.from(JSON.stringify(body)), headers)
}

export function sendJsonBytes(context: RequestContext, status: number, bytes: Buffer, headers: Headers = {}): void {
  const { response, edge } = context
  if (response.destroyed) return
  const unread = unreadBodyBytes(context)
  const closes = unread > edge.options.linger.discardBytesMax || context.expectation !== 'none'
  writeHead(context, status, {
    'content-type': 'application/json',
    'content-length': String(bytes.length),
    ...headers,
    ...(closes ? { connection: 'close' } : {}),
  })
  if (unread === 0 || response.shouldKeepAlive) {
    endAnswer(context, bytes.length <= TEXT_BYTES_MAX ? bytes.toString('latin1') : bytes)
  } else {
    response.write(bytes)
    lingerThenEnd(context)
  }
}

/** How much of the request's body is still to arrive: infinite for a chunked body. */
function unreadBodyBytes({ request, bodyBytesRead }: RequestContext): number {
  // A client that has closed its half of the connection sends nothing more.
  if (request.complete || request.socket.readableEnded) return 0
  if (request.headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  return Math.max(0, Number(request.headers['content-length'] ?? 0) - bodyBytesRead)
}

/**
 * The answer is written. Its end, which closes the connection, waits until the client has stopped sending: closing at once would
 * make the kernel reset the connection, and the client would lose the answer that it has not read yet.
 */
function lingerThenEnd(context: RequestContext): void {
  const { request, response, edge } = context
  const { timeMs, bytesMax } = edge.options.linger
  let discarded = 0

  const onData = (chunk: Buffer) => {
    discarded += chunk.length
    if (discarded > bytesMax) finish()
  }
  const finish = () => {
    clearTimeout(timer)
    context.failBody = undefined
    request.off('data', onData).off('end', finish).off('close', finish)
    response.end()
  }
  const timer = setTimeout(finish, timeMs).unref()
  context.isAnswered = true
  context.failBody = finish
  request.on('data', onData).once('end', finish).once('close', finish)
  request.resume()
}

/** A problem as status, headers and the error envelope. */
export function sendProblem(context: RequestContext, problem: Problem, headers: Headers = {}): void {
  context.log.code = problem.code
  sendJson(context, PROBLEMS[problem.code].status, problemEnvelope(problem, context.requestId), {
    ...headers,
    ...retryHeadersFor(context.request, problem),
    ...problem.headers,
  })
}

/** `codex_exec`, `codex_cli_rs` and `codex_vscode` are all Codex. */
export function findClientProgram({ headers }: IncomingMessage): ClientProgram | undefined {
  if (/^codex/.test(String(headers.originator ?? ''))) return 'codex'
  return /^opencode\//.test(String(headers['user-agent'] ?? '')) ? 'opencode' : undefined
}

/**
 * Codex gives up on an overloaded server after five requests, but retries thirty times when it can read `retry-after`, which
 * would multiply the load by six. It does not know `retry-after-ms`, which the SDKs do. Measured: `docs/clients/codex.md`.
 */
export function retryHeadersFor(request: IncomingMessage, problem: Problem): Headers {
  const { 'retry-after': seconds, ...others } = retryHeaders(problem)
  if (seconds === undefined) return others
  return problem.code === 'server_is_overloaded' && findClientProgram(request) === 'codex'
    ? { ...others, 'retry-after-ms': String(Number(seconds) * 1000) }
    : { ...others, 'retry-after': seconds }
}

/**
 * Writes every head: with the request's id, the limits of the caller, and `Connection: close` when the node drains, the
 * connection is broken or the request is its last one. Node writes a flat list without building a table first.
 */
export function writeHead(context: RequestContext, status: number, headers: Headers): void {
  const { response, edge, connection, caller } = context
  const closes =
    headers.connection === 'close' || context.isLast || edge.drain.stage !== 'open' || connection.failure !== undefined
  if (closes) {
    response.shouldKeepAlive = false
    connection.isClosing = true
  }
  const head = ['x-request-id', context.requestId as string]
  // A turn announces its limits itself, with those of its model.
  const showsLimits =
    headers['x-ratelimit-limit-requests'] !== undefined || headers['x-ratelimit-limit-tokens'] !== undefined
  pushHeaders(head, context.ownHeaders === undefined ? headers : { ...context.ownHeaders, ...headers })
  if (caller !== undefined && !showsLimits) {
    const { all } = limitsOfCaller(edge.rules.current.limits, caller)
    pushHeaders(head, limitHeaders(edge.ledger.limitStatuses(all)))
  }
  if (closes && headers.connection === undefined) head.push('connection', 'close')
  if (edge.options.allowedOrigins.length > 0) pushCrossOrigin(head, context)
  response.writeHead(status, head)
}

function pushHeaders(head: string[], headers: Headers): void {
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string') head.push(name, value)
    else for (const each of value ?? []) head.push(name, each)
  }
}

/** The kernel takes this much at once when nothing else waits. */
const TAKEN_AT_ONCE_BYTES = 16 * 1024

/**
 * Writes the last bytes of an answer, or a latin1 text. After the end Node treats the connection as idle, although its client may
 * have read nothing yet, and closes it when the server stops or needs room. So a longer answer ends when the kernel has taken it.
 */
export function endAnswer(context: RequestContext, last: Buffer | string): void {
  const { response } = context
  context.isAnswered = true
  if (last.length <= TAKEN_AT_ONCE_BYTES && response.socket?.writableLength === 0) response.end(last, 'latin1')
  else response.write(last, 'latin1', () => response.end())
}
