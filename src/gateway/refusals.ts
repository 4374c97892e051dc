import { callerProblem } from '../auth/callers.ts'
import type { AdmissionRefusal } from '../ledger/ledger.ts'
import type { Claim } from '../ledger/state/state.ts'
import type { LimitRefusal } from '../ledger/state/turn-limits.ts'
import type { MoneyRefusal, QuotaShortage } from '../ledger/state/turns.ts'
import { wholeSeconds } from '../lib/clock.ts'
import { assertNever } from '../lib/types.ts'
import { type Allowance, EVER_MS } from '../model/allowance.ts'
import type { AppliedLimit, LimitScope } from '../model/caller.ts'
import type { RequestId } from '../model/ids.ts'
import { formatUsd, inUsd } from '../model/money.ts'
import { type Problem, problem, retryableProblem } from '../model/problem.ts'
import { isConversationRun, type Run } from '../model/run.ts'
import type { TurnRequest } from '../model/turn.ts'

/** The operator has to look first. */
const FROZEN_RETRY_SECONDS = 60

const LIMIT_WORDS = {
  requests: ['request', 'per minute'],
  tokens: ['token', 'per minute'],
  concurrent: ['request', 'at a time'],
} as const

const ADVICE = {
  requests: 'Send requests less often',
  tokens: 'Send fewer tokens a minute',
  concurrent: 'Reduce simultaneous requests',
} as const

/** How the configuration spells the scope of a limit, how a message names it, and whether the client can keep it alone. */
const SCOPES = {
  key: { spelled: 'key', holder: 'This key', terms: '', isOwn: true },
  account: { spelled: 'account', holder: 'This account', terms: '', isOwn: true },
  'account-model': { spelled: 'account_model', holder: 'This account', terms: ' with this model', isOwn: true },
  model: { spelled: 'model', holder: 'This model', terms: ' across all accounts', isOwn: false },
} as const satisfies Record<LimitScope, object>

/** The problem of a refused admission. A rate limit is never worded like an empty wallet. */
export function refusalProblem(refusal: AdmissionRefusal, request: TurnRequest, run?: Pick<Run, 'id'>): Problem {
  switch (refusal.kind) {
    case 'limited':
    case 'limit-too-small':
      return rateLimitProblem(refusal, request.outputCapParam)
    case 'short':
    case 'in-flight':
    case 'exceeds-allowance':
    case 'exhausted':
    case 'cap-reached':
      return moneyProblem(refusal, request, run)
    case 'quota-reached':
    case 'quota-in-flight':
      return quotaProblem(refusal, request, run)
    case 'claimed':
      return claimProblem(refusal)
    case 'frozen':
      return problem(
        'ledger_unavailable',
        'The ledger of this account did not balance when it was last verified. The account is frozen until the operator fixes it. Nothing was charged.',
        { retryAfterSeconds: FROZEN_RETRY_SECONDS },
      )
    case 'no-subscription':
      return problem(
        'subscription_inactive',
        'This Builder key has no active subscription to draw on. Ask the operator for a plan, or use a Wallet key.',
      )
    case 'plan-changed':
      return retryableProblem('ledger_unavailable', 'The plan of this account changed during this request.', {
        retryAfterSeconds: 1,
      })
    case 'caller-changed':
      return retryableProblem('ledger_unavailable', 'Keys or accounts kept changing during this request.', {
        retryAfterSeconds: 1,
      })
    case 'account-suspended':
    case 'account-closed':
      return callerProblem(refusal.kind)
    case 'unavailable':
      return ledgerUnavailable()
    default:
      return assertNever(refusal)
  }
}

/** `capParam` names the field that would make the request smaller. */
export function rateLimitProblem(refusal: LimitRefusal, capParam = 'output limit'): Problem {
  if (refusal.kind === 'limited') {
    const { limit, retryAfterMs } = refusal
    return retryableProblem('rate_limit_exceeded', `${sentenceOf(limit)}.`, {
      first: SCOPES[limit.scope].isOwn ? ADVICE[limit.kind] : 'Wait or use another model',
      retryAfterSeconds: wholeSeconds(retryAfterMs),
      // SDKs read this first and retry twice at most: with the next slot of a high limit, all but one of the waiting requests
      // would fail again.
      headers: { 'retry-after-ms': String(Math.max(Math.ceil(retryAfterMs), 1000)) },
      details: limitDetails(limit),
    })
  }
  const { kind, cost, burst } = refusal.limit
  return problem(
    'request_too_large_for_limit',
    `This request alone takes about ${cost} ${kind === 'tokens' ? 'tokens' : 'requests'}. ${sentenceOf(refusal.limit)}, and at most ${burst} at once. Send less input or a smaller ${capParam}.`,
    { details: limitDetails(refusal.limit) },
  )
}

function sentenceOf({ scope, kind, limit }: AppliedLimit): string {
  const { holder, terms } = SCOPES[scope]
  const [unit, rate] = LIMIT_WORDS[kind]
  return `${holder} is limited to ${limit} ${unit}${limit === 1 ? '' : 's'} ${rate}${terms}`
}

const limitDetails = ({ scope, kind, limit }: AppliedLimit) => ({
  limit: { scope: SCOPES[scope].spelled, kind, value: limit },
})

type AllowanceRefusal = Extract<Exclude<MoneyRefusal, QuotaShortage>, { readonly resetsAt: number }>

/** Too little money: the message names what is short, by how much, and what helps. */
function moneyProblem(refusal: Exclude<MoneyRefusal, QuotaShortage>, request: TurnRequest, run: NamedRun): Problem {
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
    case 'exceeds-allowance': {
      const whole = `a whole ${refusal.allowance.name} window of the plan has ${inUsd(refusal.limit)}`
      return problem(
        'request_exceeds_allowance',
        `This request may use up to ${needed} of the allowance; ${whole}. ${smaller(refusal, request, 'Ask the operator for a larger plan')}`,
        { details: detailsOf(refusal) },
      )
    }
    case 'cap-reached': {
      const { allowance } = refusal
      const { who, code, advice } = holderWords(allowance, run)
      const spent = `${who} may spend ${inUsd(refusal.limit)} ${PER[allowance.name] ?? ''}; ${inUsd(refusal.used)} has been spent`
      return problem(
        code,
        `${spent}, and this request may cost up to ${needed}. The cap ${resetOf(refusal)} ${smaller(refusal, request, advice)}`,
        { details: detailsOf(refusal) },
      )
    }
    case 'exhausted': {
      const used = `${formatUsd(refusal.used)} of ${inUsd(refusal.limit)} has been used`
      return problem(
        'allowance_exhausted',
        `The allowance of the ${refusal.allowance.name} window does not cover this request: ${used}, and it may use up to ${needed}. The window ${resetOf(refusal)}`,
        { retryAfterSeconds: wholeSeconds(refusal.resetsInMs), details: detailsOf(refusal) },
      )
    }
  }
}

const holderOf = (of: Allowance | undefined): string => {
  if (of === undefined) return 'The wallet'
  return of.unit === 'cap'
    ? `The spend cap of ${HELD_BY[of.holder ?? 'key']} (${of.name})`
    : `The allowance (${of.name})`
}

const HELD_BY = {
  ...{ key: 'this key', person: 'the person this key belongs to', team: 'the team of this key', run: 'this run' },
} as const

/** Whose cap it is: what the message says, and what helps. */
const CAP_HOLDERS = {
  key: { who: 'This key', code: 'key_spend_cap_reached', advice: 'Raise its cap' },
  person: {
    who: 'The person this key belongs to',
    code: 'person_spend_cap_reached',
    advice: 'Ask an owner of the account for a higher cap',
  },
  team: {
    who: 'The team of this key',
    code: 'team_budget_reached',
    advice: 'Ask an owner of the account for a larger budget',
  },
  run: { who: 'This run', code: 'run_budget_exceeded', advice: 'Begin a new run' },
} as const

type NamedRun = Pick<Run, 'id'> | undefined

/** A client whose key gives each conversation a run has never heard of runs. */
const CONVERSATION = { ...CAP_HOLDERS.run, who: 'This conversation', advice: 'Begin a new conversation' } as const

const holderWords = ({ holder = 'key' }: Allowance, run: NamedRun) =>
  holder === 'run' && run !== undefined && isConversationRun(run.id) ? CONVERSATION : CAP_HOLDERS[holder]

const PER: Readonly<Record<string, string>> = {
  ...{ day: 'a day', week: 'a week', month: 'a month', quarter: 'a quarter', total: 'in total' },
  ...{ requests_day: 'requests a day', tokens_day: 'tokens a day', requests: 'requests', tokens: 'tokens' },
}

/** A cap on requests or tokens. */
function quotaProblem(
  { kind, allowance, limit, used, needed, tokensCovered = 0, resetsAt, resetsInMs }: QuotaShortage,
  request: TurnRequest,
  run: NamedRun,
): Problem {
  const { who, advice } = holderWords(allowance, run)
  const per = PER[allowance.name] ?? ''
  const details = {
    ...{ window: allowance.name, holder: allowance.holder ?? 'key' },
    ...{ limit: Number(limit), used: Number(used) },
    ...(!neverResets({ allowance, resetsAt }) && { resets_at: Math.ceil(resetsAt / 1000) }),
  }
  const quota = `${who} may use ${limit} ${per}`
  const fits = tokensCovered < 1 ? undefined : `Set ${request.outputCapParam} to ${tokensCovered} or less.`
  if (allowance.holder === 'run' && kind === 'quota-reached') {
    const what = `${quota}; ${used} have been used, and this request reserves ${needed}. ${advice}.`
    return problem('run_budget_exceeded', what, { details })
  }
  if (needed > limit) {
    const advice = fits ?? `Shorten the input, or set a smaller ${request.outputCapParam}.`
    return problem('request_exceeds_allowance', `${quota}, and this request reserves ${needed}. ${advice}`, { details })
  }
  if (kind === 'quota-in-flight') {
    return retryableProblem('quota_in_flight', `${quota}, and this request reserves ${needed}.`, {
      ...{ first: 'Running requests hold the rest', retryAfterSeconds: 1, details },
    })
  }
  const reset = `The quota resets at ${new Date(resetsAt).toISOString()}.`
  return problem(
    'quota_reached',
    `${quota}; ${used} have been used, and this request reserves ${needed}. ${fits === undefined ? reset : `${reset} ${fits}`}`,
    { retryAfterSeconds: wholeSeconds(resetsInMs), details },
  )
}

const neverResets = ({ resetsAt, allowance }: Pick<AllowanceRefusal, 'resetsAt' | 'allowance'>): boolean =>
  resetsAt === EVER_MS || allowance.holder === 'run'

const resetOf = (refusal: AllowanceRefusal): string =>
  neverResets(refusal) ? 'does not reset.' : `resets at ${new Date(refusal.resetsAt).toISOString()}.`

/** The same facts for programs. */
const detailsOf = ({ allowance, limit, used, resetsAt }: AllowanceRefusal) => ({
  window: allowance.name,
  ...(allowance.holder !== undefined && { holder: allowance.holder }),
  limit: formatUsd(limit),
  used: formatUsd(used),
  ...(!neverResets({ allowance, resetsAt }) && { resets_at: Math.ceil(resetsAt / 1000) }),
})

function smaller(
  { tokensCovered }: Exclude<MoneyRefusal, QuotaShortage>,
  request: TurnRequest,
  advice: string,
): string {
  return tokensCovered === undefined || tokensCovered < 1
    ? `The input alone may cost more than what is left. ${advice}.`
    : `${advice}, or set ${request.outputCapParam} to ${tokensCovered} or less.`
}

/** The problem of an idempotency key that another request has taken, long ago or just now. */
export function claimProblem({ claim, sameBody }: { readonly claim: Claim; readonly sameBody: boolean }): Problem {
  const { requestId } = claim
  if (!sameBody)
    return problem(
      'idempotency_key_reused',
      `The request ${requestId} used this Idempotency-Key with another body. Use a new key for this body.`,
    )
  if (claim.state === 'not-kept') return notReplayableProblem(requestId)
  // A kept answer ended between the look at its key and this admission.
  const [what, retryAfterSeconds] = claim.state === 'running' ? ['is still running', 2] : ['has just ended', 1]
  return retryableProblem('idempotency_in_progress', `The request ${requestId} with this Idempotency-Key ${what}.`, {
    first: 'A retry with the same key gets its answer',
    retryAfterSeconds,
  })
}

export const notReplayableProblem = (requestId: RequestId): Problem =>
  problem(
    'idempotency_not_replayable',
    `The request ${requestId} with this Idempotency-Key was charged, and its answer is not kept. GET /v1/requests/${requestId} shows its outcome; send a new request only with a new key.`,
  )

export const ledgerUnavailable = (): Problem =>
  retryableProblem('ledger_unavailable', 'The ledger cannot record requests at the moment.', { retryAfterSeconds: 2 })
