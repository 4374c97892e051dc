import type { Plan, Upstream } from '../catalog/catalog.ts'
import type { ModelDefinition } from '../catalog/load-catalog.ts'
import type { HostedTools } from '../gateway/read-turn.ts'
import type { LimitRates } from '../model/limit.ts'
import type { ChosenCapTerms } from '../model/price.ts'
import type { OpenInterval } from '../routing/circuit-breaker.ts'
import type { RetryTerms } from '../routing/retry-budget.ts'
import type { ParsedConfig } from './schema.ts'
import type { DatabaseChoice } from './server-schema.ts'

/** The whole configuration, validated: names resolved, durations in milliseconds, money in its smallest unit. */
export interface Config {
  readonly server: ServerConfig
  readonly bounds: BoundsConfig
  readonly drain: { readonly timeoutMs: number; readonly lingerMs: number }
  /** `data` is absolute. */
  readonly storage: { readonly data: string; readonly database: DatabaseChoice }
  readonly keyring: { readonly secretKey: string | undefined }
  readonly upstreams: readonly Upstream[]
  readonly models: readonly ModelDefinition[]
  readonly plans: readonly Plan[]
  readonly limits: LimitsConfig
  readonly routing: RoutingConfig
  readonly overload: OverloadConfig
  readonly console: ConsoleConfig
  readonly hostedTools: HostedTools
  readonly streams: { readonly keepAliveMs: number; readonly silenceBeforeHeadMs: number }
  readonly hold: ChosenCapTerms
  readonly ledger: { readonly markIntervalMs: number }
  readonly retention: RetentionConfig
  readonly telemetry: ParsedConfig['telemetry']
}

export interface ServerConfig {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | undefined
  readonly metricsHost: string
  readonly metricsPort: number
  readonly trustProxy: readonly string[]
  readonly maxConnections: number
  readonly workers: number
  readonly allowedOrigins: readonly string[]
}

export interface RoutingConfig {
  /** How long a lane is left alone that fails; undefined: none is put aside. */
  readonly putAside: OpenInterval | undefined
  /** The longest that a request waits for a lane that will soon be tried again. */
  readonly patienceMs: number
  /** Undefined: as many as there are failures. */
  readonly retries: RetryTerms | undefined
}

interface ConsoleConfig {
  readonly enabled: boolean
  readonly hosts: readonly string[]
  readonly allowHttp: boolean
}

export interface OverloadConfig {
  /** Undefined: worked out from what the process may use. */
  readonly memoryBytes: number | undefined
  readonly queueLength: number
  readonly queueMs: number
  /** Undefined: however late the event loop is, nobody is sent away for it. */
  readonly loopDelayMs: number | undefined
  readonly loopDelayForMs: number
}

interface RetentionConfig {
  readonly stateMs: number
  readonly stateBytesMax: number
  readonly idempotencyMs: number
  readonly idempotencyBytesMax: number
}

export interface BoundsConfig {
  readonly bodyBytesMax: number
  readonly expansionRatioMax: number
  readonly jsonValuesMax: number
  readonly jsonDepthMax: number
  readonly headerBytesMax: number
  readonly headerTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly frameBytesMax: number
}

export interface ConfiguredLimits extends LimitRates {
  /** How much of the rates may be taken at once after a pause, as time: 60,000 is one minute's worth. */
  readonly burstMs: number
}

export interface LimitsConfig {
  readonly key: ConfiguredLimits
  readonly account: ConfiguredLimits
  readonly accountModel: ConfiguredLimits
  readonly model: ConfiguredLimits
  /** That are not revoked. */
  readonly keysPerAccount: number
  /** Undefined: an address may be refused as often as it likes. */
  readonly address: { readonly refusedPerMinute: number | undefined; readonly burstMs: number }
}
