import type { Exchange } from './exchange.ts'
import { onAnswerOver } from './on-answer-over.ts'

/** Of a near client is known after the second question whether it has gone; each further one waits twice as long. */
const FIRST_PAUSE_MS = 1

type Asked = Pick<Exchange, 'connection' | 'answerOver'>

/**
 * When the client has sent its last byte, most have hung up, and some have only said all that they had to say and wait for the
 * answer. Both look alike until something is sent to them: whoever has gone resets the connection for it, which the
 * next thing that is sent runs into. So `ask` sends something, until the answer is over.
 */
export function askWhetherGone(exchange: Asked, ask: () => void): void {
  const { connection } = exchange
  let timer: NodeJS.Timeout | undefined
  const askAgain = (pauseMs: number) => {
    ask()
    timer = setTimeout(askAgain, pauseMs, 2 * pauseMs).unref()
  }
  const begin = () => askAgain(FIRST_PAUSE_MS)
  const forgetEnd = connection.endListeners.add(begin)
  onAnswerOver(exchange, () => {
    forgetEnd()
    clearTimeout(timer)
  })
  if (connection.clientEnded) begin()
}

/**
 * An interim answer: every client of HTTP/1.1 passes over it. One of HTTP/1.0 may not be sent any; there the answer itself
 * will tell. One that is queued behind another answer has no socket yet; the one in front asks for all of them.
 */
export function sendInterim({ request, response }: Pick<Exchange, 'request' | 'response'>): void {
  if (response.headersSent || response.destroyed || response.socket === null) return
  if (request.httpVersionMajor === 1 && request.httpVersionMinor >= 1) response.writeProcessing()
}
