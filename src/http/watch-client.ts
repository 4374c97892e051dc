import type { Exchange } from './exchange.ts'
import { onAnswerOver } from './on-answer-over.ts'

/** Notices when the client goes before its answer has ended. */
export interface ClientWatch {
  readonly gone: boolean
  /** The answer has ended: whatever happens to the connection now is not the client's going. */
  end(): void
  /** Calls back once, at once if the client has gone already; returns how to stop listening. */
  onGone(listener: () => void): () => void
}

export function watchClient(exchange: Pick<Exchange, 'request' | 'response' | 'connection'>): ClientWatch {
  const listeners = new Set<() => void>()
  let gone = exchange.response.destroyed || exchange.request.socket.destroyed

  const stop = onAnswerOver(exchange, () => {
    gone = true
    for (const listener of listeners) listener()
    listeners.clear()
  })
  if (gone) stop()

  return {
    get gone() {
      return gone
    },
    end() {
      stop()
      listeners.clear()
    },
    onGone(listener) {
      if (gone) listener()
      else listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
