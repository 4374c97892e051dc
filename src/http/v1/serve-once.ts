import type { Caller } from '../../model/caller.ts'
import type { LookedUpAnswer } from '../../turn/look-up-answer.ts'
import { giveKeptAnswer } from '../answer/give-kept-answer.ts'
import { sendProblem } from '../answer/send-problem.ts'
import type { Exchange } from '../exchange.ts'

/** Puts a recording before the sink of a first request: its answer is kept. */
export type RecordAnswer = Extract<LookedUpAnswer, { kind: 'first' }>['record']

/** A request with an idempotency key: the first one is served, and any other is told what the first one was. */
export async function serveOnce(
  exchange: Exchange,
  caller: Caller,
  asked: { readonly idempotencyKey: string; readonly body: Buffer },
  serve: (record: RecordAnswer) => Promise<void>,
): Promise<void> {
  const { edge, requestId, path, log } = exchange
  const method = exchange.request.method ?? ''
  const found = await edge.lookUpAnswer({ requestId, caller, method, path, ...asked })
  try {
    switch (found.kind) {
      case 'first':
        return await serve(found.record)
      case 'kept':
        return await giveKeptAnswer(exchange, found)
      case 'refused':
        if (found.error !== undefined) log.error = found.error
        return sendProblem(exchange, found.problem, found.headers)
    }
  } finally {
    found.leave()
  }
}
