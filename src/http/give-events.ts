import { createTurnstile } from '../lib/take-turns.ts'
import type { Exchange } from './exchange.ts'
import { createSseSink } from './sse-sink.ts'

const DONE = Buffer.from('data: [DONE]\n\n')

const passTurnstile = createTurnstile()

/** Frames that were streamed once, no faster than their client takes them. A stream that cannot be read to its end is cut. */
export async function giveEvents(exchange: Exchange, frames: AsyncIterable<Buffer>): Promise<void> {
  const sink = createSseSink(exchange)
  exchange.log.outcome = 'replayed'
  try {
    for await (const piece of frames) {
      if (sink.gone) break
      const full = sink.write(piece)
      if (full) await full
      await passTurnstile()
    }
    sink.end(DONE)
  } catch (error) {
    // Before its head has gone it is a problem like any other.
    if (sink.phase === 'quiet') throw error
    exchange.log.error = error
    sink.cut()
  }
}
