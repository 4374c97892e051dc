import { createHmac } from 'node:crypto'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import type { KeptAnswers } from '../db/content/kept-answers.ts'
import type { StoredResponses } from '../db/content/stored-responses.ts'
import type { Ledger, TakenRequest } from '../ledger/ledger.ts'
import type { ClaimRequest } from '../ledger/state/turns.ts'
import type { SharedByteBudget } from '../lib/bytes.ts'
import { deriveKey } from '../lib/crypto.ts'
import { type ConfiguredLimits, limitHeaders, limitsOfCaller } from '../limits/limits.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountId, AccountRow, KeyRow, RequestId } from '../model/ids.ts'
import { type Problem, problem, retryableProblem } from '../model/problem.ts'
import { CONTENT_TYPES, type Follower, type LiveAnswers } from './keep-answer.ts'
import { claimProblem, ledgerUnavailable, notReplayableProblem, rateLimitProblem } from './refusals.ts'

/** A received request with an idempotency key. */
export interface KeyedCall {
  readonly caller: Caller
  readonly method: string
  readonly path: string
  readonly idempotencyKey: string
  readonly body: Buffer
  /** Where the first request still runs, the client wants to wait for its answer instead of a 409. */
  readonly attaches: boolean
  /** Whether the client is still there. */
  readonly isGone: () => boolean
}

export interface IdempotencyServices {
  readonly live: LiveAnswers
  /** How many requests of each account wait for the first one with their key. */
  readonly waiting: Map<AccountRow, number>
  readonly ledger: Ledger
  readonly answers: Pick<KeptAnswers, 'find'>
  readonly responses: Pick<StoredResponses, 'sent'>
  readonly digests: RequestDigests
  readonly limits: ConfiguredLimits
  readonly keptMs: number
  /** The memory of recordings and of answers that are sent again. */
  readonly budget: SharedByteBudget
}

/** The caller calls `release` once, when the request is over. */
export type LookedUpAnswer =
  /** The key is new: it is claimed when the turn is admitted. */
  (
    | { readonly kind: 'first'; readonly claim: ClaimRequest }
    | {
        readonly kind: 'kept'
        readonly original: RequestId
        readonly status: number
        readonly contentType: string
        readonly body: Buffer
        readonly headers: Readonly<Record<string, string>>
      }
    /** The first request streams its answer at this moment, here. */
    | {
        readonly kind: 'live'
        readonly original: RequestId
        readonly answer: Follower
        readonly headers: Readonly<Record<string, string>>
      }
    | {
        readonly kind: 'refused'
        readonly problem: Problem
        readonly headers?: Readonly<Record<string, string>>
        /** For the log, where it was our own fault. */
        readonly error?: unknown
      }
  ) & { release(): void }

/** The wait of a client that attaches to an answer of another node, or to JSON: most clients and proxies give up after a minute. */
const LOOKS_MAX = 110
const LOOK_AGAIN_MS = 500
/** Each holds a slot of the server and its body, which no limit on concurrency counts. */
const WAITING_MAX = 16

/** Before the body is parsed: whether this request is the first with its key, or what became of the first. */
export async function lookUpAnswer(services: IdempotencyServices, call: KeyedCall): Promise<LookedUpAnswer> {
  const fingerprint = await services.digests.fingerprintOf(call.body)
  const found = await lookUpOnce(services, call, { fingerprint, counted: undefined })
  if (!call.attaches || !isStillRunning(found)) return found
  const { waiting } = services
  const { account } = call.caller
  const others = waiting.get(account) ?? 0
  if (others >= WAITING_MAX) return found
  waiting.set(account, others + 1)
  try {
    return await waitForFirst(services, call, { fingerprint, found })
  } finally {
    const left = waiting.get(account)! - 1
    if (left > 0) waiting.set(account, left)
    else waiting.delete(account)
  }
}

const isStillRunning = (found: LookedUpAnswer): boolean =>
  found.kind === 'refused' && found.problem.code === 'idempotency_in_progress'

async function waitForFirst(
  services: IdempotencyServices,
  call: KeyedCall,
  { fingerprint, found: first }: { readonly fingerprint: string; readonly found: LookedUpAnswer },
): Promise<LookedUpAnswer> {
  const { ledger, limits } = services
  let found = first
  let counted: TakenRequest | undefined
  for (let looks = 1; looks < LOOKS_MAX && isStillRunning(found) && !call.isGone(); looks++) {
    found.release()
    // It waits in a slot of the server, so it counts as one request however it ends.
    counted ??= await ledger.takeRequest(limitsOfCaller(limits, call.caller).all)
    if (counted.kind === 'refused') {
      const headers = limitHeaders(counted.statuses)
      return { kind: 'refused', problem: rateLimitProblem(counted.refusal), headers, release() {} }
    }
    await sleep(LOOK_AGAIN_MS)
    found = await lookUpOnce(services, call, { fingerprint, counted })
  }
  return found
}

async function lookUpOnce(
  services: IdempotencyServices,
  call: KeyedCall,
  { fingerprint, counted: before }: { readonly fingerprint: string; readonly counted: TakenRequest | undefined },
): Promise<LookedUpAnswer> {
  const { digests, ledger, limits, keptMs, live } = services
  const { caller } = call
  // Nothing may wait between this check and the lookup: the ledger could be read back meanwhile.
  if (!ledger.gate.open) return { kind: 'refused', problem: ledgerUnavailable(), release() {} }
  const { method, path, idempotencyKey } = call
  // All jobs of a rule have one key, and are not to be trusted with each other's answers.
  const key = caller.job === undefined ? caller.key : `${caller.key} ${caller.job.run}`
  const scope = digests.scopeOf({ key, method, path, idempotencyKey })
  const { claim, at, durable, release } = await ledger.lookUpClaim(scope)
  if (claim === undefined) {
    return { kind: 'first', claim: { scope, fingerprint, expiresAt: at + keptMs }, release }
  }
  const sameBody = claim.fingerprint === fingerprint
  const running = sameBody && call.attaches && claim.state === 'running' ? live.get(scope) : undefined
  if (running === undefined && (!sameBody || claim.state !== 'kept'))
    return { kind: 'refused', problem: claimProblem({ claim, sameBody }), release }
  // Send nothing before the claim is durable.
  if ((await durable) === 'lost') return { kind: 'refused', problem: ledgerUnavailable(), release }

  const answer = running?.follow()
  // It has just ended, or has many readers: the next look finds its answer.
  if (running !== undefined && answer === undefined)
    return { kind: 'refused', problem: claimProblem({ claim, sameBody }), release }
  const leave = () => {
    answer?.leave()
    release()
  }
  // A replay costs nothing, and counts as one request of its key and account, without a model.
  const counted = before ?? (await ledger.takeRequest(limitsOfCaller(limits, caller).all))
  const headers = limitHeaders(counted.statuses)
  if (counted.kind === 'refused')
    return { kind: 'refused', problem: rateLimitProblem(counted.refusal), headers, release: leave }
  const { requestId } = claim
  if (answer !== undefined) return { kind: 'live', original: requestId, answer, headers, release: leave }
  const budget = services.budget.of(caller.account)
  let taken = 0
  const releaseAll = () => {
    budget.give(taken)
    release()
  }
  const refusal = (problem: Problem) => ({ kind: 'refused', problem, headers, release: releaseAll }) as const
  try {
    const answer = await findKept(services, requestId, caller.accountId)
    if (answer === undefined) return refusal(notReplayableProblem(requestId))
    if (!budget.take(answer.rawBytes)) {
      const message = 'This server is overloaded: it is sending too many stored answers at the moment.'
      return refusal(retryableProblem('server_is_overloaded', message, { first: FREE_RETRY, retryAfterSeconds: 1 }))
    }
    taken = answer.rawBytes
    const body = await answer.read()
    if (body === undefined) return refusal(notReplayableProblem(requestId))
    const { status, contentType } = answer
    return { kind: 'kept', original: requestId, status, contentType, body, headers, release: releaseAll }
  } catch (error) {
    // The answer exists and may be readable in a moment: a final problem would be wrong.
    const message = 'The answer to this Idempotency-Key is stored but cannot be read at the moment.'
    const problem = retryableProblem('ledger_unavailable', message, { first: FREE_RETRY, retryAfterSeconds: 2 })
    return { ...refusal(problem), error }
  }
}

const FREE_RETRY = 'Nothing was charged for this retry'

/** The stream of a stored response is kept with it, and nowhere else. */
async function findKept({ answers, responses }: IdempotencyServices, requestId: RequestId, account: AccountId) {
  const answer = await answers.find(requestId, account)
  if (answer !== undefined) return answer
  const stream = await responses.sent(account, requestId)
  return stream && { status: 200, contentType: CONTENT_TYPES.stream, rawBytes: stream.rawBytes, read: stream.read }
}

type IdempotencyKeyOutcome =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'invalid'; readonly problem: Problem }

const KEY = /^[\x21-\x7e]{1,255}$/
/** A structured-field string: in quotes, with a backslash before a quote and before a backslash. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/

/** The header `Idempotency-Key`, bare or in quotes: both are the same key. */
export function readIdempotencyKey(header: string | string[]): IdempotencyKeyOutcome {
  const text = String(header)
  const key = text.startsWith('"') ? QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1') : text
  return key !== undefined && KEY.test(key) ? { kind: 'key', key } : INVALID
}

const INVALID: IdempotencyKeyOutcome = {
  kind: 'invalid',
  problem: problem(
    'idempotency_key_invalid',
    'The Idempotency-Key is not 1 to 255 visible ASCII characters, bare or in double quotes. Send one such as a UUID, or leave the header out.',
    { param: 'Idempotency-Key' },
  ),
}

/** What an idempotency key belongs to: with another key, method or path it is another one. */
interface KeyedRequest {
  /** The row of an API key, or the id of an admin key. */
  readonly key: KeyRow | string
  readonly method: string
  readonly path: string
  readonly idempotencyKey: string
}

/** What the ledger stores instead of an idempotency key and its body. */
interface RequestDigests {
  scopeOf(request: KeyedRequest): string
  /** Of the body's bytes after decompression. */
  fingerprintOf(body: Buffer): Promise<string>
}

/** Some milliseconds without a pause. */
const SLICE_BYTES = 2 * 1024 * 1024

/** Keyed by the key ring: the database reveals neither a key, nor whether a body was sent. */
export function createRequestDigests(secret: Uint8Array): RequestDigests {
  const scopeKey = deriveKey(secret, 'idempotency-scope')
  const fingerprintKey = deriveKey(secret, 'idempotency-fingerprint')
  return {
    scopeOf: ({ key, method, path, idempotencyKey }) =>
      createHmac('sha256', scopeKey).update(`${key}\n${method}\n${path}\n${idempotencyKey}`).digest('base64url'),
    async fingerprintOf(body) {
      const hmac = createHmac('sha256', fingerprintKey)
      for (let at = 0; at < body.length; at += SLICE_BYTES) {
        if (at > 0) await immediate()
        hmac.update(body.subarray(at, at + SLICE_BYTES))
      }
      return hmac.digest('base64url')
    },
  }
}
