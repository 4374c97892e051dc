import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { PROBLEMS, type Problem, problemEnvelope } from '../model/problem.ts'

/**
 * An answer where Node has no response object to write on: the request never became one. The other side gets time to
 * read it; what it still sends meanwhile is dropped by the parser.
 */
export function answerRaw(
  socket: Duplex,
  problem: Problem,
  about: { requestId: string; now: number; lingerMs: number },
): void {
  const { status } = PROBLEMS[problem.code]
  const body = JSON.stringify(problemEnvelope(problem, about.requestId))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `date: ${new Date(about.now).toUTCString()}`,
    `x-request-id: ${about.requestId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...Object.entries(problem.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  const timer = setTimeout(() => socket.destroy(), about.lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
}
