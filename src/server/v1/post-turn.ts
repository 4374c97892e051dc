import { callerProblem } from '../../auth/callers.ts'
import { type LookedUpAnswer, readIdempotencyKey } from '../../gateway/idempotency.ts'
import { bytesUntilContent, type TurnEndpoint } from '../../gateway/read-turn.ts'
import { runRequired, termsByKey } from '../../gateway/runs.ts'
import type { ClaimRequest } from '../../ledger/state/turns.ts'
import { createTurnstile } from '../../lib/async.ts'
import type { Networks } from '../../lib/network.ts'
import type { Caller } from '../../model/caller.ts'
import { inputTokensOf } from '../../model/price.ts'
import { type Problem, problem, refused } from '../../model/problem.ts'
import { type RunTerms, readRun, termsOfJob } from '../../model/run.ts'
import { readTags, withJobTags, withRunTag } from '../../model/tags.ts'
import { authenticate, cutWhenRefused, refuseAddress } from '../auth.ts'
import { hasDisconnected, LARGE_BYTES, parseBody, type ReceivedBody, readBody, yieldToEventLoop } from '../body.ts'
import type { Slot } from '../concurrency-limiter.ts'
import type { RequestContext } from '../request-context.ts'
import { endAnswer, findClientProgram, type Headers, sendJsonBytes, sendProblem, writeHead } from '../respond.ts'
import { ClientSink } from '../sinks.ts'
import { announceCodexLimits } from './codex-limits.ts'

/**
 * `POST /v1/chat/completions`, `/v1/responses` and `/v1/responses/compact`. The order: authentication and what it can refuse
 * alone, which is cheap; a slot, so that a request that would be refused anyway does not wait for one; then the body.
 */
export async function postTurn(context: RequestContext, endpoint: TurnEndpoint): Promise<void> {
  if (context.edge.loop.isLate && (await hasDisconnected(context))) return abandon(context)
  const found = authenticate(context)
  const authenticated = found instanceof Promise ? await found : found
  if (authenticated.kind === 'refused') return sendProblem(context, authenticated.problem)
  await postTurnAs(context, endpoint, authenticated.caller)
}

export async function postTurnAs(context: RequestContext, endpoint: TurnEndpoint, caller: Caller): Promise<void> {
  const { edge, request } = context
  const header = request.headers['idempotency-key']
  const named = header === undefined ? undefined : readIdempotencyKey(header)
  if (named?.kind === 'invalid') return refuseBeforeAdmission(context, caller, named.problem)
  const tagged = request.headers['x-millrace-tags']
  const read = tagged === undefined ? undefined : readTags(String(tagged))
  if (read?.kind === 'invalid')
    return refuseBeforeAdmission(context, caller, headerProblem('x-millrace-tags', read.message))
  const { job } = caller
  const all = job === undefined ? read : withJobTags(read?.tags, job.tags)
  if (all?.kind === 'invalid')
    return refuseBeforeAdmission(context, caller, headerProblem('x-millrace-tags', all.message))
  const ofRun = request.headers['x-millrace-run']
  const readTerms = ofRun === undefined ? undefined : readRun(String(ofRun))
  if (readTerms?.kind === 'invalid')
    return refuseBeforeAdmission(context, caller, headerProblem('x-millrace-run', readTerms.message))
  if (readTerms === undefined && job === undefined && caller.run === 'required')
    return refuseBeforeAdmission(context, caller, runRequired())
  // With a key there may be an answer already, which limits and wallet do not affect.
  const early = named === undefined ? await edge.gateway.earlyRefusal(edge.gateway.services, caller) : undefined
  if (early) return refuseEarly(context, caller, early)
  const acquired = edge.limiter.acquire(context)
  const entry = acquired instanceof Promise ? await acquired : acquired
  if (entry.kind === 'refused') return refuseBeforeAdmission(context, caller, entry.problem)
  if (entry.kind === 'disconnected') {
    // After a parse error the client may still read.
    const { failure } = context.connection
    return failure ? refuseBeforeAdmission(context, caller, failure) : abandon(context)
  }
  const { slot } = entry
  try {
    const reading = readBody(context, slot, caller.account)
    const received = reading instanceof Promise ? await reading : reading
    if (received.kind === 'refused') return refuseBeforeAdmission(context, caller, received.problem)
    if (received.kind === 'disconnected') return abandon(context)
    if (received.bytes.length > LARGE_BYTES) await yieldToEventLoop()
    const terms = readTerms?.terms ?? (job && termsOfJob(job.run))
    const sent = { endpoint, caller, received, slot, tags: all?.tags, terms }
    if (named === undefined) await serve(context, sent)
    else await serveIdempotent(context, sent, named.key)
  } finally {
    slot.release()
  }
}

/** Refuses a turn before admission, and counts it, because it leaves no receipt. */
function refuseBeforeAdmission(context: RequestContext, caller: Caller, problem: Problem, headers?: Headers): void {
  sendProblem(context, problem, headers)
  context.edge.refusedTurns.note(caller, problem.code)
}

/** A turn that the metrics count too, because nothing else does: its model is not known yet. */
function refuseEarly(context: RequestContext, caller: Caller, problem: Problem): void {
  context.edge.metrics.turnEnded({ model: undefined, outcome: 'refused', totalMs: undefined })
  refuseBeforeAdmission(context, caller, problem)
}

/** The client disconnected. It may have closed only its half, behind a cut-off body, so this closes the other half. */
function abandon({ log, response }: RequestContext): void {
  log.outcome = 'client_gone'
  response.destroy()
}

interface SentBytes {
  readonly endpoint: TurnEndpoint
  readonly caller: Caller
  readonly received: Extract<ReceivedBody, { kind: 'received' }>
  readonly slot: Slot
  readonly tags: string | undefined
  /** Of the run that it names. */
  readonly terms: RunTerms | undefined
}

const ATTACH = 'x-millrace-attach'

const headerProblem = (param: string, message: string): Problem => problem('invalid_value', message, { param })

/** With an idempotency key the first request runs, and a repeated one gets the answer of the first. */
async function serveIdempotent(context: RequestContext, sent: SentBytes, idempotencyKey: string): Promise<void> {
  const { edge, path, log } = context
  const method = context.request.method ?? ''
  const { caller, received } = sent
  const attach = context.request.headers[ATTACH]
  if (attach !== undefined && attach !== 'true' && attach !== 'false')
    return refuseBeforeAdmission(context, caller, headerProblem(ATTACH, '`x-millrace-attach` must be true or false.'))
  const isGone = () => context.isClosed
  const call = { caller, method, path, idempotencyKey, body: received.bytes, attaches: attach === 'true', isGone }
  const found = await edge.gateway.lookUpAnswer(edge.gateway.services, call)
  try {
    if (found.kind === 'first') {
      const early = await edge.gateway.earlyRefusal(edge.gateway.services, caller)
      // Admission checks the caller again.
      return early ? refuseEarly(context, caller, early) : await serve(context, sent, found.claim)
    }
    const again = await edge.callers.findAgain(caller)
    if (again.kind === 'refused') return refuseBeforeAdmission(context, caller, callerProblem(again.reason))
    const { networks } = again.caller
    const refusal = networks === undefined ? undefined : refuseAddress(context, networks)
    if (refusal !== undefined) return refuseBeforeAdmission(context, caller, refusal)
    switch (found.kind) {
      case 'kept':
        return await replay(context, found)
      case 'live':
        return await attachTo(context, again.caller, found)
      case 'refused':
        if (found.error !== undefined) log.error = found.error
        return refuseBeforeAdmission(context, caller, found.problem, found.headers)
    }
  } finally {
    found.release()
  }
}

async function serve(context: RequestContext, sent: SentBytes, claim?: ClaimRequest): Promise<void> {
  const { edge, requestId, startedAt, log, trace } = context
  const { gateway, turnCounts } = edge
  const { caller, slot } = sent
  const read = await parseTurn(context, sent)
  if (read.kind === 'refused') return refuseBeforeAdmission(context, caller, read.problem)
  const terms = sent.terms ?? (caller.run && termsByKey(gateway.services, caller, read.request))
  // A request that is refused above begins no run.
  const opened = terms && (await gateway.services.runs.open(caller, terms))
  if (opened?.kind === 'refused') return refuseBeforeAdmission(context, caller, opened.problem)
  const run = opened?.run
  const tags = run === undefined ? sent.tags : withRunTag(sent.tags, run.id)

  const { request } = read
  const sink = new ClientSink(context, request.delivery)
  if (run !== undefined) sink.announce({ 'x-millrace-run': run.id })
  const program = request.protocol === 'responses' ? findClientProgram(context.request) : undefined
  if (program === 'codex') await announceCodexLimits(edge, sink, caller)
  const onContent = (bytesKept: number) => void slot.keep(bytesKept)
  const input = {
    requestId,
    caller,
    program,
    request,
    sink,
    startedAt,
    claim,
    tags,
    run,
    onContent,
    trace,
    refuseAddress: (networks: Networks) => refuseAddress(context, networks),
  }
  turnCounts.running += 1
  try {
    const record = await gateway.serveTurn(gateway.services, input)
    log.turn = record
    log.kind = caller.kind
    log.delivery = request.delivery
    edge.metrics.turnEnded(record)
    if (record.outcome !== 'refused') turnCounts.served += 1
    else if (record.problem) edge.refusedTurns.note(caller, record.problem)
    const { model, usage, estimateError } = record
    if (model === undefined) return
    if (estimateError !== undefined) edge.estimateErrors.note(model, estimateError)
    // The configured context is wrong when a provider has counted more input.
    const configured = edge.rules.current.catalog.entries.get(model)?.model
    const counted = usage === undefined || usage.estimated ? 0 : inputTokensOf(usage)
    if (configured && counted > configured.contextTokens) edge.countedInputs.note(configured, counted)
  } finally {
    turnCounts.running -= 1
    if (turnCounts.running === 0) turnCounts.onIdle?.()
  }
}

/**
 * The parsed value lives in this function only: while a turn runs, `serve` holds the request and of the body nothing but its bytes.
 * The memory of the parsed value is given back here, and the memory that the turn keeps is taken.
 */
async function parseTurn({ edge }: RequestContext, { endpoint, caller, received, slot }: SentBytes) {
  const isLarge = received.bytes.length > LARGE_BYTES
  const { gateway, options } = edge
  // A chat request is read from its value once, and every lane gets its texts from the bytes.
  const parsed = await parseBody(received.bytes, options.body, slot, { withoutTexts: endpoint === 'chat' })
  if (parsed.kind === 'refused') return parsed
  if (isLarge) await yieldToEventLoop()
  const read = await gateway.readTurn(gateway.services, { endpoint, caller, body: parsed.body })
  if (isLarge) await yieldToEventLoop()
  received.bytes = NOTHING
  if (read.kind === 'refused') return read
  const full = slot.keep(bytesUntilContent(read.request))
  return full === undefined ? read : refused(full)
}

const NOTHING = Buffer.alloc(0)

/** All replays alternate: each writes one slice at a time. */
const SLICE_BYTES = 64 * 1024
const passTurnstile = createTurnstile()

/** Replays the status and the bytes of the first answer, under a request id of its own, honouring backpressure. */
async function replay(context: RequestContext, kept: Extract<LookedUpAnswer, { kind: 'kept' }>): Promise<void> {
  const { status, contentType, body, original } = kept
  const headers = { ...kept.headers, 'idempotency-replayed': 'true', 'x-original-request-id': original }
  context.log.outcome = 'replayed'
  if (!contentType.startsWith('text/event-stream')) {
    return replayJson(context, status, body, { ...headers, 'content-type': contentType })
  }
  const sink = new ClientSink(context, 'replay')
  sink.announce(headers)
  let at = 0
  for (; body.length - at > SLICE_BYTES && !sink.disconnected; at += SLICE_BYTES) {
    const full = sink.write(body.subarray(at, at + SLICE_BYTES))
    if (full) await full
    await passTurnstile()
  }
  sink.end(body.subarray(at))
}

/** What the first request is sent, as it is sent. Its end comes when it is charged, as there. */
async function attachTo(
  context: RequestContext,
  caller: Caller,
  { answer, original, headers }: Extract<LookedUpAnswer, { kind: 'live' }>,
): Promise<void> {
  context.log.outcome = 'replayed'
  const sink = new ClientSink(context, 'stream')
  sink.announce({ ...headers, 'idempotency-replayed': 'true', 'x-original-request-id': original })
  sink.open()
  const stopLooking = cutWhenRefused(context, caller)
  try {
    for (let bytes = await answer.next(sink); bytes !== undefined; bytes = await answer.next(sink)) {
      if (sink.disconnected) return
      const full = sink.write(bytes)
      if (full) await full
      await passTurnstile()
    }
    sink.end(NOTHING)
  } catch (error) {
    context.log.error = error
    sink.destroy()
  } finally {
    stopLooking()
  }
}

/** A replay costs nothing, so a client could repeat it without limit. Its memory counts as taken until the client has it. */
async function replayJson(context: RequestContext, status: number, body: Buffer, headers: Headers): Promise<void> {
  if (body.length <= SLICE_BYTES) return sendJsonBytes(context, status, body, headers)
  writeHead(context, status, { ...headers, 'content-length': String(body.length) })
  for (let at = 0; at < body.length && !context.isClosed; at += SLICE_BYTES) {
    if (!context.response.write(body.subarray(at, at + SLICE_BYTES))) await context.whenDrained()
    await passTurnstile()
  }
  endAnswer(context, '')
}
