import { createLruMap } from '../lib/lru-map.ts'
import { networkOf } from '../lib/network.ts'
import { type RateRule, takeFromRate } from '../lib/rates.ts'
import type { AppliedLimit, Caller, LimitKind, LimitRates, LimitScope, LimitStatus } from '../model/caller.ts'

/** The limits that the operator's configuration sets for everybody; a key's own limits come before them. */
export interface ConfiguredLimits {
  readonly key: LimitRates
  readonly account: LimitRates
  /** One account with one model. */
  readonly accountModel: LimitRates
  /** Everybody together with one model. */
  readonly model: LimitRates
}

interface TurnSize {
  /** The id of the model itself: its efforts share what it may do. */
  readonly model: string
  readonly tokens: number
}

/** Every limit this turn has to pass, with what it takes from each. */
export function limitsForTurn(
  configured: ConfiguredLimits,
  caller: Caller,
  { model, tokens }: TurnSize,
): AppliedLimit[] {
  const known = knownLimits(configured, caller)
  let limits = known.withModel.get(model)
  if (!limits) {
    limits = [...known.ofCaller, ...limitsOnModel(configured, caller, model)]
    known.withModel.set(model, limits)
  }
  return limits.map((limit) => applied(limit, tokens))
}

/** Those that apply to whatever the caller asks for: of a request without a model, or whose model nobody knows yet. */
export const limitsOfCaller = (configured: ConfiguredLimits, caller: Caller): AppliedLimit[] =>
  knownLimits(configured, caller).ofCaller.map((limit) => applied(limit, 0))

/** A limit without what one turn takes from it. */
type CallerLimit = Omit<AppliedLimit, 'cost'>

const applied = ({ scope, kind, subject, limit, burst }: CallerLimit, tokens: number): AppliedLimit => {
  return { scope, kind, subject, limit, burst, cost: kind === 'tokens' ? tokens : 1 }
}

/** The same for every turn of a caller, until the configuration changes; models are those of its catalogue. */
interface KnownLimits {
  readonly configured: ConfiguredLimits
  readonly ofCaller: readonly CallerLimit[]
  readonly withModel: Map<string, readonly CallerLimit[]>
}

const limitsOfCallers = new WeakMap<Caller, KnownLimits>()

function knownLimits(configured: ConfiguredLimits, caller: Caller): KnownLimits {
  const known = limitsOfCallers.get(caller)
  if (known?.configured === configured) return known
  const ofCaller = [
    ...limitsOn('key', `key:${caller.key}`, ratesOfKey(configured.key, caller.limits)),
    ...limitsOn('account', `account:${caller.account}`, configured.account),
  ]
  const made: KnownLimits = { configured, ofCaller, withModel: new Map() }
  limitsOfCallers.set(caller, made)
  return made
}

const limitsOnModel = (configured: ConfiguredLimits, caller: Caller, model: string): CallerLimit[] => [
  ...limitsOn('account-model', `account-model:${caller.account}:${model}`, configured.accountModel),
  ...limitsOn('model', `model:${model}`, configured.model),
]

/** A burst belongs to the rate that it was computed from: a key's own rate must not be let through by somebody else's. */
export function ratesOfKey({ requestsBurst, tokensBurst, ...configured }: LimitRates, own: LimitRates): LimitRates {
  return {
    ...configured,
    ...(requestsBurst !== undefined && own.requestsPerMinute === undefined && { requestsBurst }),
    ...(tokensBurst !== undefined && own.tokensPerMinute === undefined && { tokensBurst }),
    ...own,
  }
}

function limitsOn(scope: LimitScope, owner: string, rates: LimitRates): CallerLimit[] {
  const limits: CallerLimit[] = []
  const add = (kind: LimitKind, limit: number | undefined, burst: number | undefined) => {
    if (limit !== undefined) limits.push({ scope, kind, subject: `${owner}:${kind}`, limit, burst: burst ?? limit })
  }
  add('requests', rates.requestsPerMinute, rates.requestsBurst)
  add('tokens', rates.tokensPerMinute, rates.tokensBurst)
  add('concurrent', rates.concurrent, undefined)
  return limits
}

/**
 * `x-ratelimit-*` under the names that OpenAI's clients read. Where several limits of one kind apply (the key's,
 * the account's, the model's), the one with least left is told: it is the one that will stop the client.
 */
export function limitHeaders(statuses: readonly LimitStatus[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const kind of ['requests', 'tokens'] as const) {
    const standing = tightest(statuses, kind)
    if (!standing) continue
    headers[`x-ratelimit-limit-${kind}`] = String(standing.limit)
    headers[`x-ratelimit-remaining-${kind}`] = String(standing.remaining)
    headers[`x-ratelimit-reset-${kind}`] = formatDuration(standing.resetMs)
  }
  return headers
}

/** Whether these headers tell of limits already. */
export const showsLimits = (headers: Readonly<Record<string, unknown>>): boolean =>
  headers['x-ratelimit-limit-requests'] !== undefined || headers['x-ratelimit-limit-tokens'] !== undefined

function tightest(statuses: readonly LimitStatus[], kind: LimitKind): LimitStatus | undefined {
  let found: LimitStatus | undefined
  for (const standing of statuses) {
    if (standing.kind === kind && (!found || standing.remaining < found.remaining)) found = standing
  }
  return found
}

/** `12ms`, `1.5s`, `6m0s`, `1h0m0s`: how Go prints a duration, which is what clients parse. Never less than it takes. */
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

export interface AddressRates {
  /** Takes one from the rate of the network that the address is in; refused, it says under which rule and for how long. */
  take(address: string): { readonly kind: 'taken' } | AddressRefusal
  /** Networks that have not earned back everything yet. */
  readonly size: number
}

interface AddressRefusal {
  readonly kind: 'refused'
  readonly perMinute: number
  readonly waitMs: number
}

interface AddressRateDeps {
  readonly nowMicros: () => number
  /** Asked every time, because the configuration may change; without a rule everything is let through. */
  readonly rule: () => RateRule | undefined
  readonly networksMax?: number
}

/** About a hundred bytes each. Beyond it the networks that have been quiet longest are forgotten. */
const NETWORKS_MAX = 100_000
/** What is tidied up at one request, so that none of them pays for a flood that is over. */
const FORGOTTEN_AT_ONCE = 100

export function createAddressRates({ nowMicros, rule, networksMax = NETWORKS_MAX }: AddressRateDeps): AddressRates {
  const reachedAt = createLruMap<string, number>(networksMax)

  /** The one that has been quiet longest comes first; how long any of them has to wait is bounded by the burst. */
  const forgetEarnedBack = (now: number) => {
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
      forgetEarnedBack(now)
      const network = networkOf(address)
      const decision = takeFromRate(applied, reachedAt.get(network) ?? now, 1, now)
      if (decision.kind === 'taken') {
        reachedAt.set(network, decision.reachedAt)
        return decision
      }
      // One is never more than the burst, which is at least one.
      const waitMs = decision.kind === 'wait' ? decision.waitMs : 0
      return { kind: 'refused', perMinute: applied.perMinute, waitMs }
    },
    get size() {
      return reachedAt.size
    },
  }
}
