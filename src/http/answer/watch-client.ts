import type { Exchange } from '../exchange.ts'
import { onAnswerOver } from './answer-over.ts'

/** Notices when the client goes before its answer has ended. */
export interface ClientWatch {
  readonly gone: boolean
  /** The answer has ended: whatever happens to the connection now is not the client's going. */
  end(): void
  /** Calls back once, at once if the client has gone already; returns how to stop listening. */
  onGone(listener: () => void): () => void
}

export function watchClient(exchange: Pick<Exchange, 'request' | 'response' | 'answerOver'>): ClientWatch {
  const listeners: ((() => void) | undefined)[] = []
  const watch = {
    gone: exchange.response.destroyed || exchange.request.socket.destroyed,
    end() {
      stop()
      listeners.length = 0
    },
    onGone(listener: () => void) {
      if (watch.gone) {
        listener()
        return () => {}
      }
      const place = listeners.push(listener) - 1
      return () => {
        listeners[place] = undefined
      }
    },
  }
  const stop = onAnswerOver(exchange, () => {
    watch.gone = true
    for (const listener of listeners) listener?.()
  })
  if (watch.gone) stop()
  return watch
}
