import type { Caller } from '../model/caller.ts'
import type { AppliedLimit, LimitKind, LimitRates, LimitScope } from '../model/limit.ts'

/** The limits that the operator's configuration sets for everybody; a key's own limits come before them. */
export interface ConfiguredLimits {
  readonly key: LimitRates
  readonly account: LimitRates
}

/** Every limit this turn has to pass, with what it takes from each. */
export function limitsForTurn(configured: ConfiguredLimits, caller: Caller, tokens: number): AppliedLimit[] {
  return [
    ...appliedLimits('key', `key:${caller.key}`, ratesOfKey(configured.key, caller.limits), tokens),
    ...appliedLimits('account', `account:${caller.account}`, configured.account, tokens),
  ]
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

function appliedLimits(scope: LimitScope, owner: string, rates: LimitRates, tokens: number): AppliedLimit[] {
  const applied: AppliedLimit[] = []
  const add = (kind: LimitKind, limit: number | undefined, burst: number | undefined, cost: number) => {
    if (limit !== undefined)
      applied.push({ scope, kind, subject: `${owner}:${kind}`, limit, burst: burst ?? limit, cost })
  }
  add('requests', rates.requestsPerMinute, rates.requestsBurst, 1)
  add('tokens', rates.tokensPerMinute, rates.tokensBurst, tokens)
  add('concurrent', rates.concurrent, undefined, 1)
  return applied
}
