import type { Exchange } from './exchange.ts'

/**
 * The answer has been written whole; its end, which closes the connection, waits until the client has stopped sending.
 * Closing at once would make the kernel reset the connection, and the client would lose the answer it has not read yet.
 */
export function lingerThenEnd({ request, response, edge }: Exchange): void {
  const { timeMs, bytesMax } = edge.options.linger
  let discarded = 0

  const onData = (chunk: Buffer) => {
    discarded += chunk.length
    if (discarded > bytesMax) finish()
  }
  const finish = () => {
    clearTimeout(timer)
    request.off('data', onData).off('end', finish).off('close', finish)
    response.end()
  }
  const timer = setTimeout(finish, timeMs).unref()
  request.on('data', onData).once('end', finish).once('close', finish)
  request.resume()
}
