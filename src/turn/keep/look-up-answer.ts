import type { Claim } from '../../books/books.ts'
import type { ClaimRequest } from '../../books/claims.ts'
import type { KeptAnswers } from '../../content/kept-answers.ts'
import type { StoredResponses } from '../../content/stored-responses.ts'
import type { RequestDigests } from '../../idempotency/request-digests.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { ByteBudget } from '../../lib/byte-budget.ts'
import { limitHeaders } from '../../limits/limit-headers.ts'
import { type ConfiguredLimits, limitsOfCaller } from '../../limits/limits-for-turn.ts'
import type { Caller } from '../../model/caller.ts'
import type { AccountId, RequestId } from '../../model/ids.ts'
import { type Problem, passingProblem } from '../../model/problem.ts'
import { claimProblem, notReplayableProblem } from '../admit/claim-problem.ts'
import { rateProblem } from '../admit/refusals.ts'
import { ledgerUnavailable } from '../ledger-unavailable.ts'
import { CONTENT_TYPES } from './keeping.ts'

/** A request that came with an idempotency key, once its body is there. */
export interface KeyedCall {
  readonly caller: Caller
  readonly method: string
  readonly path: string
  readonly idempotencyKey: string
  readonly body: Buffer
}

export interface OnceDeps {
  readonly ledger: Ledger
  readonly answers: Pick<KeptAnswers, 'find'>
  readonly responses: Pick<StoredResponses, 'sent'>
  readonly digests: RequestDigests
  readonly limits: ConfiguredLimits
  readonly keptMs: number
  /** Memory for answers on their way out of the file, and into it. */
  readonly budget: ByteBudget
}

/** What a key says of a request. Whoever asked calls `leave` once, when the request is over. */
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
  ) & { leave(): void }

/** Before anything of the body is understood: whether this request is the first with its key, or what the first has left. */
export async function lookUpAnswer(deps: OnceDeps, call: KeyedCall): Promise<LookedUpAnswer> {
  const fingerprint = await deps.digests.fingerprintOf(call.body)
  // Nothing waits between this look and the question: what is asked while books are read back would be asked of nobody.
  if (!deps.ledger.available) return { kind: 'refused', problem: ledgerUnavailable(), leave() {} }
  const { caller, method, path, idempotencyKey } = call
  const scope = deps.digests.scopeOf({ key: caller.key, method, path, idempotencyKey })
  const { claim, at, durable, leave } = await deps.ledger.lookUpClaim(scope)
  if (claim === undefined) {
    return { kind: 'first', claim: { scope, fingerprint, expiresAt: at + deps.keptMs }, leave }
  }
  const sameBody = claim.fingerprint === fingerprint
  if (!sameBody || claim.state !== 'kept') return { kind: 'refused', problem: claimProblem({ claim, sameBody }), leave }
  // What memory has decided and the file does not know yet is no answer to tell.
  if ((await durable) === 'lost') return { kind: 'refused', problem: ledgerUnavailable(), leave }
  return await giveAgain(deps, call, claim, leave)
}

/** It costs nothing, and counts as one request of its key and account: no model is asked, and none is known here. */
async function giveAgain(
  deps: OnceDeps,
  { caller }: KeyedCall,
  { requestId }: Claim,
  leave: () => void,
): Promise<LookedUpAnswer> {
  const counted = await deps.ledger.takeRequest(limitsOfCaller(deps.limits, caller))
  const headers = limitHeaders(counted.standings)
  if (counted.kind === 'refused') return { kind: 'refused', problem: rateProblem(counted.refusal), headers, leave }
  let taken = 0
  const leaveBoth = () => {
    deps.budget.give(taken)
    leave()
  }
  const refused = (said: Problem) => ({ kind: 'refused', problem: said, headers, leave: leaveBoth }) as const
  try {
    const answer = await findKept(deps, requestId, caller.accountId)
    if (answer === undefined) return refused(notReplayableProblem(requestId))
    if (!deps.budget.take(answer.rawBytes)) return refused(tooMany())
    taken = answer.rawBytes
    const body = await answer.read()
    if (body === undefined) return refused(notReplayableProblem(requestId))
    const { status, contentType } = answer
    return { kind: 'kept', original: requestId, status, contentType, body, headers, leave: leaveBoth }
  } catch (error) {
    return { ...refused(unreadable()), error }
  }
}

/** A stream whose response is stored is kept there, and nowhere else. */
async function findKept({ answers, responses }: OnceDeps, requestId: RequestId, account: AccountId) {
  const answer = await answers.find(requestId, account)
  if (answer !== undefined) return answer
  const stream = await responses.sent(account, requestId)
  return stream && { status: 200, contentType: CONTENT_TYPES.stream, rawBytes: stream.rawBytes, read: stream.read }
}

/** It is there, and may be readable in a moment: to call it gone would be a lie that the client believes. */
const unreadable = (): Problem =>
  passingProblem('ledger_unavailable', 'The answer to this Idempotency-Key is kept and cannot be read at the moment.', {
    first: 'Nothing was charged for asking again',
    retryAfterSeconds: 2,
  })

const tooMany = (): Problem =>
  passingProblem('server_is_overloaded', 'Too many kept answers are being given at this moment.', {
    first: 'Nothing was charged for asking again',
    retryAfterSeconds: 1,
  })
