import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Bag, createBag } from '../../lib/bag.ts'
import type { Problem } from '../../model/problem.ts'

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
