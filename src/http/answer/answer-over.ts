import type { ServerResponse } from 'node:http'
import type { Exchange } from '../exchange.ts'
import type { Connection } from '../socket/connection.ts'

/** The end of one answer, to which several parts of the edge listen. */
export interface AnswerOver {
  readonly listeners: ((() => void) | undefined)[]
}

/**
 * Notices once when nothing of an answer is under way any more: all of it has been written, or its connection has
 * closed. Of the latter Node says nothing to a response that is queued behind another one of the same connection, so
 * the connection is listened to as well.
 */
export function watchAnswer(response: ServerResponse, connection: Connection): AnswerOver {
  const listeners: AnswerOver['listeners'] = []
  let over = false
  const end = () => {
    if (over) return
    over = true
    forgetConnection()
    for (const listener of listeners) listener?.()
  }
  const forgetConnection = connection.closeListeners.add(end)
  response.on('close', end)
  return { listeners }
}

/** Calls back once when the answer is over. Returns how to stop listening. */
export function onAnswerOver(
  { answerOver: { listeners } }: { readonly answerOver: AnswerOver },
  listener: () => void,
): () => void {
  const place = listeners.push(listener) - 1
  return () => {
    listeners[place] = undefined
  }
}

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
