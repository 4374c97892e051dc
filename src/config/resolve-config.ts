import { type Plan, planWindow, type Upstream } from '../catalog/catalog.ts'
import { readTraits } from '../catalog/known-models.ts'
import type { LaneDefinition, PriceList } from '../catalog/load-catalog.ts'
import { Secret } from '../lib/secret.ts'
import { effortOf } from '../model/effort.ts'
import type { NanoUsd, PicoPerToken } from '../model/money.ts'
import type { Rates } from '../model/price.ts'
import type {
  BoundsConfig,
  Config,
  ConfiguredLimits,
  LimitsConfig,
  OverloadConfig,
  RoutingConfig,
  ServerConfig,
} from './config.ts'
import type { ParsedConfig, ParsedModel, ParsedPlan, ParsedUpstream } from './schema.ts'

/** From the file's words to ours. Everything was validated: nothing can fail here. */
export function resolveConfig(parsed: ParsedConfig, data: string): Config {
  return {
    server: resolveServer(parsed.server),
    bounds: resolveBounds(parsed.bounds),
    drain: { timeoutMs: parsed.drain.timeout, lingerMs: parsed.drain.linger },
    storage: { data, database: parsed.storage.database },
    keyring: { secretKey: parsed.key_ring.secret_key },
    upstreams: parsed.upstreams.map(resolveUpstream),
    models: parsed.models.map(resolveModel),
    plans: parsed.plans.map(resolvePlan),
    limits: resolveLimits(parsed.limits),
    routing: resolveRouting(parsed.routing),
    overload: resolveOverload(parsed.overload),
    console: {
      enabled: parsed.console.enabled,
      hosts: parsed.console.hosts,
      allowHttp: parsed.console.allow_http,
    },
    hostedTools: parsed.hosted_tools,
    streams: { keepAliveMs: parsed.streams.keep_alive, silenceBeforeHeadMs: parsed.streams.silence_before_head },
    hold: { sharePercent: parsed.hold.uncapped_share_percent, tokensMin: parsed.hold.uncapped_tokens_min },
    ledger: { markIntervalMs: parsed.ledger.mark_interval },
    retention: {
      stateMs: parsed.retention.state,
      stateBytesMax: parsed.retention.state_bytes,
      idempotencyMs: parsed.retention.idempotency,
      idempotencyBytesMax: parsed.retention.idempotency_bytes,
    },
    telemetry: parsed.telemetry,
  }
}

const resolveServer = (server: ParsedConfig['server']): ServerConfig => ({
  host: server.host,
  port: server.port,
  publicUrl: server.public_url,
  metricsHost: server.metrics_host,
  metricsPort: server.metrics_port,
  trustProxy: server.trust_proxy,
  maxConnections: server.max_connections,
  workers: server.workers,
  allowedOrigins: server.allowed_origins,
})

const resolveBounds = (bounds: ParsedConfig['bounds']): BoundsConfig => ({
  bodyBytesMax: bounds.body_bytes,
  expansionRatioMax: bounds.expansion_ratio,
  jsonValuesMax: bounds.json_values,
  jsonDepthMax: bounds.json_depth,
  headerBytesMax: bounds.header_bytes,
  headerTimeoutMs: bounds.header_timeout,
  requestTimeoutMs: bounds.request_timeout,
  keepAliveTimeoutMs: bounds.keep_alive_timeout,
  frameBytesMax: bounds.frame_bytes,
})

const resolveOverload = (overload: ParsedConfig['overload']): OverloadConfig => ({
  memoryBytes: overload.memory_budget,
  queueLength: overload.queue,
  queueMs: overload.queue_wait,
  loopDelayMs: overload.loop_delay,
  loopDelayForMs: overload.loop_delay_for,
})

const OWN_DIALECT = {
  chat: 'generic',
  responses: 'openai',
  anthropic: 'anthropic',
  gemini: 'google',
  demo: 'demo',
} as const

const resolveUpstream = (upstream: ParsedUpstream): Upstream => ({
  id: upstream.id,
  wire: upstream.wire,
  dialect: upstream.dialect ?? OWN_DIALECT[upstream.wire],
  baseUrl: upstream.base_url,
  apiVersion: upstream.api_version,
  apiKey: upstream.api_key === undefined ? undefined : new Secret(upstream.api_key),
  allowPrivate: upstream.allow_private,
  timeouts: {
    connectMs: upstream.timeouts.connect,
    firstByteMs: upstream.timeouts.first_byte,
    jsonAnswerMs: upstream.timeouts.json_answer,
    idleMs: upstream.timeouts.idle,
    noProgressMs: upstream.timeouts.no_progress,
    totalMs: upstream.timeouts.total,
  },
  headers: new Map(Object.entries(upstream.headers).map(([name, value]) => [name.toLowerCase(), new Secret(value)])),
  disconnectPolicy: upstream.on_client_gone,
})

const resolveModel = (model: ParsedModel): Config['models'][number] => ({
  id: model.id,
  ownedBy: model.owned_by,
  createdAt: model.created,
  description: model.description,
  efforts: model.efforts?.map(effortOf),
  inputs: model.inputs,
  inputTokensMax: {
    ...(model.input_tokens_max.image === undefined ? {} : { image: model.input_tokens_max.image }),
    ...(model.input_tokens_max.file === undefined ? {} : { file: model.input_tokens_max.file }),
  },
  contextTokens: model.context_tokens,
  maxOutputTokens: model.max_output_tokens,
  bytesPerToken: model.bytes_per_token,
  choicesMax: model.choices_max,
  price: model.price === undefined ? undefined : resolvePrice(model.price),
  kinds: model.kinds,
  passFields: model.pass_fields,
  lanes: model.lanes.map(resolveLane),
})

const resolveLane = ({ traits, prompt_cache, ...lane }: ParsedModel['lanes'][number]): LaneDefinition => ({
  ...lane,
  traits: readTraits(traits),
  promptCache: prompt_cache,
})

function resolvePrice(price: NonNullable<ParsedModel['price']>): PriceList {
  const tiers = price.tiers.map((tier) => ({ aboveInputTokens: tier.above_input_tokens, ...resolveRates(tier) }))
  tiers.sort((a, b) => a.aboveInputTokens - b.aboveInputTokens)
  return { ...resolveRates(price), perRequest: price.per_request, tiers }
}

interface ParsedRates {
  readonly input: PicoPerToken
  readonly cached_input?: PicoPerToken | undefined
  readonly cache_write?: PicoPerToken | undefined
  readonly output: PicoPerToken
}

const resolveRates = ({ input, cached_input, cache_write, output }: ParsedRates): Rates => ({
  input,
  cachedInput: cached_input ?? input,
  cacheWrite: cache_write ?? input,
  output,
})

const resolvePlan = (plan: ParsedPlan): Plan => ({
  id: plan.id,
  models: plan.models,
  windows: plan.windows.map(({ every, allowance }) => planWindow(every, allowance as NanoUsd)),
})

const resolveLimits = (limits: ParsedConfig['limits']): LimitsConfig => ({
  key: resolveRatesOf(limits.key),
  account: resolveRatesOf(limits.account),
  accountModel: resolveRatesOf(limits.account_model),
  model: resolveRatesOf(limits.model),
  keysPerAccount: limits.keys_per_account,
  address: { refusedPerMinute: limits.address.refused_per_minute, burstMs: limits.address.burst },
})

const resolveRouting = (routing: ParsedConfig['routing']): RoutingConfig => ({
  putAside: routing.put_aside ? { firstMs: routing.aside_first, longestMs: routing.aside_longest } : undefined,
  patienceMs: routing.patience,
  retries:
    routing.retry_percent === undefined
      ? undefined
      : { percent: routing.retry_percent, perSecondMin: routing.retries_per_second },
})

const resolveRatesOf = (rates: ParsedConfig['limits']['key']): ConfiguredLimits => ({
  ...(rates.requests_per_minute === undefined ? {} : { requestsPerMinute: rates.requests_per_minute }),
  ...(rates.tokens_per_minute === undefined ? {} : { tokensPerMinute: rates.tokens_per_minute }),
  ...(rates.concurrent === undefined ? {} : { concurrent: rates.concurrent }),
  burstMs: rates.burst,
})
