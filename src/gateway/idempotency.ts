import { createHmac } from 'node:crypto'
import { setImmediate as immediate } from 'node:timers/promises'
import type { KeptAnswers } from '../db/content/kept-answers.ts'
import type { StoredResponses } from '../db/content/stored-responses.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Claim } from '../ledger/state/state.ts'
import type { ClaimRequest } from '../ledger/state/turns.ts'
import type { ByteBudget } from '../lib/bytes.ts'
import { deriveKey } from '../lib/crypto.ts'
import { type ConfiguredLimits, limitHeaders, limitsOfCaller } from '../limits/limits.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountId, KeyRow, RequestId } from '../model/ids.ts'
import { type Problem, problem, retryableProblem } from '../model/problem.ts'
import { CONTENT_TYPES } from './keep-answer.ts'
import { claimProblem, ledgerUnavailable, notReplayableProblem, rateProblem } from './refusals.ts'

/** A request that came with an idempotency key, once its body is there. */
export interface KeyedCall {
  readonly caller: Caller
  readonly method: string
  readonly path: string
  readonly idempotencyKey: string
  readonly body: Buffer
}

export interface IdempotencyServices {
  readonly ledger: Ledger
  readonly answers: Pick<KeptAnswers, 'find'>
  readonly responses: Pick<StoredResponses, 'sent'>
  readonly digests: RequestDigests
  readonly limits: ConfiguredLimits
  readonly keptMs: number
  /** Memory for answers on their way out of the file, and into it. */
  readonly budget: ByteBudget
}

/** What a key says of a request. Whoever asked calls `release` once, when the request is over. */
export type LookedUpAnswer =
  /** Nobody has the key: it is claimed when the turn is admitted. */
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
    | {
        readonly kind: 'refused'
        readonly problem: Problem
        readonly headers?: Readonly<Record<string, string>>
        /** For the log, where it was our own fault. */
        readonly error?: unknown
      }
  ) & { release(): void }

/** Before anything of the body is understood: whether this request is the first with its key, or what the first has left. */
export async function lookUpAnswer(deps: IdempotencyServices, call: KeyedCall): Promise<LookedUpAnswer> {
  const fingerprint = await deps.digests.fingerprintOf(call.body)
  // Nothing waits between this look and the question: what is asked while books are read back would be asked of nobody.
  if (!deps.ledger.available) return { kind: 'refused', problem: ledgerUnavailable(), release() {} }
  const { caller, method, path, idempotencyKey } = call
  const scope = deps.digests.scopeOf({ key: caller.key, method, path, idempotencyKey })
  const { claim, at, durable, release } = await deps.ledger.lookUpClaim(scope)
  if (claim === undefined) {
    return { kind: 'first', claim: { scope, fingerprint, expiresAt: at + deps.keptMs }, release }
  }
  const sameBody = claim.fingerprint === fingerprint
  if (!sameBody || claim.state !== 'kept')
    return { kind: 'refused', problem: claimProblem({ claim, sameBody }), release }
  // What memory has decided and the file does not know yet is no answer to tell.
  if ((await durable) === 'lost') return { kind: 'refused', problem: ledgerUnavailable(), release }
  return await giveAgain(deps, call, claim, release)
}

/** It costs nothing, and counts as one request of its key and account: no model is asked, and none is known here. */
async function giveAgain(
  deps: IdempotencyServices,
  { caller }: KeyedCall,
  { requestId }: Claim,
  release: () => void,
): Promise<LookedUpAnswer> {
  const counted = await deps.ledger.takeRequest(limitsOfCaller(deps.limits, caller))
  const headers = limitHeaders(counted.statuses)
  if (counted.kind === 'refused') return { kind: 'refused', problem: rateProblem(counted.refusal), headers, release }
  let taken = 0
  const leaveBoth = () => {
    deps.budget.give(taken)
    release()
  }
  const refused = (said: Problem) => ({ kind: 'refused', problem: said, headers, release: leaveBoth }) as const
  try {
    const answer = await findKept(deps, requestId, caller.accountId)
    if (answer === undefined) return refused(notReplayableProblem(requestId))
    if (!deps.budget.take(answer.rawBytes)) return refused(tooMany())
    taken = answer.rawBytes
    const body = await answer.read()
    if (body === undefined) return refused(notReplayableProblem(requestId))
    const { status, contentType } = answer
    return { kind: 'kept', original: requestId, status, contentType, body, headers, release: leaveBoth }
  } catch (error) {
    return { ...refused(unreadable()), error }
  }
}

/** A stream whose response is stored is kept there, and nowhere else. */
async function findKept({ answers, responses }: IdempotencyServices, requestId: RequestId, account: AccountId) {
  const answer = await answers.find(requestId, account)
  if (answer !== undefined) return answer
  const stream = await responses.sent(account, requestId)
  return stream && { status: 200, contentType: CONTENT_TYPES.stream, rawBytes: stream.rawBytes, read: stream.read }
}

/** It is there, and may be readable in a moment: to call it gone would be a lie that the client believes. */
const unreadable = (): Problem =>
  retryableProblem(
    'ledger_unavailable',
    'The answer to this Idempotency-Key is kept and cannot be read at the moment.',
    {
      first: 'Nothing was charged for asking again',
      retryAfterSeconds: 2,
    },
  )

const tooMany = (): Problem =>
  retryableProblem('server_is_overloaded', 'Too many kept answers are being given at this moment.', {
    first: 'Nothing was charged for asking again',
    retryAfterSeconds: 1,
  })

type IdempotencyKeyOutcome =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'invalid'; readonly problem: Problem }

const KEY = /^[\x21-\x7e]{1,255}$/
/** A structured-field string: in quotes, with a backslash before a quote and before a backslash. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/

/** The header `Idempotency-Key`, bare or in quotes: both spell the same key. */
export function readIdempotencyKey(header: string | string[] | undefined): IdempotencyKeyOutcome {
  if (header === undefined) return { kind: 'none' }
  const text = String(header)
  const key = text.startsWith('"') ? QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1') : text
  return key !== undefined && KEY.test(key) ? { kind: 'key', key } : INVALID
}

const INVALID: IdempotencyKeyOutcome = {
  kind: 'invalid',
  problem: problem(
    'idempotency_key_invalid',
    'The Idempotency-Key is not 1 to 255 visible ASCII characters, bare or in double quotes. Send one such as a UUID, or release the header out.',
    { param: 'Idempotency-Key' },
  ),
}

/** Whose request a key names: another API key, method or path is another request. */
interface KeyedRequest {
  readonly key: KeyRow
  readonly method: string
  readonly path: string
  readonly idempotencyKey: string
}

/** What stands in the books instead of an idempotency key and of the body that it came with. */
interface RequestDigests {
  scopeOf(request: KeyedRequest): string
  /** Of the body's bytes after decompression. */
  fingerprintOf(body: Buffer): Promise<string>
}

/** Digested without a pause: some milliseconds. */
const SLICE_BYTES = 2 * 1024 * 1024

/** Keyed by the ring: who reads the database can neither find a key by trying, nor tell whether a body was sent. */
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
