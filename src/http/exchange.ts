import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../model/caller.ts'
import { mintRequestId, type RequestId } from '../model/ids.ts'
import { type Connection, connectionOf } from './connection.ts'
import type { EdgeContext } from './edge-deps.ts'
import { type AnswerOver, onAnswerOver, watchAnswer } from './on-answer-over.ts'
import { parseTarget } from './parse-target.ts'

/** How the client waits for its body to be asked for. */
export type Expectation = 'none' | 'continue' | 'unknown'

/** One request with its answer, as the edge handles it. */
export interface Exchange {
  readonly edge: EdgeContext
  readonly requestId: RequestId
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly connection: Connection
  readonly answerOver: AnswerOver
  readonly path: string
  readonly startedTicks: number
  /** What the log line will say; whoever learns something adds it. */
  readonly log: Record<string, unknown>
  expectation: Expectation
  /** Who is asking, once that is known. */
  caller: Caller | undefined
  bodyBytesRead: number
}

/** Mints the id, and counts the exchange on its connection. */
export function openExchange(
  edge: EdgeContext,
  request: IncomingMessage,
  response: ServerResponse,
  expectation: Expectation,
): Exchange {
  const { socket } = request
  const connection = connectionOf(socket)
  const requestId = mintRequestId(edge.clock.now(), edge.random)
  const path = parseTarget(request.url ?? '')
  connection.openExchanges += 1
  connection.lastRequest = request
  const answerOver = watchAnswer(response, connection)
  onAnswerOver({ answerOver }, () => {
    connection.openExchanges -= 1
    edge.onAnswered()
    // Behind garbage nothing can be understood: the connection ends with the last answer that was owed.
    if (connection.failure && connection.openExchanges === 0) socket.destroySoon()
  })
  return {
    edge,
    requestId,
    request,
    response,
    connection,
    answerOver,
    path,
    startedTicks: edge.clock.ticks(),
    log: {},
    expectation,
    caller: undefined,
    bodyBytesRead: 0,
  }
}
