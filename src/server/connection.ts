import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Problem } from '../model/problem.ts'

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
  }
  connections.set(socket, connection)
  // One listener, however many requests are pipelined. Each takes itself out of the list.
  socket.once('close', () => {
    for (const each of [...connection.open]) each.close()
  })
  return connection
}

/** Only these two versions are served (RFC 9112). Node's parser also takes HTTP/0.9 and HTTP/2.0 in a request line. */
export const isServedVersion = ({ httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean =>
  httpVersionMajor === 1 && httpVersionMinor <= 1

/** Each ignored request keeps a few kilobytes until the answer before it has ended. */
const IGNORED_MAX = 100

/** Ignores a request behind an answer that closes its connection (RFC 9112, section 9.6). */
export function ignoreRequest(request: IncomingMessage, socket: Socket): void {
  const connection = connectionOf(socket)
  connection.ignoredRequests += 1
  if (connection.ignoredRequests > IGNORED_MAX) socket.destroy()
  // The end of the connection is noticed only while its bytes are read.
  else request.resume()
}
