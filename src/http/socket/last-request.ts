import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { connectionOf } from './connection.ts'

/** Only these two versions are served (RFC 9112). Node's parser also takes HTTP/0.9 and HTTP/2.0 in a request line. */
export const isServedVersion = ({ httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean =>
  httpVersionMajor === 1 && httpVersionMinor <= 1

/**
 * Whether nothing behind this request is a request. Behind an offered `Upgrade` Node's parser drops the rest of the bytes
 * that it has in hand and reads the next ones as a new request, so the body of a pipelined request would run as one. The
 * offer is declined (RFC 9110, section 7.8): the request is answered over HTTP/1.1, and then its connection ends.
 */
export const isLastRequest = (request: IncomingMessage): boolean =>
  request.headers.upgrade !== undefined || !isServedVersion(request)

/** Each request that is ignored keeps a few kilobytes until the answer before it has ended. */
const IGNORED_MAX = 100

/** A request behind an answer that closes its connection is no request any more (RFC 9112, section 9.6). */
export function ignoreRequest(request: IncomingMessage, socket: Socket): void {
  const connection = connectionOf(socket)
  connection.ignoredRequests += 1
  if (connection.ignoredRequests > IGNORED_MAX) socket.destroy()
  // The end of the connection is noticed only while its bytes are read.
  else request.resume()
}
