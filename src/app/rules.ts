import { totalmem } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { getHeapStatistics } from 'node:v8'
import type { DatedPrice, Model, Upstream } from '../catalog/catalog.ts'
import { loadCatalog } from '../catalog/load-catalog.ts'
import type { Config, LimitsConfig } from '../config/config.ts'
import { countRunningPlans } from '../db/allowances.ts'
import type { LedgerDb } from '../db/tables.ts'
import { recordAnnounced, recordPrices } from '../ledger/prices.ts'
import type { Clock } from '../lib/clock.ts'
import type { Secret } from '../lib/secret.ts'
import type { RateLimits } from '../model/caller.ts'
import type { PriceList } from '../model/price.ts'
import { bytesOfLargestTurn } from '../server/concurrency-limiter.ts'

/** The sections of the configuration that take effect while the server runs. */
export const SWAPPED_SECTIONS = [
  'upstreams',
  'models',
  'plans',
  'limits',
  'routing',
  'overload',
  'hold',
  'hostedTools',
  'signIn',
  'jobIssuers',
] as const satisfies readonly (keyof Config)[]

type SwappedConfig = Pick<Config, (typeof SWAPPED_SECTIONS)[number]>

type Rules = Awaited<ReturnType<typeof rulesOf>>

/** The current rules. A request that has begun keeps its catalogue, price, limits and cap. */
export interface RuleBook {
  readonly current: Rules
  replace(config: SwappedConfig, asOf?: PricesAsOf): Promise<void>
  /** Called with the new rules in the step in which they take effect. */
  onReplaced?: (rules: Rules) => void
}

/** Prices that take effect at a moment within the next seconds, by model. */
export interface AnnouncedPrices {
  readonly at: number
  readonly prices: ReadonlyMap<string, PriceList>
}

/** The moment whose prices a configuration has. It is recorded later, when another price may be in force already. */
export interface PricesAsOf {
  readonly at: number
  readonly announced?: AnnouncedPrices | undefined
}

interface RuleOptions {
  readonly db: LedgerDb
  readonly clock: Clock
  /** How many processes share the memory of the machine. */
  readonly workers?: number
  /** Called at the start and after a reload. */
  readonly onPlansMissing: (plans: readonly MissingPlan[]) => void
}

/** A plan of accounts that the configuration does not define. Their builder keys can use nothing. */
export interface MissingPlan {
  readonly plan: string
  readonly accounts: number
}

export async function createRuleBook(options: RuleOptions, config: Config, asOf?: PricesAsOf): Promise<RuleBook> {
  const { bodyBytesMax } = config.bounds
  const book: RuleBook & { current: Rules } = {
    current: await rulesOf(options, config, { upstreams: [], models: [], bodyBytesMax }, asOf),
    async replace(next: SwappedConfig, asOf?: PricesAsOf): Promise<void> {
      book.current = await rulesOf(
        options,
        next,
        { upstreams: book.current.upstreams, models: book.current.catalog.models, bodyBytesMax },
        asOf,
      )
      book.onReplaced?.(book.current)
    },
  }
  return book
}

/** What a reload keeps. */
interface Kept {
  readonly upstreams: readonly Upstream[]
  readonly models: readonly Model[]
  readonly bodyBytesMax: number
}

/**
 * What a request is checked against. A changed price gets a new version; an unchanged upstream keeps its connections.
 */
async function rulesOf(options: RuleOptions, config: SwappedConfig, kept: Kept, asOf?: PricesAsOf) {
  const priced = config.models.flatMap(({ id, price }) => (price === undefined ? [] : [[id, price] as const]))
  const versions = await recordPrices({ db: options.db, now: () => asOf?.at ?? options.clock.now() }, new Map(priced))
  const next = await nextPricesOf(options.db, asOf?.announced)
  const upstreams = config.upstreams.map((read) => kept.upstreams.find((old) => sameUpstream(old, read)) ?? read)
  const running = await countRunningPlans(options.db, options.clock.now())
  const catalog = loadCatalog(
    { models: config.models, plans: config.plans, upstreams },
    (model) => versions.get(model) ?? 0,
    next,
    kept.models,
  )
  const missing = running.filter(({ plan }) => !catalog.plans.has(plan))
  if (missing.length > 0) options.onPlansMissing(missing)
  const { limits, overload } = config
  const { refusedPerMinute, burstMs } = limits.address
  const { loopDelayMs, loopDelayForMs } = overload
  return {
    catalog,
    limits: {
      key: withBursts(limits.key),
      account: withBursts(limits.account),
      accountModel: withBursts(limits.accountModel),
      model: withBursts(limits.model),
    },
    /** Requests of one address without a valid key; undefined: no limit. */
    unauthenticatedPerAddress:
      refusedPerMinute === undefined
        ? undefined
        : { perMinute: refusedPerMinute, burst: burstOf(refusedPerMinute, burstMs) },
    load: {
      memoryBytes: overload.memoryBytes ?? memoryBudget(memoryOfProcess(options.workers), kept.bodyBytesMax),
      queueLength: overload.queueLength,
      queueMs: overload.queueMs,
    },
    /** When the event loop counts as strained; undefined: never. */
    strain: loopDelayMs === undefined ? undefined : { delayMs: loopDelayMs, forMs: loopDelayForMs },
    chosenCap: config.hold,
    signIn: config.signIn,
    jobIssuers: config.jobIssuers,
    routing: config.routing,
    upstreams,
    hostedTools: config.hostedTools,
    /** How many keys one account may have that are not revoked. */
    liveKeysMax: limits.keysPerAccount,
  }
}

async function nextPricesOf(
  db: LedgerDb,
  announced: AnnouncedPrices | undefined,
): Promise<ReadonlyMap<string, DatedPrice>> {
  if (announced === undefined) return new Map()
  const { at, prices } = announced
  const versions = await recordAnnounced(db, at, prices)
  return new Map([...prices].map(([id, price]) => [id, { at, price: { ...price, version: versions.get(id)! } }]))
}

const MINUTE_MS = 60_000

/** The configuration gives a burst as a time; limits count requests and tokens. */
function withBursts({ burstMs, ...rateLimits }: LimitsConfig['key']): RateLimits {
  return {
    ...rateLimits,
    ...(rateLimits.requestsPerMinute === undefined
      ? {}
      : { requestsBurst: burstOf(rateLimits.requestsPerMinute, burstMs) }),
    ...(rateLimits.tokensPerMinute === undefined ? {} : { tokensBurst: burstOf(rateLimits.tokensPerMinute, burstMs) }),
  }
}

const burstOf = (perMinute: number, burstMs: number): number =>
  Math.max(1, Math.floor((perMinute * burstMs) / MINUTE_MS))

/** Compares two readings of one upstream. A structural comparison does not see a difference between secrets. */
function sameUpstream(a: Upstream, b: Upstream): boolean {
  const { apiKey: keyA, headers: headersA, ...restA } = a
  const { apiKey: keyB, headers: headersB, ...restB } = b
  return isDeepStrictEqual(restA, restB) && sameSecret(keyA, keyB) && sameHeaders(headersA, headersB)
}

const sameSecret = (a: Secret | undefined, b: Secret | undefined): boolean =>
  a === undefined || b === undefined ? a === b : a.equals(b)

const sameHeaders = (a: Upstream['headers'], b: Upstream['headers']): boolean =>
  a.size === b.size && [...a].every(([name, value]) => sameSecret(value, b.get(name)))

/** Bounds on the memory of this process, in bytes. */
interface MemoryBounds {
  /** V8's heap, where parsed values live. */
  readonly heap: number
  /** Of the container; undefined, zero or absurdly large without one. */
  readonly constrained: number | undefined
  readonly machine: number
}

/** The rest is for the program, for bodies while they are read, and for the garbage collector. */
const SHARE = 1 / 2
/** More memory would hold more streams than one event loop can serve. */
const BYTES_MAX = 8 * 1024 ** 3

/** The memory for turns where the configuration names none. */
export function memoryBudget(bounds: MemoryBounds, bodyBytesMax: number): number {
  const { heap, constrained, machine } = bounds
  const least = Math.min(heap, constrained || Number.POSITIVE_INFINITY, machine)
  const share = Math.min(BYTES_MAX, Math.floor(least * SHARE))
  // One turn with the largest body always fits.
  return Math.max(share, bytesOfLargestTurn(bodyBytesMax))
}

export const memoryOfProcess = (workers = 1): MemoryBounds => ({
  heap: getHeapStatistics().heap_size_limit,
  constrained: (process.constrainedMemory?.() ?? 0) / workers,
  machine: totalmem() / workers,
})
