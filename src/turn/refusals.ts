import type { AdmissionRefusal } from '../ledger/ledger.ts'
import { assertNever } from '../lib/assert-never.ts'
import type { AppliedLimit } from '../model/limit.ts'
import { formatUsd } from '../model/money.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'

const LIMIT_WORDS = {
  requests: 'requests per minute',
  tokens: 'tokens per minute',
  concurrent: 'requests at a time',
} as const

/** Why admission said no, in words that tell what to do. A rate limit is never worded like an empty wallet. */
export function refusalProblem(refusal: AdmissionRefusal, turn: TurnRequest): Problem {
  switch (refusal.kind) {
    case 'limited':
      return limitProblem(refusal.limit, refusal.retryAfterMs)
    case 'limit-too-small':
      return problem(
        'request_too_large_for_limit',
        `This request alone takes about ${refusal.limit.cost} ${nameOf(refusal.limit)}; the limit lets at most ${refusal.limit.burst} through at once. Send less input or a smaller ${turn.outputCapParam}.`,
        { details: limitDetails(refusal.limit) },
      )
    case 'short':
      return balanceProblem(refusal, turn)
    case 'in-flight':
      return problem(
        'balance_in_flight',
        `The wallet has ${formatUsd(refusal.available)} USD free and this request may cost up to ${formatUsd(refusal.needed)} USD: running requests hold the rest; try again in 1s.`,
        { retryAfterSeconds: 1 },
      )
    case 'no-subscription':
      return problem(
        'subscription_inactive',
        'This Builder key has no active subscription to draw on. Ask the operator for a plan, or use a Wallet key.',
      )
    case 'unavailable':
      return ledgerUnavailable()
    default:
      return assertNever(refusal)
  }
}

export const ledgerUnavailable = (): Problem =>
  problem(
    'ledger_unavailable',
    'The ledger cannot record requests at the moment. Nothing was charged; try again in 2s.',
    { retryAfterSeconds: 2 },
  )

function limitProblem(limit: AppliedLimit, retryAfterMs: number): Problem {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  return problem(
    'rate_limit_exceeded',
    `This ${limit.scope} is limited to ${limit.limit} ${LIMIT_WORDS[limit.kind]}. Reduce simultaneous requests; try again in ${seconds}s.`,
    { retryAfterSeconds: seconds, details: limitDetails(limit) },
  )
}

const nameOf = (limit: AppliedLimit) => (limit.kind === 'tokens' ? 'tokens' : 'requests')
const limitDetails = (limit: AppliedLimit) => ({ limit: { scope: limit.scope, kind: limit.kind, value: limit.limit } })

function balanceProblem(refusal: Extract<AdmissionRefusal, { kind: 'short' }>, turn: TurnRequest): Problem {
  const { available, needed, tokensCovered } = refusal
  const need = `The wallet has ${formatUsd(available)} USD available; this request may cost up to ${formatUsd(needed)} USD.`
  const cure =
    tokensCovered === undefined || tokensCovered < 1
      ? 'The input alone is more than that. Add funds.'
      : `Add funds, or set ${turn.outputCapParam} to ${tokensCovered} or less.`
  return problem('insufficient_balance', `${need} ${cure}`)
}
