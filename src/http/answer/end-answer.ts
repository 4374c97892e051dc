import type { Exchange } from '../exchange.ts'

/** So much is the kernel's at once where nothing else waits for it. */
const TAKEN_AT_ONCE_BYTES = 16 * 1024

/**
 * The last bytes of an answer, or a text of one character for each of them. Once an answer has ended, Node takes its connection
 * for idle, although its client may have taken next to nothing of it, and closes it when the server stops or needs room. So
 * a longer answer ends when it is taken.
 */
export function endAnswer(exchange: Exchange, last: Buffer | string): void {
  const { response } = exchange
  exchange.isToldWhole = true
  if (last.length <= TAKEN_AT_ONCE_BYTES && response.socket?.writableLength === 0) response.end(last, 'latin1')
  else response.write(last, 'latin1', () => response.end())
}
