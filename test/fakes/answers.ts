import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Fields } from '../../src/lib/types.ts'
import type { NetworkFaults } from './network-faults.ts'

/** One request and everything that a script may answer to it, down to the byte and the way the connection ends. */
export interface ProviderAnswer {
  readonly model: string
  readonly delivery: 'json' | 'stream'
  /** What was asked, parsed. */
  readonly receivedRequest: Readonly<Record<string, unknown>>
  /** The headers of the request. */
  readonly receivedHeaders: Headers
  readonly socket: Socket
  /** Resolves when the other side, or a script, has closed the connection. */
  readonly closed: Promise<void>
  /** Exactly these bytes on the wire. */
  raw(bytes: string | Buffer): Promise<void>
  /** Status and headers of an answer whose body comes in pieces. */
  head(status?: number, headers?: Readonly<Record<string, string>>): Promise<void>
  /** Bytes of the body, as the weather cuts them. */
  bytes(body: string | Buffer): Promise<void>
  /** Events of a stream; a string is taken as it is. */
  frames(...events: readonly (object | string)[]): Promise<void>
  /** The same, under the names of their types. */
  events(...events: readonly (Fields & { readonly type: string })[]): Promise<void>
  /** The regular end of the body; the connection stays. */
  end(): Promise<void>
  /** The connection ends, with a farewell but without the end of the body. */
  close(): void
  /** The connection breaks. */
  reset(): void
}

interface ProviderAnswerOptions {
  readonly socket: Socket
  readonly receivedHeaders: Headers
  readonly receivedRequest: Readonly<Record<string, unknown>>
  readonly networkFaults: NetworkFaults
}

export function createProviderAnswer({
  socket,
  receivedRequest,
  receivedHeaders,
  networkFaults,
}: ProviderAnswerOptions): ProviderAnswer {
  const closed = new Promise<void>((resolve) => {
    if (socket.destroyed) resolve()
    else socket.once('close', () => resolve())
  })
  const delivery = receivedRequest.stream === true ? 'stream' : 'json'
  const raw = async (bytes: string | Buffer) => {
    if (socket.destroyed) return
    if (socket.write(bytes)) return
    await new Promise<void>((resolve) => {
      socket.once('drain', resolve)
      void closed.then(resolve)
    })
  }
  const bytes = async (body: string | Buffer) => {
    const pieces = networkFaults.pieces(Buffer.from(body))
    for (const [at, piece] of pieces.entries()) {
      await raw(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]))
      // Some pieces travel together, as in a real network, and some alone.
      if (at % 3 === 2) await nextTurn()
    }
  }
  return {
    model: String(receivedRequest.model),
    delivery,
    receivedRequest,
    receivedHeaders,
    socket,
    closed,
    raw,
    head(status = 200, headers = {}) {
      const type = delivery === 'stream' && status === 200 ? 'text/event-stream' : 'application/json'
      const lines = Object.entries({ 'content-type': type, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
      return raw(`HTTP/1.1 ${status} Fake\r\n${lines.join('')}transfer-encoding: chunked\r\n\r\n`)
    },
    bytes,
    frames: (...events) =>
      bytes(
        events.map((event) => networkFaults.frame(typeof event === 'string' ? event : JSON.stringify(event))).join(''),
      ),
    events: (...events) =>
      bytes(events.map((event) => `event: ${event.type}\n${networkFaults.frame(JSON.stringify(event))}`).join('')),
    end: () => raw('0\r\n\r\n'),
    close: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
  }
}
