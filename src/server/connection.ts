import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Bag, createBag } from '../lib/bag.ts'
import type { Problem } from '../model/problem.ts'

/** The body of one request. Of requests that came in one write each has its own: one may be read while another waits. */
export interface IncomingBody {
  readonly request: IncomingMessage
  bytesRead: number
  /** Set while somebody waits for more of it: ends that with a problem. */
  fail: ((problem: Problem) => void) | undefined
}

/** What the edge knows about one socket; pipelined requests share it. */
export interface Connection {
  /** Exchanges whose answer is not finished. */
  openExchanges: number
  /** Of the newest request: the only one that can still be on its way. */
  newestBody: IncomingBody | undefined
  /** What the parser stumbled on behind a running answer: nothing more can be understood on this socket. */
  failure: Problem | undefined
  /** An answer has said `Connection: close`: nothing behind its request is one any more (RFC 9112, section 9.6). */
  isClosing: boolean
  /** Requests that came behind it. */
  ignoredRequests: number
  /** Called when the socket has closed: one listener on it, however many requests are pipelined. */
  readonly closeListeners: Bag<() => void>
}

const connections = new WeakMap<Duplex, Connection>()

export function connectionOf(socket: Duplex): Connection {
  const known = connections.get(socket)
  if (known) return known
  const closeListeners = createBag<() => void>()
  const connection: Connection = {
    openExchanges: 0,
    newestBody: undefined,
    failure: undefined,
    isClosing: false,
    ignoredRequests: 0,
    closeListeners,
  }
  connections.set(socket, connection)
  socket.once('close', () => {
    closeListeners.each((listener) => listener())
  })
  return connection
}

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
