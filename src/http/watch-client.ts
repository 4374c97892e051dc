import type { ServerResponse } from 'node:http'

/** Notices when the client goes before its answer has ended. */
export interface ClientWatch {
  readonly gone: boolean
  /** The answer has ended: whatever happens to the connection now is not the client's going. */
  end(): void
  /** Calls back once, at once if the client has gone already; returns how to stop listening. */
  onGone(listener: () => void): () => void
}

export function watchClient(response: ServerResponse): ClientWatch {
  const listeners = new Set<() => void>()
  let gone = response.destroyed

  const onClose = () => {
    gone = true
    for (const listener of listeners) listener()
    listeners.clear()
  }
  if (!gone) response.once('close', onClose)

  return {
    get gone() {
      return gone
    },
    end() {
      response.off('close', onClose)
      listeners.clear()
    },
    onGone(listener) {
      if (gone) listener()
      else listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
