import { once } from 'node:events'
import { connect } from 'node:net'
import type { Answer } from './send-chat.ts'
import type { TestServer } from './start-server.ts'

/** A connection on which the test decides every byte. */
export interface RawSocket {
  write(bytes: string): void
  /** The next whole answer with a Content-Length, interim ones included. */
  answer(): Promise<Answer>
  /** Everything that has come so far. */
  readonly received: string
  /** Resolves when the other side has closed. */
  readonly closed: Promise<void>
  /** Nothing more comes from here; what the other side says still arrives. */
  closeOwnHalf(): void
  /** Breaks the connection without a farewell. */
  destroy(): void
}

export async function openRawSocket(server: Pick<TestServer, 'port'>): Promise<RawSocket> {
  const socket = connect({ host: '127.0.0.1', port: server.port })
  let received = ''
  let taken = 0
  let ended = false
  let wake = () => {}
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1')
    wake()
  })
  // A connection that the server breaks is seen as its end; the error adds nothing.
  socket.on('error', () => {})
  const closed = once(socket, 'close').then(() => {
    ended = true
    wake()
  })
  await once(socket, 'connect')
  return {
    write: (bytes) => void socket.write(bytes, 'latin1'),
    async answer() {
      for (;;) {
        const found = readAnswer(received.slice(taken))
        if (found) {
          taken += found.length
          return found.answer
        }
        if (ended) throw new Error(`the connection ended before an answer: ${JSON.stringify(received.slice(taken))}`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    get received() {
      return received
    },
    closed,
    closeOwnHalf: () => void socket.end(),
    destroy: () => void socket.destroy(),
  }
}

function readAnswer(text: string): { answer: Answer; length: number } | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [first = '', ...lines] = text.slice(0, headEnd).split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const length = headEnd + 4 + Number(headers.get('content-length') ?? 0)
  if (text.length < length) return undefined
  const body = Buffer.from(text.slice(headEnd + 4, length), 'latin1').toString('utf8')
  const json = body === '' ? undefined : JSON.parse(body)
  const answer = { status: Number(first.split(' ')[1]), headers, requestId: headers.get('x-request-id') ?? '', json }
  return { answer, length }
}
