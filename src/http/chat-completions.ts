import { problem } from '../model/problem.ts'
import { authenticate } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import { createJsonSink } from './json-sink.ts'
import { readBody } from './read-body.ts'
import { sendProblem } from './send-problem.ts'
import { createSseSink } from './sse-sink.ts'

/** `POST /v1/chat/completions`. */
export async function chatCompletions(exchange: Exchange): Promise<void> {
  const { edge, request, requestId, startedTicks, log } = exchange
  const who = await authenticate(exchange)
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  if (request.headers['idempotency-key'] !== undefined) return sendProblem(exchange, noReplayYet)
  const early = await edge.refuseEarly(who.caller)
  if (early) return sendProblem(exchange, early)

  const read = await readBody(exchange)
  if (read.kind === 'refused') return sendProblem(exchange, read.problem)
  if (read.kind === 'gone') {
    log.outcome = 'client_gone'
    return
  }
  const parsed = edge.readChatRequest(read.body)
  if (parsed.kind === 'malformed') return sendProblem(exchange, parsed.problem)

  const { turn } = parsed
  const sink = turn.delivery === 'stream' ? createSseSink(exchange) : createJsonSink(exchange)
  Object.assign(log, await edge.serveTurn({ requestId, caller: who.caller, turn, sink, startedAt: startedTicks }))
}

const noReplayYet = problem(
  'unsupported_parameter',
  'This version does not keep answers for replay yet. Remove the Idempotency-Key header.',
  { param: 'Idempotency-Key' },
)
