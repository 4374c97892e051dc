import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../model/caller.ts'
import { mintRequestId, type RequestId } from '../model/ids.ts'
import { type AnswerOver, onAnswerOver, watchAnswer } from './answer/answer-over.ts'
import type { EdgeContext } from './edge-deps.ts'
import { type Connection, connectionOf } from './socket/connection.ts'

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

/**
 * The path of a request target: origin-form, absolute-form (which proxies send) or `*`. Queries are not read here. One
 * slash too many behind the base URL or at the end is forgiven, because clients join base URLs with and without one.
 */
function parseTarget(target: string): string {
  const withoutOrigin = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  const end = withoutOrigin.search(/[?#]/)
  const path = end < 0 ? withoutOrigin : withoutOrigin.slice(0, end)
  if (path === '') return '/'
  const joined = path.startsWith(JOINED_TWICE) ? BASE + path.slice(JOINED_TWICE.length) : path
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined
}

const BASE = '/v1/'
const JOINED_TWICE = '/v1//'

/** What stands behind the path; the first of a name that comes twice, and undefined for one that does not come. */
export function readQuery({ request: { url: target = '' } }: Exchange): (name: string) => string | undefined {
  const start = target.indexOf('?')
  const parameters = new URLSearchParams(start < 0 ? '' : target.slice(start + 1))
  return (name) => parameters.get(name) ?? undefined
}
