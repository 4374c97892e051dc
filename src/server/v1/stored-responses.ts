import type { FoundEvents } from '../../db/content/read-responses.ts'
import { createTurnstile } from '../../lib/async.ts'
import { assertNever } from '../../lib/types.ts'
import { type Caller, readScopeOf } from '../../model/caller.ts'
import { type Problem, problem, retryableProblem } from '../../model/problem.ts'
import { cutWhenRefused } from '../auth.ts'
import { readQuery } from '../paths.ts'
import type { RequestContext } from '../request-context.ts'
import { sendJson, sendJsonBytes, sendProblem } from '../respond.ts'
import { ClientSink } from '../sinks.ts'

/** `GET /v1/responses/{id}`: as JSON, or with `stream=true` as the events that were streamed. */
export async function getResponse(context: RequestContext, caller: Caller, id: string): Promise<void> {
  const query = readQuery(context.request)
  const stream = query('stream')
  if (stream === 'true') return replayStream(context, caller, id, query('starting_after'))
  if (stream !== undefined && stream !== 'false') {
    const message = '`stream` must be true or false.'
    return sendProblem(context, problem('invalid_value', message, { param: 'stream' }))
  }
  await sendResponse(context, caller, id)
}

const tooManyAnswers = (): Problem =>
  retryableProblem(
    'server_is_overloaded',
    'This server is overloaded: it is sending too many stored responses of this account at the moment.',
    { first: 'Read what it has sent', retryAfterSeconds: 1 },
  )

/** Its bytes count for its account from before they are read until the client has them, or has disconnected. */
async function sendResponse(context: RequestContext, caller: Caller, id: string): Promise<void> {
  const { responses, gateway } = context.edge
  const memory = gateway.services.budget.of(caller.account)
  let taken = 0
  const take = (bytes: number) => {
    const isTaken = !context.isClosed && memory.take(bytes)
    if (isTaken) taken += bytes
    return isTaken
  }
  try {
    const found = await responses.findWithin({ scope: readScopeOf(caller), id, take })
    if (found === undefined) return sendProblem(context, responseNotFound())
    if (found === 'no-memory') return sendProblem(context, tooManyAnswers())
    sendJsonBytes(context, 200, found.body)
  } finally {
    context.onClose(() => memory.give(taken))
  }
}

const responseNotFound = (): Problem =>
  problem(
    'response_not_found',
    'No stored response of this account has that id. It may have expired, have been deleted, or have been created with store: false.',
  )

const SEQUENCE = /^\d{1,15}$/

async function replayStream(
  context: RequestContext,
  caller: Caller,
  id: string,
  after: string | undefined,
): Promise<void> {
  if (after !== undefined && !SEQUENCE.test(after)) {
    const message = '`starting_after` must be the sequence number of an event, a whole number.'
    return sendProblem(context, problem('invalid_value', message, { param: 'starting_after' }))
  }
  const { responses, gateway } = context.edge
  const memory = gateway.services.budget.of(caller.account)
  const startingAfter = after === undefined ? -1 : Number(after)
  const found = await responses.events(readScopeOf(caller), id, startingAfter, memory)
  if (found.kind !== 'found') return sendProblem(context, noEvents(found))
  const stopLooking = found.isLive ? cutWhenRefused(context, caller) : undefined
  await sendEvents(context, found).finally(stopLooking)
}

const DONE = Buffer.from('data: [DONE]\n\n')

const passTurnstile = createTurnstile()

/** Replays frames, honouring backpressure. A stream that cannot be read to its end is destroyed. */
async function sendEvents(
  context: RequestContext,
  { frames, isLive }: Extract<FoundEvents, { kind: 'found' }>,
): Promise<void> {
  const sink = new ClientSink(context, 'stream')
  context.log.outcome = 'replayed'
  // Its reader may wait for long.
  if (isLive) sink.open()
  try {
    for await (const piece of frames) {
      if (sink.disconnected) break
      const full = sink.write(piece)
      if (full) await full
      await passTurnstile()
    }
    sink.end(DONE)
  } catch (error) {
    // Before the head an error status can still be sent.
    if (sink.phase === 'quiet') throw error
    context.log.error = error
    sink.destroy()
  }
}

const WITHOUT_STREAM = 'To get the response itself, leave out `stream`.'

function noEvents(found: Exclude<FoundEvents, { kind: 'found' }>): Problem {
  switch (found.kind) {
    case 'not-found':
      return responseNotFound()
    case 'too-many':
      return retryableProblem('rate_limit_exceeded', 'This account follows too many running responses at once.', {
        first: 'Close one of these streams',
        retryAfterSeconds: 5,
      })
    case 'no-log':
      return notStreamable(
        found.reason === 'too-large'
          ? `This response has too many events, so they were not kept. ${WITHOUT_STREAM}`
          : `No events of this response are kept: it was not streamed, ended without an answer, or there was no room for them. ${WITHOUT_STREAM}`,
      )
    default:
      return assertNever(found)
  }
}

const notStreamable = (message: string): Problem => problem('unsupported_value', message, { param: 'stream' })

/** `POST /v1/responses/{id}/cancel`. Its node, if it is another one, notices within a second. */
export async function cancelResponse(context: RequestContext, caller: Caller, id: string): Promise<void> {
  const outcome = await context.edge.responses.cancel(readScopeOf(caller), id)
  if (outcome === 'not-found') return sendProblem(context, responseNotFound())
  if (outcome !== 'not-cancellable') return sendResponse(context, caller, id)
  const message =
    'Only a response that was created with `background: true` can be cancelled. Another one ends when its client closes the connection.'
  sendProblem(context, problem('invalid_value', message, { param: 'id' }))
}

/** `DELETE /v1/responses/{id}`. Responses that were built on it stay usable. */
export async function deleteResponse(context: RequestContext, caller: Caller, id: string): Promise<void> {
  const removed = await context.edge.responses.remove(readScopeOf(caller), id)
  if (!removed) return sendProblem(context, responseNotFound())
  sendJson(context, 200, { id, object: 'response.deleted', deleted: true })
}
