import { createTurnstile } from '../../lib/take-turns.ts'
import type { LookedUpAnswer } from '../../turn/keep/look-up-answer.ts'
import type { Exchange } from '../exchange.ts'
import { whenDrained } from './answer-over.ts'
import { endAnswer } from './end-answer.ts'
import { sendJsonBytes } from './send-json.ts'
import { createSseSink } from './sse-sink.ts'
import { watchClient } from './watch-client.ts'
import { type Headers, writeHead } from './write-head.ts'

/** An answer is given in one go, but no faster than its client takes it, and a slice at a time of all that are being given. */
const SLICE_BYTES = 64 * 1024
const passTurnstile = createTurnstile()

/** The status and the bytes of the first answer, under a request id of its own. */
export async function giveKeptAnswer(
  exchange: Exchange,
  kept: Extract<LookedUpAnswer, { kind: 'kept' }>,
): Promise<void> {
  const { status, contentType, body, original } = kept
  const headers = { ...kept.headers, 'idempotency-replayed': 'true', 'x-original-request-id': original }
  exchange.log.outcome = 'replayed'
  if (!contentType.startsWith('text/event-stream')) {
    return giveJson(exchange, status, body, { ...headers, 'content-type': contentType })
  }
  const sink = createSseSink(exchange, { isKept: true })
  sink.announce(headers)
  let at = 0
  for (; body.length - at > SLICE_BYTES && !sink.gone; at += SLICE_BYTES) {
    const full = sink.write(body.subarray(at, at + SLICE_BYTES))
    if (full) await full
    await passTurnstile()
  }
  sink.end(body.subarray(at))
}

/** Costs nothing, so it could be asked for without end: its memory counts as taken until its client has it. */
async function giveJson(exchange: Exchange, status: number, body: Buffer, headers: Headers): Promise<void> {
  if (body.length <= SLICE_BYTES) return sendJsonBytes(exchange, status, body, headers)
  const { response } = exchange
  const client = watchClient(exchange)
  writeHead(exchange, status, { ...headers, 'content-length': String(body.length) })
  for (let at = 0; at < body.length && !client.gone; at += SLICE_BYTES) {
    if (!response.write(body.subarray(at, at + SLICE_BYTES))) await whenDrained(exchange)
    await passTurnstile()
  }
  client.end()
  endAnswer(exchange, '')
}
