import type { FoundEvents } from '../content/stored-responses.ts'
import { assertNever } from '../lib/assert-never.ts'
import type { Caller } from '../model/caller.ts'
import { type Problem, problem } from '../model/problem.ts'
import { authenticate } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import { giveEvents } from './give-events.ts'
import { readQuery } from './read-query.ts'
import { sendJsonBytes } from './send-json.ts'
import { sendProblem } from './send-problem.ts'

/** `GET /v1/responses/{id}`: as JSON, or with `stream=true` the events that it was streamed as. */
export async function getResponse(exchange: Exchange, id: string): Promise<void> {
  const who = await authenticate(exchange)
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  const query = readQuery(exchange.request.url ?? '')
  const stream = query('stream')
  if (stream === 'true') return streamAgain(exchange, who.caller, id, query('starting_after'))
  if (stream !== undefined && stream !== 'false') {
    const message = '`stream` must be true or false.'
    return sendProblem(exchange, problem('invalid_value', message, { param: 'stream' }))
  }
  const found = await exchange.edge.findResponse(who.caller, id)
  if (found === undefined) return sendProblem(exchange, responseNotFound())
  sendJsonBytes(exchange, 200, found.body)
}

export const responseNotFound = (): Problem =>
  problem(
    'response_not_found',
    'No stored response of this account has that id. It may have expired, have been deleted, or have been asked for with store: false.',
  )

const SEQUENCE = /^\d{1,15}$/

async function streamAgain(exchange: Exchange, caller: Caller, id: string, after: string | undefined): Promise<void> {
  if (after !== undefined && !SEQUENCE.test(after)) {
    const message = '`starting_after` must be the sequence number of an event, a whole number.'
    return sendProblem(exchange, problem('invalid_value', message, { param: 'starting_after' }))
  }
  const found = await exchange.edge.readResponseEvents(caller, id, after === undefined ? -1 : Number(after))
  if (found.kind !== 'found') return sendProblem(exchange, noEvents(found))
  await giveEvents(exchange, found.frames)
}

const WITHOUT_STREAM = 'Ask without stream for the response itself.'

function noEvents(found: Exclude<FoundEvents, { kind: 'found' }>): Problem {
  switch (found.kind) {
    case 'not-found':
      return responseNotFound()
    case 'not-finished':
      return notStreamable(
        `This response is still running: its events can be read when it has ended. ${WITHOUT_STREAM}`,
      )
    case 'no-log':
      return notStreamable(
        found.reason === 'too-large'
          ? `The events of this response are too many and were not kept. ${WITHOUT_STREAM}`
          : `No events of this response are kept: it was not streamed, ended without an answer, or there was no room for them. ${WITHOUT_STREAM}`,
      )
    default:
      return assertNever(found)
  }
}

const notStreamable = (message: string): Problem => problem('unsupported_value', message, { param: 'stream' })
