import type { ServerResponse } from 'node:http'
import type { Connection } from '../socket/connection.ts'

/** The end of one answer, to which several parts of the edge listen. */
export interface AnswerOver {
  isOver: boolean
  readonly listeners: ((() => void) | undefined)[]
}

/** What an exchange is here: it has an answer, which will be over. */
interface Answering {
  readonly answerOver: AnswerOver
}

/**
 * Notices once when nothing of an answer is under way any more: all of it has been written, or its connection has
 * closed. Of the latter Node says nothing to a response that is queued behind another one of the same connection, so
 * the connection is listened to as well.
 */
export function watchAnswer(response: ServerResponse, connection: Connection): AnswerOver {
  const answerOver: AnswerOver = { isOver: false, listeners: [] }
  const end = () => {
    if (answerOver.isOver) return
    answerOver.isOver = true
    forgetConnection()
    for (const listener of answerOver.listeners) listener?.()
  }
  const forgetConnection = connection.closeListeners.add(end)
  response.on('close', end)
  return answerOver
}

/** Calls back once when the answer is over, at once where it is over already. Returns how to stop listening. */
export function onAnswerOver({ answerOver: { isOver, listeners } }: Answering, listener: () => void): () => void {
  if (isOver) {
    listener()
    return () => {}
  }
  const place = listeners.push(listener) - 1
  return () => {
    listeners[place] = undefined
  }
}

/** Resolves when the socket takes more, or when nobody will ever read it. */
export function whenDrained(exchange: Answering & { readonly response: ServerResponse }): Promise<void> {
  const { response } = exchange
  return new Promise((resolve) => {
    let stop = () => {}
    const done = () => {
      response.off('drain', done)
      stop()
      resolve()
    }
    response.on('drain', done)
    stop = onAnswerOver(exchange, done)
  })
}
