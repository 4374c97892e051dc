import { totalmem } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { getHeapStatistics } from 'node:v8'
import type { Catalog, Upstream } from '../catalog/catalog.ts'
import { loadCatalog } from '../catalog/load-catalog.ts'
import type { Config, LimitsConfig, RoutingConfig } from '../config/config.ts'
import { countRunningPlans } from '../db/allowances.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { HostedTools } from '../gateway/read-turn.ts'
import { recordPrices } from '../ledger/prices.ts'
import type { Clock } from '../lib/clock.ts'
import type { StrainTerms } from '../lib/loop-strain.ts'
import type { RateRule } from '../lib/rates.ts'
import type { Secret } from '../lib/secret.ts'
import type { ConfiguredLimits } from '../limits/limits.ts'
import type { LimitRates } from '../model/caller.ts'
import type { ChosenCapTerms } from '../model/price.ts'
import { bytesOfLargestTurn, type LimiterSettings } from '../server/concurrency-limiter.ts'

/** The sections of a configuration that the rules are made of: these take effect while the server runs. */
export const SWAPPED_SECTIONS = [
  'upstreams',
  'models',
  'plans',
  'limits',
  'routing',
  'overload',
  'hold',
  'hostedTools',
] as const satisfies readonly (keyof Config)[]

type SwappedConfig = Pick<Config, (typeof SWAPPED_SECTIONS)[number]>

/** What a request is judged by, and what is swapped whole when the configuration is read again. */
interface Rules {
  readonly catalog: Catalog
  readonly limits: ConfiguredLimits
  /** Requests of one address without a valid key; undefined when it may send any number. */
  readonly strangersOfAddress: RateRule | undefined
  /** How much this process takes on. */
  readonly load: LimiterSettings
  /** When it is behind its work; undefined: never. */
  readonly strain: StrainTerms | undefined
  readonly chosenCap: ChosenCapTerms
  readonly routing: RoutingConfig
  readonly upstreams: readonly Upstream[]
  readonly hostedTools: HostedTools
  /** How many keys one account may have that are not revoked. */
  readonly liveKeysMax: number
}

/** Where the rules of the moment are read: a request that has begun keeps catalogue, price, limits and cap as they were. */
export interface RuleBook {
  readonly current: Rules
  replace(config: SwappedConfig): Promise<void>
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
  const { bodyBytesMax } = config.bounds
  let current = await rulesOf(deps, config, { upstreams: [], bodyBytesMax })
  return {
    get current() {
      return current
    },
    async replace(next) {
      current = await rulesOf(deps, next, { upstreams: current.upstreams, bodyBytesMax })
    },
  }
}

/** What is there already, and stays. */
interface Standing {
  readonly upstreams: readonly Upstream[]
  readonly bodyBytesMax: number
}

/** A price that has changed is a new version from here on; an upstream that has not keeps its connections. */
async function rulesOf(deps: RuleDeps, config: SwappedConfig, standing: Standing): Promise<Rules> {
  const priced = config.models.flatMap(({ id, price }) => (price === undefined ? [] : [[id, price] as const]))
  const versions = await recordPrices({ db: deps.db, now: () => deps.clock.now() }, new Map(priced))
  const upstreams = config.upstreams.map((read) => standing.upstreams.find((old) => sameUpstream(old, read)) ?? read)
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
    load: loadOf(config, standing),
    strain: strainOf(config),
    chosenCap: config.hold,
    routing: config.routing,
    upstreams,
    hostedTools: config.hostedTools,
    liveKeysMax: config.limits.keysPerAccount,
  }
}

const loadOf = ({ overload }: SwappedConfig, { bodyBytesMax }: Standing): LimiterSettings => ({
  memoryBytes: overload.memoryBytes ?? memoryBudget(memoryOfProcess(), bodyBytesMax),
  queueLength: overload.queueLength,
  queueMs: overload.queueMs,
})

const strainOf = ({ overload: { loopDelayMs, loopDelayForMs } }: SwappedConfig): StrainTerms | undefined =>
  loopDelayMs === undefined ? undefined : { delayMs: loopDelayMs, forMs: loopDelayForMs }

const MINUTE_MS = 60_000

/** The configuration says how long a pause may be made up for; limits count in requests and tokens. */
const effectiveLimits = ({ key, account, accountModel, model }: LimitsConfig): ConfiguredLimits => ({
  key: withBursts(key),
  account: withBursts(account),
  accountModel: withBursts(accountModel),
  model: withBursts(model),
})

const effectiveAddressRule = ({ refusedPerMinute, burstMs }: LimitsConfig['address']): RateRule | undefined =>
  refusedPerMinute === undefined
    ? undefined
    : { perMinute: refusedPerMinute, burst: burstOf(refusedPerMinute, burstMs) }

function withBursts({ burstMs, ...rates }: LimitsConfig['key']): LimitRates {
  return {
    ...rates,
    ...(rates.requestsPerMinute === undefined ? {} : { requestsBurst: burstOf(rates.requestsPerMinute, burstMs) }),
    ...(rates.tokensPerMinute === undefined ? {} : { tokensBurst: burstOf(rates.tokensPerMinute, burstMs) }),
  }
}

const burstOf = (perMinute: number, burstMs: number): number =>
  Math.max(1, Math.floor((perMinute * burstMs) / MINUTE_MS))

/** Two readings of one upstream. Secrets have to be asked: comparing by structure sees no difference between them. */
function sameUpstream(a: Upstream, b: Upstream): boolean {
  const { apiKey: keyA, headers: headersA, ...restA } = a
  const { apiKey: keyB, headers: headersB, ...restB } = b
  return isDeepStrictEqual(restA, restB) && sameSecret(keyA, keyB) && sameHeaders(headersA, headersB)
}

const sameSecret = (a: Secret | undefined, b: Secret | undefined): boolean =>
  a === undefined || b === undefined ? a === b : a.equals(b)

const sameHeaders = (a: Upstream['headers'], b: Upstream['headers']): boolean =>
  a.size === b.size && [...a].every(([name, value]) => sameSecret(value, b.get(name)))

/** What bounds the memory of this process, in bytes. */
interface MemoryBounds {
  /** Of V8: what is parsed lives there. */
  readonly heap: number
  /** Of the container; undefined, zero or absurdly large without one. */
  readonly constrained: number | undefined
  readonly machine: number
}

/** The rest is for the program itself, for what is made of a body while it is read, and for a collector that has room. */
const SHARE = 1 / 2
/** More open streams than one event loop can serve. */
const BYTES_MAX = 8 * 1024 ** 3

/** The memory for turns where the configuration names none. */
export function memoryBudget(bounds: MemoryBounds, bodyBytesMax: number): number {
  const { heap, constrained, machine } = bounds
  const least = Math.min(heap, constrained || Number.POSITIVE_INFINITY, machine)
  const share = Math.min(BYTES_MAX, Math.floor(least * SHARE))
  // However small the process, one of the largest fits.
  return Math.max(share, bytesOfLargestTurn(bodyBytesMax))
}

export const memoryOfProcess = (): MemoryBounds => ({
  heap: getHeapStatistics().heap_size_limit,
  constrained: process.constrainedMemory?.(),
  machine: totalmem(),
})
