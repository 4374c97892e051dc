import type { Catalog, Upstream } from '../catalog/catalog.ts'
import { loadCatalog } from '../catalog/load-catalog.ts'
import type { LoadTerms } from '../http/load-guard.ts'
import { recordPrices } from '../ledger/record-prices.ts'
import type { Clock } from '../lib/clock.ts'
import type { RateRule } from '../lib/gcra.ts'
import type { StrainTerms } from '../lib/loop-strain.ts'
import type { ConfiguredLimits } from '../limits/limits-for-turn.ts'
import type { ChosenCapTerms } from '../model/hold-terms.ts'
import { countRunningPlans } from '../store/subscriptions.ts'
import type { LedgerDb } from '../store/tables.ts'
import type { HostedTools } from '../turn/read/read-turn.ts'
import type { Config, RoutingConfig } from './config/config.ts'
import { effectiveAddressRule, effectiveLimits } from './effective-limits.ts'
import { memoryBudget, memoryOfProcess } from './memory-budget.ts'
import { sameUpstream } from './same-upstream.ts'

/** What a request is judged by, and what is swapped whole when the configuration is read again. */
export interface Rules {
  readonly catalog: Catalog
  readonly limits: ConfiguredLimits
  /** Requests of one address without a valid key; undefined when it may send any number. */
  readonly strangersOfAddress: RateRule | undefined
  /** How much this process takes on. */
  readonly load: LoadTerms
  /** When it is behind its work; undefined: never. */
  readonly strain: StrainTerms | undefined
  readonly chosenCap: ChosenCapTerms
  readonly routing: RoutingConfig
  readonly upstreams: readonly Upstream[]
  readonly hostedTools: HostedTools
  /** How many keys one account may have that are not revoked. */
  readonly liveKeysMax: number
}

/** Where the rules of the moment are read: a request that has begun keeps the ones it began with. */
export interface RuleBook {
  readonly current: Rules
  replace(config: Config): Promise<void>
}

interface RuleDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  /** Once for each time that rules come into force, not for each request that meets one of them. */
  readonly onPlansMissing: (plans: readonly MissingPlan[]) => void
}

/** Accounts are on it, and the configuration does not have it (any more): their builder keys can use nothing. */
export interface MissingPlan {
  readonly plan: string
  readonly accounts: number
}

export async function createRuleBook(deps: RuleDeps, config: Config): Promise<RuleBook> {
  let current = await rulesOf(deps, config, [])
  return {
    get current() {
      return current
    },
    async replace(next) {
      current = await rulesOf(deps, next, current.upstreams)
    },
  }
}

/** A price that has changed is a new version from here on; an upstream that has not keeps its connections. */
async function rulesOf(deps: RuleDeps, config: Config, known: readonly Upstream[]): Promise<Rules> {
  const priced = config.models.flatMap(({ id, price }) => (price === undefined ? [] : [[id, price] as const]))
  const versions = await recordPrices({ db: deps.db, now: () => deps.clock.now() }, new Map(priced))
  const upstreams = config.upstreams.map((upstream) => known.find((old) => sameUpstream(old, upstream)) ?? upstream)
  const running = await countRunningPlans(deps.db, deps.clock.now())
  const catalog = loadCatalog(
    { models: config.models, plans: config.plans, upstreams },
    (model) => versions.get(model) ?? 0,
  )
  const missing = running.filter(({ plan }) => !catalog.plans.has(plan))
  if (missing.length > 0) deps.onPlansMissing(missing)
  return {
    catalog,
    limits: effectiveLimits(config.limits),
    strangersOfAddress: effectiveAddressRule(config.limits.address),
    load: loadOf(config),
    strain: strainOf(config),
    chosenCap: config.hold,
    routing: config.routing,
    upstreams,
    hostedTools: config.hostedTools,
    liveKeysMax: config.limits.keysPerAccount,
  }
}

const loadOf = ({ overload, bounds }: Config): LoadTerms => ({
  memoryBytes: overload.memoryBytes ?? memoryBudget(memoryOfProcess(), bounds.bodyBytesMax),
  queueLength: overload.queueLength,
  queueMs: overload.queueMs,
})

const strainOf = ({ overload: { loopDelayMs, loopDelayForMs } }: Config): StrainTerms | undefined =>
  loopDelayMs === undefined ? undefined : { delayMs: loopDelayMs, forMs: loopDelayForMs }
