import { connect } from 'node:net'
import { ADMIN_BOUNDS, type AdminAnswer, type AdminRequest, createLineReader } from './admin-protocol.ts'

export type ServerReply =
  | { readonly kind: 'reply'; readonly answer: AdminAnswer }
  /** Nobody listens there: the server is gone, or never was. */
  | { readonly kind: 'absent' }
  /** It listened, but the answer never came: whether the work was done is not known. */
  | { readonly kind: 'broken'; readonly reason: string }

const NOBODY_THERE = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTSOCK'])

/** Sends one request through the admin socket and waits for its answer. Never rejects. */
export function askServer(
  path: string,
  request: AdminRequest,
  timeoutMs: number = ADMIN_BOUNDS.answerTimeoutMs,
): Promise<ServerReply> {
  return new Promise((resolve) => {
    const reader = createLineReader(ADMIN_BOUNDS.answerBytesMax)
    const socket = connect(path)
    const settle = (reply: ServerReply) => {
      socket.destroy()
      resolve(reply)
    }
    socket.setTimeout(timeoutMs, () => settle({ kind: 'broken', reason: 'it did not answer in time' }))
    socket.once('connect', () => socket.write(`${JSON.stringify(request)}\n`))
    socket.on('data', (chunk) => {
      const read = reader.read(chunk)
      if (read.kind === 'too-long') return settle({ kind: 'broken', reason: 'its answer is too long' })
      const line = read.lines[0]
      if (line !== undefined) settle(readAnswer(line))
    })
    socket.on('error', (error: NodeJS.ErrnoException) =>
      settle(NOBODY_THERE.has(error.code ?? '') ? { kind: 'absent' } : { kind: 'broken', reason: error.message }),
    )
    socket.on('close', () => settle({ kind: 'broken', reason: 'it closed the connection' }))
  })
}

function readAnswer(line: string): ServerReply {
  try {
    return { kind: 'reply', answer: JSON.parse(line) as AdminAnswer }
  } catch {
    return { kind: 'broken', reason: 'its answer is not JSON' }
  }
}
