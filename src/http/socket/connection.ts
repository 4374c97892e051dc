import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Bag, createBag } from '../../lib/bag.ts'
import type { Problem } from '../../model/problem.ts'

/** What the edge knows about one socket; pipelined requests share it. */
export interface Connection {
  /** Exchanges whose answer is not finished. */
  openExchanges: number
  lastRequest: IncomingMessage | undefined
  /** Set while an exchange reads its body: ends the reading with a problem. */
  failBody: ((problem: Problem) => void) | undefined
  /** What the parser stumbled on behind a running answer: nothing more can be understood on this socket. */
  failure: Problem | undefined
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
    lastRequest: undefined,
    failBody: undefined,
    failure: undefined,
    closeListeners,
  }
  connections.set(socket, connection)
  socket.once('close', () => {
    closeListeners.each((listener) => listener())
  })
  return connection
}
