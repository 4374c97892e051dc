import type { Socket } from 'node:net'

/** What the library keeps at its socket, under a symbol of its own. */
interface LibraryParser {
  paused: boolean
  /** Does nothing where it is not paused, or its socket is destroyed. */
  resume(): void
}

/**
 * A provider may close its connection while its answer is paused, because nobody reads it at the moment. The library then fails
 * an assertion of its own, outside of every call, which would end the process (nodejs/undici#5360, mended in its version 8 only,
 * which runs on newer Nodes only). So its parser goes on before it hears of the end: all that has come is in its hands by then.
 * To be called before the library listens to the socket.
 */
export function letPausedAnswersEnd(socket: Socket): void {
  const goOn = () => {
    const parser = parserOf(socket)
    if (parser === undefined) return
    parser.resume()
    // On a socket that broke it did not, and there is nothing left to go on with.
    parser.paused = false
  }
  socket.on('end', goOn).on('error', goOn).on('close', goOn)
}

/** Undefined where the library has let go of the socket. */
function parserOf(socket: Socket): LibraryParser | undefined {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser')
  return symbol === undefined ? undefined : (Reflect.get(socket, symbol) ?? undefined)
}
