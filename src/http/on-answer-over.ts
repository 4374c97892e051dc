import type { ServerResponse } from 'node:http'
import type { Connection } from './connection.ts'

/**
 * Calls back once when nothing of an answer is under way any more: all of it has been written, or its connection has
 * closed. Of the latter Node says nothing to a response that is queued behind another one of the same connection, so
 * the connection is listened to as well. Returns how to stop listening.
 */
export function onAnswerOver(
  { response, connection }: { readonly response: ServerResponse; readonly connection: Connection },
  listener: () => void,
): () => void {
  const stop = () => {
    response.off('close', over)
    connection.closeListeners.delete(over)
  }
  const over = () => {
    stop()
    listener()
  }
  response.once('close', over)
  connection.closeListeners.add(over)
  return stop
}
