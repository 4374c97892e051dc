import type { LimitRefusal } from '../../books/turn-limits.ts'
import { callerProblem } from '../../keys/caller-problem.ts'
import type { AdmissionRefusal } from '../../ledger/ledger.ts'
import { assertNever } from '../../lib/assert-never.ts'
import { wholeSeconds } from '../../lib/whole-seconds.ts'
import type { AppliedLimit, LimitScope } from '../../model/limit.ts'
import { type Problem, passingProblem, problem } from '../../model/problem.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { ledgerUnavailable } from '../ledger-unavailable.ts'
import { claimProblem } from './claim-problem.ts'
import { moneyProblem } from './money-problem.ts'

/** Somebody has to look first. */
const FROZEN_RETRY_SECONDS = 60

const LIMIT_WORDS = {
  requests: 'requests per minute',
  tokens: 'tokens per minute',
  concurrent: 'requests at a time',
} as const

const ADVICE = {
  requests: 'Send requests less often',
  tokens: 'Send fewer tokens a minute',
  concurrent: 'Reduce simultaneous requests',
} as const

/** Whose a limit is: how the configuration spells it, how a sentence says it, and whether its holder can keep it alone. */
const SCOPES = {
  key: { spelled: 'key', holder: 'This key', terms: '', isOwn: true },
  account: { spelled: 'account', holder: 'This account', terms: '', isOwn: true },
  'account-model': { spelled: 'account_model', holder: 'This account', terms: ' with this model', isOwn: true },
  model: { spelled: 'model', holder: 'This model', terms: ', everybody together', isOwn: false },
} as const satisfies Record<LimitScope, object>

/** Why admission said no, in words that tell what to do. A rate limit is never worded like an empty wallet. */
export function refusalProblem(refusal: AdmissionRefusal, request: TurnRequest): Problem {
  switch (refusal.kind) {
    case 'limited':
    case 'limit-too-small':
      return rateProblem(refusal, request.outputCapParam)
    case 'short':
    case 'in-flight':
    case 'exceeds-allowance':
    case 'exhausted':
    case 'cap-reached':
      return moneyProblem(refusal, request)
    case 'claimed':
      return claimProblem(refusal)
    case 'frozen':
      return problem(
        'ledger_unavailable',
        'The books of this account did not add up when they were last checked, and nothing moves on it until its operator has looked. Nothing was charged.',
        { retryAfterSeconds: FROZEN_RETRY_SECONDS },
      )
    case 'no-subscription':
      return problem(
        'subscription_inactive',
        'This Builder key has no active subscription to draw on. Ask the operator for a plan, or use a Wallet key.',
      )
    case 'plan-changed':
      return passingProblem(
        'ledger_unavailable',
        'The plan of this account was changed while this request was on its way.',
        { retryAfterSeconds: 1 },
      )
    case 'rights-changed':
      return passingProblem(
        'ledger_unavailable',
        'Keys or accounts were changed again and again while this request was on its way.',
        { retryAfterSeconds: 1 },
      )
    case 'account-suspended':
    case 'account-closed':
      return callerProblem(refusal.kind)
    case 'unavailable':
      return ledgerUnavailable()
    default:
      return assertNever(refusal)
  }
}

/** `capParam` names what would make the request smaller. */
export function rateProblem(refusal: LimitRefusal, capParam = 'output limit'): Problem {
  if (refusal.kind === 'limited') return limitProblem(refusal.limit, refusal.retryAfterMs)
  return problem(
    'request_too_large_for_limit',
    `This request alone takes about ${refusal.limit.cost} ${nameOf(refusal.limit)}. ${sentenceOf(refusal.limit)}, and at most ${refusal.limit.burst} at once. Send less input or a smaller ${capParam}.`,
    { details: limitDetails(refusal.limit) },
  )
}

const limitProblem = (limit: AppliedLimit, retryAfterMs: number): Problem =>
  passingProblem('rate_limit_exceeded', `${sentenceOf(limit)}.`, {
    first: SCOPES[limit.scope].isOwn ? ADVICE[limit.kind] : 'Wait or use another model',
    retryAfterSeconds: wholeSeconds(retryAfterMs),
    // SDKs read this first, and come back twice at most: told the next slot of a fast rate, all but one of those who wait
    // would come in vain, and then again.
    headers: { 'retry-after-ms': String(Math.max(Math.ceil(retryAfterMs), 1000)) },
    details: limitDetails(limit),
  })

function sentenceOf({ scope, kind, limit }: AppliedLimit): string {
  const { holder, terms } = SCOPES[scope]
  return `${holder} is limited to ${limit} ${LIMIT_WORDS[kind]}${terms}`
}

const nameOf = (limit: AppliedLimit) => (limit.kind === 'tokens' ? 'tokens' : 'requests')
const limitDetails = ({ scope, kind, limit }: AppliedLimit) => ({
  limit: { scope: SCOPES[scope].spelled, kind, value: limit },
})
