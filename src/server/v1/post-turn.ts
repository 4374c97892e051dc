import { callerProblem } from '../../auth/callers.ts'
import { type LookedUpAnswer, readIdempotencyKey } from '../../gateway/idempotency.ts'
import type { TurnEndpoint } from '../../gateway/read-turn.ts'
import { bytesUntilContent } from '../../gateway/request-memory.ts'
import type { ClaimRequest } from '../../ledger/state/admit-turn.ts'
import { createTurnstile } from '../../lib/async.ts'
import { type Caller, findClientProgram } from '../../model/caller.ts'
import { type Problem, type ProblemCode, refused } from '../../model/problem.ts'
import { authenticate } from '../auth.ts'
import { disconnectedMeanwhile, type ReceivedBody, readBody, receiveBody, yieldToOthers } from '../body.ts'
import type { Slot } from '../concurrency-limiter.ts'
import { createJsonSink } from '../json-sink.ts'
import { type Exchange, onAnswerOver, whenDrained } from '../request-context.ts'
import { endAnswer, type Headers, sendJsonBytes, sendProblem, watchClient, writeHead } from '../respond.ts'
import { createSseSink } from '../sse-sink.ts'

/**
 * `POST /v1/chat/completions`, `/v1/responses` and `/v1/responses/compact`: what runs a turn. Whether there is room for it is
 * asked after its key, which costs next to nothing, and what can be refused by that alone: who would be refused anyway shall
 * hear it, instead of waiting and coming back for it. It is asked before the body, which is what costs.
 */
export async function postTurn(exchange: Exchange, endpoint: TurnEndpoint): Promise<void> {
  if (await disconnectedMeanwhile(exchange)) return letGo(exchange)
  const who = await authenticate(exchange)
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  await postTurnAs(exchange, endpoint, who.caller)
}

/** Whoever asks is known, so what is refused before it begins is counted as theirs. */
export async function postTurnAs(exchange: Exchange, endpoint: TurnEndpoint, caller: Caller): Promise<void> {
  const code = await enter(exchange, endpoint, caller)
  if (code !== undefined) exchange.edge.turnRefused(caller, code)
}

/**
 * Why a request was refused before it began; undefined for every other: what was admitted has an outcome of its own, whatever
 * its client was told.
 */
type RefusedWith = ProblemCode | undefined

function refuse(exchange: Exchange, problem: Problem, headers?: Headers): RefusedWith {
  sendProblem(exchange, problem, headers)
  return problem.code
}

async function enter(exchange: Exchange, endpoint: TurnEndpoint, caller: Caller): Promise<RefusedWith> {
  const { edge, request } = exchange
  const named = readIdempotencyKey(request.headers['idempotency-key'])
  if (named.kind === 'invalid') return refuse(exchange, named.problem)
  // With a key the answer may be there already, whatever limits and wallet say by now.
  const early = named.kind === 'none' ? await edge.refuseEarly(caller) : undefined
  if (early) return refuse(exchange, early)

  const entry = await edge.load.acquire((leave) => onDisconnect(exchange, leave))
  if (entry.kind === 'refused') return refuse(exchange, entry.problem)
  if (entry.kind === 'gone') return endUnread(exchange)
  try {
    const received = await receiveBody(exchange, entry.place)
    if (received.kind === 'refused') return refuse(exchange, received.problem)
    if (received.kind === 'gone') return letGo(exchange)
    const sent = { endpoint, caller, received, place: entry.place }
    return await (named.kind === 'none' ? serve(exchange, sent) : serveOnce(exchange, sent, named.key))
  } finally {
    entry.place.release()
  }
}

/** While a request waits nobody reads its body, whose end would tell that its client has gone. */
function onDisconnect({ body, answerOver }: Exchange, leave: () => void): () => void {
  body.fail = leave
  const forget = onAnswerOver({ answerOver }, leave)
  return () => {
    body.fail = undefined
    forget()
  }
}

/** What is wrong with its connection is said to whoever may still read. */
function endUnread(exchange: Exchange): RefusedWith {
  const { failure } = exchange.connection
  return failure ? refuse(exchange, failure) : letGo(exchange)
}

/** Its client may have closed its own half only, behind a body that it has cut off: then nobody else would ever close the other. */
function letGo({ log, response }: Exchange): undefined {
  log.outcome = 'client_gone'
  response.destroy()
}

interface SentBytes {
  readonly endpoint: TurnEndpoint
  readonly caller: Caller
  readonly received: Extract<ReceivedBody, { kind: 'received' }>
  readonly place: Slot
}

/** With an idempotency key the first request is served, and any other is told what the first one was. */
async function serveOnce(exchange: Exchange, sent: SentBytes, idempotencyKey: string): Promise<RefusedWith> {
  const { edge, path, log } = exchange
  const method = exchange.request.method ?? ''
  const { caller, received } = sent
  const found = await edge.lookUpAnswer({ caller, method, path, idempotencyKey, body: received.bytes })
  try {
    // The turn itself is judged again when it is admitted.
    if (found.kind === 'first') return await serve(exchange, sent, found.claim)
    const again = await edge.findCallerAgain(caller)
    if (again.kind === 'refused') return refuse(exchange, callerProblem(again.reason))
    switch (found.kind) {
      case 'kept':
        await giveKeptAnswer(exchange, found)
        return undefined
      case 'refused':
        if (found.error !== undefined) log.error = found.error
        return refuse(exchange, found.problem, found.headers)
    }
  } finally {
    found.leave()
  }
}

async function serve(exchange: Exchange, sent: SentBytes, claim?: ClaimRequest): Promise<RefusedWith> {
  const { edge, requestId, startedTicks: startedAt, log } = exchange
  const { caller, place } = sent
  const read = await readAsked(exchange, sent)
  if (read.kind === 'refused') return refuse(exchange, read.problem)

  const { request } = read
  const sink = request.delivery === 'stream' ? createSseSink(exchange) : createJsonSink(exchange)
  const program = findClientProgram(exchange.request.headers)
  const asked = { requestId, caller, program, request, sink, startedAt, claim, onContent: place.keep }
  const served = await edge.serveTurn(asked)
  Object.assign(log, served.facts)
  return served.refusedWith
}

/**
 * What is parsed lives in here only: whoever waits in `serve` for the end of the turn holds the request, and of the body
 * nothing but its bytes. Room for what was parsed is given back, and taken for what the turn keeps.
 */
async function readAsked({ edge }: Exchange, { endpoint, caller, received, place }: SentBytes) {
  const read = await readBody(received.bytes, edge.options.body, place)
  if (read.kind === 'refused') return read
  await yieldToOthers(received.bytes)
  const asked = await edge.readTurn({ endpoint, caller, body: read.body })
  await yieldToOthers(received.bytes)
  received.bytes = NOTHING
  if (asked.kind === 'refused') return asked
  const full = place.keep(bytesUntilContent(asked.request))
  return full === undefined ? asked : refused(full)
}

const NOTHING = Buffer.alloc(0)

/** An answer is given in one go, but no faster than its client takes it, and a slice at a time of all that are being given. */
const SLICE_BYTES = 64 * 1024
const passTurnstile = createTurnstile()

/** The status and the bytes of the first answer, under a request id of its own. */
async function giveKeptAnswer(exchange: Exchange, kept: Extract<LookedUpAnswer, { kind: 'kept' }>): Promise<void> {
  const { status, contentType, body, original } = kept
  const headers = { ...kept.headers, 'idempotency-replayed': 'true', 'x-original-request-id': original }
  exchange.log.outcome = 'replayed'
  if (!contentType.startsWith('text/event-stream')) {
    return giveJson(exchange, status, body, { ...headers, 'content-type': contentType })
  }
  const sink = createSseSink(exchange, { isKept: true })
  sink.announce(headers)
  let at = 0
  for (; body.length - at > SLICE_BYTES && !sink.disconnected; at += SLICE_BYTES) {
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
  for (let at = 0; at < body.length && !client.disconnected; at += SLICE_BYTES) {
    if (!response.write(body.subarray(at, at + SLICE_BYTES))) await whenDrained(exchange)
    await passTurnstile()
  }
  client.end()
  endAnswer(exchange, '')
}
