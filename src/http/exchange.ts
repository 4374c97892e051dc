import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../model/caller.ts'
import { mintRequestId, type RequestId } from '../model/ids.ts'
import { type AnswerOver, onAnswerOver, watchAnswer } from './answer/answer-over.ts'
import type { EdgeContext } from './edge-deps.ts'
import { pathOf } from './request-target.ts'
import { type Connection, connectionOf, type IncomingBody } from './socket/connection.ts'
import { isLastRequest } from './socket/last-request.ts'

/** How the client waits for its body to be asked for. */
export type Expectation = 'none' | 'continue' | 'unknown'

/** One request with its answer, as the edge handles it. */
export interface Exchange {
  readonly edge: EdgeContext
  readonly requestId: RequestId
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly connection: Connection
  readonly body: IncomingBody
  readonly answerOver: AnswerOver
  readonly path: string
  readonly startedTicks: number
  /** Its answer closes the connection, and nothing behind it is a request. */
  readonly isLast: boolean
  /** What the log line will say; whoever learns something adds it. */
  readonly log: Record<string, unknown>
  expectation: Expectation
  /** Who is asking, once that is known. */
  caller: Caller | undefined
  /** Headers of every answer in this place, unless the answer has its own of that name. */
  ownHeaders: Readonly<Record<string, string>> | undefined
  /** All of the answer has been said, although its client may not have taken it yet. */
  isToldWhole: boolean
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
  const path = pathOf(request.url ?? '')
  const isLast = isLastRequest(request)
  if (isLast) connection.isClosing = true
  connection.openExchanges += 1
  const body: IncomingBody = { request, bytesRead: 0, fail: undefined }
  connection.newestBody = body
  const answerOver = watchAnswer(response, connection)
  onAnswerOver({ answerOver }, () => {
    connection.openExchanges -= 1
    // What is left of a body that nobody reads on would stand in front of the next request.
    if (!request.complete) request.resume()
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
    body,
    answerOver,
    path,
    startedTicks: edge.clock.ticks(),
    isLast,
    log: {},
    expectation,
    caller: undefined,
    ownHeaders: undefined,
    isToldWhole: false,
  }
}
