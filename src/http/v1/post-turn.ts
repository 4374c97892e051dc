import type { ClaimRequest } from '../../books/claims.ts'
import { readIdempotencyKey } from '../../idempotency/read-idempotency-key.ts'
import { callerProblem } from '../../keys/caller-problem.ts'
import type { Caller } from '../../model/caller.ts'
import { findClientProgram } from '../../model/client-program.ts'
import { type Problem, type ProblemCode, refused } from '../../model/problem.ts'
import type { TurnEndpoint } from '../../turn/read/read-turn.ts'
import { bytesUntilContent } from '../../turn/request-memory.ts'
import { onAnswerOver } from '../answer/answer-over.ts'
import { giveKeptAnswer } from '../answer/give-kept-answer.ts'
import { createJsonSink } from '../answer/json-sink.ts'
import { sendProblem } from '../answer/send-problem.ts'
import { createSseSink } from '../answer/sse-sink.ts'
import type { Headers } from '../answer/write-head.ts'
import { giveWay, goneMeanwhile } from '../body/give-way.ts'
import { readBody } from '../body/read-body.ts'
import { type ReceivedBody, receiveBody } from '../body/receive-body.ts'
import { authenticate } from '../door/authenticate.ts'
import type { LoadPlace } from '../door/load-guard.ts'
import type { Exchange } from '../exchange.ts'

/**
 * `POST /v1/chat/completions`, `/v1/responses` and `/v1/responses/compact`: what runs a turn. Whether there is room for it is
 * asked after its key, which costs next to nothing, and what can be refused by that alone: who would be refused anyway shall
 * hear it, instead of waiting and coming back for it. It is asked before the body, which is what costs.
 */
export async function postTurn(exchange: Exchange, endpoint: TurnEndpoint): Promise<void> {
  if (await goneMeanwhile(exchange)) return letGo(exchange)
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

  const entry = await edge.load.enter((leave) => onGone(exchange, leave))
  if (entry.kind === 'refused') return refuse(exchange, entry.problem)
  if (entry.kind === 'gone') return endUnread(exchange)
  try {
    const received = await receiveBody(exchange, entry.place)
    if (received.kind === 'refused') return refuse(exchange, received.problem)
    if (received.kind === 'gone') return letGo(exchange)
    const sent = { endpoint, caller, received, place: entry.place }
    return await (named.kind === 'none' ? serve(exchange, sent) : serveOnce(exchange, sent, named.key))
  } finally {
    entry.place.leave()
  }
}

/** While a request waits nobody reads its body, whose end would tell that its client has gone. */
function onGone({ body, answerOver }: Exchange, leave: () => void): () => void {
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
  readonly place: LoadPlace
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
  await giveWay(received.bytes)
  const asked = await edge.readTurn({ endpoint, caller, body: read.body })
  await giveWay(received.bytes)
  received.bytes = NOTHING
  if (asked.kind === 'refused') return asked
  const full = place.keep(bytesUntilContent(asked.request))
  return full === undefined ? asked : refused(full)
}

const NOTHING = Buffer.alloc(0)
