import { callerProblem } from '../auth/callers.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { visibleModels } from '../catalog/resolve-model.ts'
import type { AdmissionRefusal, Ledger } from '../ledger/ledger.ts'
import type { Claim } from '../ledger/state/state.ts'
import type { LimitRefusal } from '../ledger/state/turn-limits.ts'
import type { MoneyRefusal } from '../ledger/state/turns.ts'
import { wholeSeconds } from '../lib/clock.ts'
import { assertNever } from '../lib/types.ts'
import { type ConfiguredLimits, limitsOfCaller } from '../limits/limits.ts'
import type { Allowance } from '../model/allowance.ts'
import type { AppliedLimit, Caller, LimitScope } from '../model/caller.ts'
import type { RequestId } from '../model/ids.ts'
import { formatUsd, inUsd } from '../model/money.ts'
import { isFree } from '../model/price.ts'
import { type Problem, problem, retryableProblem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'

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
      return retryableProblem(
        'ledger_unavailable',
        'The plan of this account was changed while this request was on its way.',
        { retryAfterSeconds: 1 },
      )
    case 'rights-changed':
      return retryableProblem(
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
  retryableProblem('rate_limit_exceeded', `${sentenceOf(limit)}.`, {
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

type OfAllowance = Extract<MoneyRefusal, { readonly resetsAt: number }>

/** Too little money, in words that name what is short, by how much, and what helps: paying, asking for less, or waiting. */
function moneyProblem(refusal: MoneyRefusal, request: TurnRequest): Problem {
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
      return retryableProblem(
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

function smaller({ tokensCovered }: MoneyRefusal, request: TurnRequest, retryRule: string): string {
  return tokensCovered === undefined || tokensCovered < 1
    ? `The input alone is more than what is left. ${retryRule}.`
    : `${retryRule}, or set ${request.outputCapParam} to ${tokensCovered} or less.`
}

/** What a request is told whose idempotency key another one has taken, long ago or in the moment of admission. */
export function claimProblem({ claim, sameBody }: { readonly claim: Claim; readonly sameBody: boolean }): Problem {
  if (!sameBody) return keyReusedProblem(claim)
  switch (claim.state) {
    case 'running':
      return inProgressProblem(claim.requestId)
    case 'kept':
      return endedMeanwhileProblem(claim.requestId)
    case 'not-kept':
      return notReplayableProblem(claim.requestId)
  }
}

const inProgressProblem = (requestId: RequestId): Problem =>
  retryableProblem('idempotency_in_progress', `The request ${requestId} with this Idempotency-Key is still running.`, {
    first: 'Its answer is given to whoever asks again with the same key',
    retryAfterSeconds: 2,
  })

/** Between the look at its key and its admission the other one has come and gone. */
const endedMeanwhileProblem = (requestId: RequestId): Problem =>
  retryableProblem(
    'idempotency_in_progress',
    `The request ${requestId} with this Idempotency-Key has ended just now.`,
    {
      first: 'Its answer is given to whoever asks again with the same key',
      retryAfterSeconds: 1,
    },
  )

export const notReplayableProblem = (requestId: RequestId): Problem =>
  problem(
    'idempotency_not_replayable',
    `The request ${requestId} with this Idempotency-Key was charged, and its answer is not kept. GET /v1/requests/${requestId} tells what became of it; send a new request only with a new key.`,
  )

const keyReusedProblem = (claim: Claim): Problem =>
  problem(
    'idempotency_key_reused',
    `This Idempotency-Key came with another body in the request ${claim.requestId}. A key belongs to one request: send a new one with this body.`,
  )

interface EarlyRefusalServices {
  readonly ledger: Pick<Ledger, 'available' | 'limitRefusal' | 'accountStatus'>
  readonly catalog: Catalog
  readonly limits: ConfiguredLimits
}

/**
 * What can be refused before the body is read, which spares a client from sending megabytes first: an empty wallet, unless the
 * key may call something that costs nothing, and a limit of its key or account on how many requests. Nothing is taken here. What
 * a turn takes of tokens, and of a model's limits, is known when it has been read. Where no waiting helps, that is what is said.
 */
export async function earlyRefusal(deps: EarlyRefusalServices, caller: Caller): Promise<Problem | undefined> {
  if (!deps.ledger.available) return undefined
  if (caller.kind === 'wallet' && (await isEmpty(deps, caller)) && !mayCallSomethingFree(deps.catalog, caller)) {
    return problem(
      'insufficient_balance',
      'The wallet is empty. Add funds to the account, then send the request again.',
    )
  }
  // Without a plan it is refused by that, which admission says.
  if (caller.kind === 'builder' && caller.plan === undefined) return undefined
  const limits = limitsOfCaller(deps.limits, caller).filter(({ kind }) => kind !== 'tokens')
  const limited = deps.ledger.limitRefusal(limits)
  return limited && rateProblem(limited)
}

async function isEmpty({ ledger }: EarlyRefusalServices, { account }: Caller): Promise<boolean> {
  const { balance } = await ledger.accountStatus(account)
  return balance <= 0n
}

const mayCallSomethingFree = (catalog: Catalog, caller: Caller): boolean =>
  visibleModels(catalog, caller).some((entry) => entry.model.price !== undefined && isFree(entry.model.price))

/** What is said wherever a turn meets books that cannot be written. */
export const ledgerUnavailable = (): Problem =>
  retryableProblem('ledger_unavailable', 'The ledger cannot record requests at the moment.', { retryAfterSeconds: 2 })
