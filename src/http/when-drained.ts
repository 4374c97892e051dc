import type { Exchange } from './exchange.ts'
import { onAnswerOver } from './on-answer-over.ts'

/** Resolves when the socket takes more, or when nobody will ever read it. */
export function whenDrained(exchange: Exchange): Promise<void> {
  const { response } = exchange
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done)
      stop()
      resolve()
    }
    const stop = onAnswerOver(exchange, done)
    response.on('drain', done)
  })
}
