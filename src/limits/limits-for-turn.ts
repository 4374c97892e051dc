import type { Caller } from '../model/caller.ts'
import type { AppliedLimit, LimitKind, LimitRates, LimitScope } from '../model/limit.ts'

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
