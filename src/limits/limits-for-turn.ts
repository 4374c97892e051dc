import type { Caller } from '../model/caller.ts'
import type { AppliedLimit, LimitKind, LimitRates, LimitScope } from '../model/limit.ts'

/** The limits that the operator's configuration sets for everybody; a key's own limits come before them. */
export interface ConfiguredLimits {
  readonly key: LimitRates
  readonly account: LimitRates
}

/** Every limit this turn has to pass, with what it takes from each. */
export function limitsForTurn(configured: ConfiguredLimits, caller: Caller, tokens: number): AppliedLimit[] {
  return limitsOf(configured, caller).map(({ scope, kind, subject, limit, burst }) => {
    return { scope, kind, subject, limit, burst, cost: kind === 'tokens' ? tokens : 1 }
  })
}

/** A limit without what one turn takes from it. */
type CallerLimit = Omit<AppliedLimit, 'cost'>

/** The same for every turn of a caller, until the configuration changes. */
const limitsOfCallers = new WeakMap<Caller, { configured: ConfiguredLimits; limits: readonly CallerLimit[] }>()

function limitsOf(configured: ConfiguredLimits, caller: Caller): readonly CallerLimit[] {
  const known = limitsOfCallers.get(caller)
  if (known?.configured === configured) return known.limits
  const limits = [
    ...appliedLimits('key', `key:${caller.key}`, ratesOfKey(configured.key, caller.limits)),
    ...appliedLimits('account', `account:${caller.account}`, configured.account),
  ]
  limitsOfCallers.set(caller, { configured, limits })
  return limits
}

/** A burst belongs to the rate that it was computed from: a key's own rate must not be let through by somebody else's. */
export function ratesOfKey({ requestsBurst, tokensBurst, ...configured }: LimitRates, own: LimitRates): LimitRates {
  return {
    ...configured,
    ...(requestsBurst !== undefined && own.requestsPerMinute === undefined && { requestsBurst }),
    ...(tokensBurst !== undefined && own.tokensPerMinute === undefined && { tokensBurst }),
    ...own,
  }
}

function appliedLimits(scope: LimitScope, owner: string, rates: LimitRates): CallerLimit[] {
  const applied: CallerLimit[] = []
  const add = (kind: LimitKind, limit: number | undefined, burst: number | undefined) => {
    if (limit !== undefined) applied.push({ scope, kind, subject: `${owner}:${kind}`, limit, burst: burst ?? limit })
  }
  add('requests', rates.requestsPerMinute, rates.requestsBurst)
  add('tokens', rates.tokensPerMinute, rates.tokensBurst)
  add('concurrent', rates.concurrent, undefined)
  return applied
}
