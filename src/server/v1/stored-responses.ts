import type { FoundEvents } from '../../db/content/stored-responses.ts'
import { createTurnstile } from '../../lib/async.ts'
import { assertNever } from '../../lib/types.ts'
import type { Caller } from '../../model/caller.ts'
import { type Problem, problem } from '../../model/problem.ts'
import { readQuery } from '../paths.ts'
import type { Exchange } from '../request-context.ts'
import { sendJson, sendJsonBytes, sendProblem } from '../respond.ts'
import { createSseSink } from '../sse-sink.ts'

/** `GET /v1/responses/{id}`: as JSON, or with `stream=true` the events that it was streamed as. */
export async function getResponse(exchange: Exchange, caller: Caller, id: string): Promise<void> {
  const query = readQuery(exchange.request)
  const stream = query('stream')
  if (stream === 'true') return streamAgain(exchange, caller, id, query('starting_after'))
  if (stream !== undefined && stream !== 'false') {
    const message = '`stream` must be true or false.'
    return sendProblem(exchange, problem('invalid_value', message, { param: 'stream' }))
  }
  const found = await exchange.edge.findResponse(caller, id)
  if (found === undefined) return sendProblem(exchange, responseNotFound())
  sendJsonBytes(exchange, 200, found.body)
}

const responseNotFound = (): Problem =>
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

const DONE = Buffer.from('data: [DONE]\n\n')

const passTurnstile = createTurnstile()

/** Frames that were streamed once, no faster than their client takes them. A stream that cannot be read to its end is cut. */
async function giveEvents(exchange: Exchange, frames: AsyncIterable<Buffer>): Promise<void> {
  const sink = createSseSink(exchange)
  exchange.log.outcome = 'replayed'
  try {
    for await (const piece of frames) {
      if (sink.disconnected) break
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

/** `DELETE /v1/responses/{id}`: from here on nobody is shown it. What was built on it goes on. */
export async function deleteResponse(exchange: Exchange, caller: Caller, id: string): Promise<void> {
  const removed = await exchange.edge.removeResponse(caller, id)
  if (!removed) return sendProblem(exchange, responseNotFound())
  sendJson(exchange, 200, { id, object: 'response.deleted', deleted: true })
}
