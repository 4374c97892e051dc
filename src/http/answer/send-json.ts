import type { Exchange } from '../exchange.ts'
import { endAnswer } from './end-answer.ts'
import { type Headers, writeHead } from './write-head.ts'

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
