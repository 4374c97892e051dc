import { createLruMap } from '../lib/collections.ts'
import { networkOf } from '../lib/network.ts'
import { decideRateLimit, type RateLimit } from '../lib/rate-limit.ts'
import type { AppliedLimit, Caller, LimitKind, LimitScope, LimitStatus, RateLimits } from '../model/caller.ts'

/** The limits of the operator's configuration. A key's own limits replace those for keys. */
export interface ConfiguredLimits {
  readonly key: RateLimits
  readonly account: RateLimits
  /** One account with one model. */
  readonly accountModel: RateLimits
  /** All accounts together with one model. */
  readonly model: RateLimits
}

interface TurnSize {
  /** The id of the model itself: its efforts share their limits. */
  readonly model: string
  readonly tokens: number
}

/** Every limit that a turn has to pass, with what it takes from each. `ledger/state/turn-limits.ts` checks them at admission. */
export function limitsForTurn(
  configured: ConfiguredLimits,
  caller: Caller,
  { model, tokens }: TurnSize,
): readonly AppliedLimit[] {
  const known = limitsOfCaller(configured, caller)
  let limits = known.withModel.get(model)
  if (!limits) {
    limits = [
      ...known.all,
      ...limitsOn('account-model', `account-model:${caller.account}:${model}`, configured.accountModel),
      ...limitsOn('model', `model:${model}`, configured.model),
    ]
    known.withModel.set(model, limits)
  }
  const applied: AppliedLimit[] = []
  for (const limit of limits) applied.push(limit.kind === 'tokens' ? { ...limit, cost: tokens } : limit)
  return applied
}

/** The limits of a request that has no model, or is not read yet. They are the same until the configuration changes. */
interface CallerLimits {
  readonly configured: ConfiguredLimits
  /** They take no tokens. */
  readonly all: readonly AppliedLimit[]
  readonly withoutTokens: readonly AppliedLimit[]
  readonly withModel: Map<string, readonly AppliedLimit[]>
}

const limitsOfCallers = new WeakMap<Caller, CallerLimits>()

export function limitsOfCaller(configured: ConfiguredLimits, caller: Caller): CallerLimits {
  const known = limitsOfCallers.get(caller)
  if (known?.configured === configured) return known
  const all = [
    ...limitsOn('key', `key:${caller.key}`, rateLimitsOfKey(configured.key, caller.limits)),
    ...limitsOn('account', `account:${caller.account}`, configured.account),
  ]
  const withoutTokens = all.filter(({ kind }) => kind !== 'tokens')
  const made: CallerLimits = { configured, all, withoutTokens, withModel: new Map() }
  limitsOfCallers.set(caller, made)
  return made
}

/** A configured burst belongs to its configured limit, and does not apply to a key's own limit. */
export function rateLimitsOfKey(
  { requestsBurst, tokensBurst, ...configured }: RateLimits,
  own: RateLimits,
): RateLimits {
  return {
    ...configured,
    ...(requestsBurst !== undefined && own.requestsPerMinute === undefined && { requestsBurst }),
    ...(tokensBurst !== undefined && own.tokensPerMinute === undefined && { tokensBurst }),
    ...own,
  }
}

function limitsOn(scope: LimitScope, owner: string, rateLimits: RateLimits): AppliedLimit[] {
  const limits: AppliedLimit[] = []
  const add = (kind: LimitKind, limit: number | undefined, burst = limit) => {
    const cost = kind === 'tokens' ? 0 : 1
    if (limit !== undefined && burst !== undefined)
      limits.push({ scope, kind, subject: `${owner}:${kind}`, limit, burst, cost })
  }
  add('requests', rateLimits.requestsPerMinute, rateLimits.requestsBurst)
  add('tokens', rateLimits.tokensPerMinute, rateLimits.tokensBurst)
  add('concurrent', rateLimits.concurrent)
  return limits
}

/**
 * `x-ratelimit-*` under the names that OpenAI's clients read. Of several limits of one kind (the key's, the account's, the
 * model's) the one with least left is shown, because it will refuse first.
 */
export function limitHeaders(statuses: readonly LimitStatus[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const kind of ['requests', 'tokens'] as const) {
    let found: LimitStatus | undefined
    for (const status of statuses) {
      if (status.kind === kind && (!found || status.remaining < found.remaining)) found = status
    }
    if (!found) continue
    const names = LIMIT_HEADERS[kind]
    headers[names.limit] = String(found.limit)
    headers[names.remaining] = String(found.remaining)
    headers[names.reset] = formatDuration(found.resetMs)
  }
  return headers
}

const limitHeadersOf = (kind: 'requests' | 'tokens') => ({
  limit: `x-ratelimit-limit-${kind}`,
  remaining: `x-ratelimit-remaining-${kind}`,
  reset: `x-ratelimit-reset-${kind}`,
})

/** Made once: V8 looks a new string up in all of its names. */
const LIMIT_HEADERS = { requests: limitHeadersOf('requests'), tokens: limitHeadersOf('tokens') }

/** `12ms`, `1.5s`, `6m0s`, `1h0m0s`: how Go prints a duration, which is what clients parse. Rounded up. */
function formatDuration(ms: number): string {
  const whole = Math.ceil(ms)
  if (whole > 0 && whole < 1000) return `${whole}ms`
  const tenths = Math.ceil(ms / 100)
  const hours = Math.floor(tenths / 36_000)
  const minutes = Math.floor(tenths / 600) % 60
  const seconds = `${(tenths % 600) / 10}s`
  if (hours > 0) return `${hours}h${minutes}m${seconds}`
  return minutes > 0 ? `${minutes}m${seconds}` : seconds
}

/** A rate limit for each network of addresses. */
export interface AddressLimiter {
  take(address: string): { readonly kind: 'taken' } | AddressRefusal
  /** Networks whose burst is not full again yet. */
  readonly size: number
}

interface AddressRefusal {
  readonly kind: 'refused'
  readonly perMinute: number
  readonly waitMs: number
}

interface AddressLimiterOptions {
  readonly nowMicros: () => number
  /** Of the current configuration; without a rule every request passes. */
  readonly rule: () => RateLimit | undefined
  readonly networksMax?: number
}

/** About a hundred bytes each. Beyond it the networks that have been quiet longest are forgotten. */
const NETWORKS_MAX = 100_000
/** Bounds the tidying that one request pays for. */
const FORGOTTEN_AT_ONCE = 100

export function createAddressLimiter({
  nowMicros,
  rule,
  networksMax = NETWORKS_MAX,
}: AddressLimiterOptions): AddressLimiter {
  const reachedAt = createLruMap<string, number>(networksMax)

  /** The network that has been quiet longest comes first; the burst bounds how long a network has to wait. */
  const forgetRecovered = (now: number) => {
    let left = FORGOTTEN_AT_ONCE
    for (const [network, reached] of reachedAt.entries()) {
      if (reached > now || left-- === 0) return
      reachedAt.delete(network)
    }
  }

  return {
    take(address) {
      const applied = rule()
      if (applied === undefined) return { kind: 'taken' }
      const now = nowMicros()
      forgetRecovered(now)
      const network = networkOf(address)
      const decision = decideRateLimit(applied, reachedAt.get(network) ?? now, 1, now)
      if (decision.kind === 'taken') {
        reachedAt.set(network, decision.reachedAt)
        return decision
      }
      // A cost of one never exceeds the burst.
      const waitMs = decision.kind === 'wait' ? decision.waitMs : 0
      return { kind: 'refused', perMinute: applied.perMinute, waitMs }
    },
    get size() {
      return reachedAt.size
    },
  }
}
