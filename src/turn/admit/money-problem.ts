import type { MoneyRefusal } from '../../books/draws.ts'
import { wholeSeconds } from '../../lib/whole-seconds.ts'
import type { Allowance } from '../../model/allowance.ts'
import { formatUsd, inUsd } from '../../model/money.ts'
import { type Problem, passingProblem, problem } from '../../model/problem.ts'
import type { TurnRequest } from '../../model/turn.ts'

type OfAllowance = Extract<MoneyRefusal, { readonly resetsAt: number }>

/** Too little money, in words that name what is short, by how much, and what helps: paying, asking for less, or waiting. */
export function moneyProblem(refusal: MoneyRefusal, request: TurnRequest): Problem {
  const needed = inUsd(refusal.needed)
  const free = inUsd(refusal.available)
  const amounts = { available: formatUsd(refusal.available), needed: formatUsd(refusal.needed) }
  switch (refusal.kind) {
    case 'short': {
      const need = `The wallet has ${free} available; this request may cost up to ${needed}.`
      return problem('insufficient_balance', `${need} ${smaller(refusal, request, 'Add funds')}`, {
        details: amounts,
      })
    }
    case 'in-flight':
      return passingProblem(
        'balance_in_flight',
        `${holderOf(refusal.of)} has ${free} free, and this request may cost up to ${needed}.`,
        {
          first: 'Running requests hold the rest',
          retryAfterSeconds: 1,
          details: { ...(refusal.of && { window: refusal.of.name }), ...amounts },
        },
      )
    case 'exceeds-allowance':
      return problem(
        'request_exceeds_allowance',
        `This request may use up to ${needed} of the allowance; a whole ${windowOf(refusal)} of the plan has ${inUsd(refusal.limit)}. ${smaller(refusal, request, 'Ask the operator for a larger plan')}`,
        { details: detailsOf(refusal) },
      )
    case 'cap-reached':
      return problem(
        'key_spend_cap_reached',
        `This key may spend ${inUsd(refusal.limit)} a ${refusal.allowance.name}; ${inUsd(refusal.used)} are spent, and this request may cost up to ${needed}. It begins anew at ${timeOf(refusal)}. ${smaller(refusal, request, 'Raise its cap')}`,
        { details: detailsOf(refusal) },
      )
    case 'exhausted':
      return exhaustedProblem(refusal)
  }
}

function exhaustedProblem(refusal: OfAllowance): Problem {
  const { limit, used } = refusal
  const message = `The allowance of the ${windowOf(refusal)} is used up: ${formatUsd(used)} of ${inUsd(limit)} are used, and this request may use up to ${inUsd(refusal.needed)}. It begins anew at ${timeOf(refusal)}.`
  const retryAfterSeconds = wholeSeconds(refusal.resetsInMs)
  return problem('allowance_exhausted', message, { retryAfterSeconds, details: detailsOf(refusal) })
}

const holderOf = (of: Allowance | undefined): string => {
  if (of === undefined) return 'The wallet'
  return of.unit === 'cap' ? `The spend cap of this key (${of.name})` : `The allowance (${of.name})`
}

const windowOf = ({ allowance }: OfAllowance): string => `${allowance.name} window`

const timeOf = ({ resetsAt }: OfAllowance): string => new Date(resetsAt).toISOString()

/** For programs: the same facts as in the words. */
const detailsOf = ({ allowance, limit, used, resetsAt }: OfAllowance) => ({
  window: allowance.name,
  limit: formatUsd(limit),
  used: formatUsd(used),
  resets_at: Math.ceil(resetsAt / 1000),
})

function smaller({ tokensCovered }: MoneyRefusal, request: TurnRequest, cure: string): string {
  return tokensCovered === undefined || tokensCovered < 1
    ? `The input alone is more than what is left. ${cure}.`
    : `${cure}, or set ${request.outputCapParam} to ${tokensCovered} or less.`
}
