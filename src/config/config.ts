import { availableParallelism } from 'node:os'
import type { z } from 'zod'
import { DEFAULT_TAGS, type JobIssuer } from '../auth/job-rules.ts'
import type { OidcProvider } from '../auth/oidc.ts'
import { type Plan, planWindow, type Upstream } from '../catalog/catalog.ts'
import { readTraits } from '../catalog/known-models.ts'
import type { ModelDefinition } from '../catalog/load-catalog.ts'
import { Secret } from '../lib/secret.ts'
import type { RateLimits } from '../model/caller.ts'
import { effortOf } from '../model/effort.ts'
import type { NanoUsd, PicoPerToken } from '../model/money.ts'
import type { PriceList, TokenPrices } from '../model/price.ts'
import type { MailConfig } from '../notices/send-mail.ts'
import type { StripeConfig } from '../payments/provider.ts'
import { defaultDialectOf } from '../protocols/wires.ts'
import type { configSchema, ParsedPayments } from './schema.ts'
import { WORKERS_MAX } from './server-schema.ts'
import type { TlsPair } from './tls.ts'

type Parsed = z.output<typeof configSchema>
type ParsedUpstream = Parsed['upstreams'][number]
type ParsedModel = Parsed['models'][number]

/** The whole configuration, validated: durations in milliseconds, money in its smallest unit, `storage.data` absolute. */
export type Config = ReturnType<typeof resolveConfig>
export type LimitsConfig = Config['limits']
export type RoutingConfig = Config['routing']

/** Renames the keys of the file to ours. The schema has validated everything: nothing can fail here. */
export const resolveConfig = (
  parsed: Parsed,
  data: string,
  tls?: TlsPair,
  /** By the id of a model: the import that named it. */
  imported?: ReadonlyMap<string, string>,
) => ({
  server: {
    host: parsed.server.host,
    port: parsed.server.port,
    publicUrl: parsed.server.public_url,
    metricsHost: parsed.server.metrics_host,
    metricsPort: parsed.server.metrics_port,
    trustProxy: parsed.server.trust_proxy,
    docs: parsed.server.docs,
    maxConnections: parsed.server.max_connections,
    workers: resolveWorkers(parsed),
    allowedOrigins: parsed.server.allowed_origins,
  },
  /** Undefined: plain HTTP. */
  tls,
  bounds: resolveBounds(parsed.bounds),
  drain: { timeoutMs: parsed.drain.timeout, lingerMs: parsed.drain.linger },
  storage: { data, database: parsed.storage.database, mayLoseCommits: parsed.storage.may_lose_commits },
  keyring: { secretKey: parsed.key_ring.secret_key },
  upstreams: parsed.upstreams.map(resolveUpstream),
  models: parsed.models.map((model) => ({ ...resolveModel(model), importedFrom: imported?.get(model.id) })),
  plans: parsed.plans.map(
    ({ id, models, windows }): Plan => ({
      id,
      models,
      windows: windows.map(({ every, allowance }) => planWindow(every, allowance as NanoUsd)),
    }),
  ),
  /** Undefined: nothing is paid by card. */
  stripe: resolveStripe(parsed.payments),
  limits: resolveLimits(parsed.limits),
  routing: resolveRouting(parsed.routing),
  overload: resolveOverload(parsed.overload),
  console: { enabled: parsed.console.enabled, hosts: parsed.console.hosts, allowHttp: parsed.console.allow_http },
  mail: parsed.mail && resolveMail(parsed.mail),
  notices: { allowPrivateWebhooks: parsed.notices.allow_private_webhooks },
  signIn: resolveSignIn(parsed.sign_in),
  jobIssuers: resolveKeyless(parsed.keyless),
  hostedTools: parsed.hosted_tools,
  streams: { keepAliveMs: parsed.streams.keep_alive, silenceBeforeHeadMs: parsed.streams.silence_before_head },
  hold: { sharePercent: parsed.hold.uncapped_share_percent, tokensMin: parsed.hold.uncapped_tokens_min },
  ledger: { markIntervalMs: parsed.ledger.mark_interval, nodeLeaseMs: parsed.ledger.node_lease },
  retention: {
    stateMs: parsed.retention.state,
    stateBytesMax: parsed.retention.state_bytes,
    idempotencyMs: parsed.retention.idempotency,
    idempotencyBytesMax: parsed.retention.idempotency_bytes,
  },
  telemetry: {
    ...parsed.telemetry,
    traces: { enabled: parsed.telemetry.traces.enabled, fromClients: parsed.telemetry.traces.from_clients },
  },
})

const resolveMail = ({ host, port, tls, user, password, from, reply_to }: NonNullable<Parsed['mail']>): MailConfig => ({
  ...{ host, port, tls, user, from, replyTo: reply_to },
  password: password === undefined ? undefined : new Secret(password),
})

function resolveWorkers({ server: { workers }, storage: { database } }: Parsed): number {
  if (workers !== 'auto') return workers
  return database.kind === 'postgres' ? Math.min(availableParallelism(), WORKERS_MAX) : 1
}

const resolveStripe = ({ stripe }: ParsedPayments): StripeConfig | undefined =>
  stripe && {
    secretKey: new Secret(stripe.secret_key),
    webhookSecret: new Secret(stripe.webhook_secret),
    apiBase: stripe.api_base,
    terms: {
      topUpMin: stripe.top_up_min,
      topUpMax: stripe.top_up_max,
      automaticTopUp: stripe.automatic_top_up,
      renewalGraceMs: stripe.renewal_grace,
      plans: new Map(stripe.plans.map(({ plan, price }) => [plan, price])),
    },
  }

const resolveBounds = (bounds: Parsed['bounds']) => ({
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

const resolveSignIn = ({ password, second_factor, oidc, scim }: Parsed['sign_in']) => ({
  password,
  secondFactor: second_factor,
  providers: oidc.map(
    (provider): OidcProvider => ({
      name: provider.name,
      label: provider.label ?? provider.name,
      issuer: provider.issuer,
      clientId: provider.client_id,
      clientSecret: provider.client_secret === undefined ? undefined : new Secret(provider.client_secret),
      scopes: [...new Set(['openid', ...provider.scopes])],
      groupsClaim: provider.groups_claim,
      roles: provider.roles,
      createsPeople: provider.create_people,
      linksByEmail: provider.link_by_email,
      trustsEmail: provider.trust_email,
      emailDomains: provider.email_domains,
      disablesRemoved: provider.disable_removed,
      secondFactor: provider.second_factor,
      strongAcr: provider.strong_acr,
    }),
  ),
  scimRoles: scim.roles,
})

const resolveKeyless = ({ issuers }: Parsed['keyless']): readonly JobIssuer[] =>
  issuers.map(({ name, issuer, audience, rules }) => ({
    ...{ name, issuer, audience },
    rules: rules.map(({ name, key, match, tags, lifetime, run }) => ({
      ...{ name, key, lifetimeMs: lifetime, runClaims: run.claims, endsMs: run.ends },
      match: new Map(Object.entries(match)),
      tags: tags?.map(({ name, claim, from }) => ({ name, claim, from })) ?? DEFAULT_TAGS,
      budget: {
        ...(run.max !== undefined && { total: run.max }),
        ...(run.max_requests !== undefined && { requests: BigInt(run.max_requests) }),
        ...(run.max_tokens !== undefined && { tokens: BigInt(run.max_tokens) }),
      },
    })),
  }))

/** `memoryBytes`: undefined derives it from the memory of the process. `loopDelayMs`: undefined sets no limit. */
const resolveOverload = (overload: Parsed['overload']) => ({
  memoryBytes: overload.memory_budget,
  queueLength: overload.queue,
  queueMs: overload.queue_wait,
  loopDelayMs: overload.loop_delay,
  loopDelayForMs: overload.loop_delay_for,
})

/** `openCircuit`: undefined never opens a circuit. `retries`: undefined sets no retry budget. */
const resolveRouting = (routing: Parsed['routing']) => ({
  openCircuit: routing.put_aside ? { firstMs: routing.aside_first, longestMs: routing.aside_longest } : undefined,
  patienceMs: routing.patience,
  retries:
    routing.retry_percent === undefined
      ? undefined
      : { percent: routing.retry_percent, perSecondMin: routing.retries_per_second },
})

const resolveLimits = (limits: Parsed['limits']) => ({
  key: resolveRateLimits(limits.key),
  account: resolveRateLimits(limits.account),
  accountModel: resolveRateLimits(limits.account_model),
  model: resolveRateLimits(limits.model),
  keysPerAccount: limits.keys_per_account,
  address: { refusedPerMinute: limits.address.refused_per_minute, burstMs: limits.address.burst },
})

/** `burstMs`: how much of the rates may be taken at once after a pause, as time. */
const resolveRateLimits = (limits: Parsed['limits']['key']): RateLimits & { readonly burstMs: number } => ({
  ...(limits.requests_per_minute === undefined ? {} : { requestsPerMinute: limits.requests_per_minute }),
  ...(limits.tokens_per_minute === undefined ? {} : { tokensPerMinute: limits.tokens_per_minute }),
  ...(limits.concurrent === undefined ? {} : { concurrent: limits.concurrent }),
  burstMs: limits.burst,
})

const resolveUpstream = (upstream: ParsedUpstream): Upstream => ({
  id: upstream.id,
  wire: upstream.wire,
  dialect: upstream.dialect ?? defaultDialectOf(upstream.wire),
  baseUrl: upstream.base_url,
  apiVersion: upstream.api_version,
  apiKey: upstream.api_key === undefined ? undefined : new Secret(upstream.api_key),
  allowPrivate: upstream.allow_private,
  timeouts: {
    connectTimeoutMs: upstream.timeouts.connect,
    firstByteTimeoutMs: upstream.timeouts.first_byte,
    jsonAnswerTimeoutMs: upstream.timeouts.json_answer,
    idleTimeoutMs: upstream.timeouts.idle,
    noProgressTimeoutMs: upstream.timeouts.no_progress,
    totalTimeoutMs: upstream.timeouts.total,
  },
  headers: new Map(Object.entries(upstream.headers).map(([name, value]) => [name.toLowerCase(), new Secret(value)])),
  disconnectPolicy: upstream.on_client_gone,
  prefixMismatch: upstream.on_prefix_mismatch,
  traceContext: upstream.trace_context,
})

const resolveModel = (model: ParsedModel): ModelDefinition => ({
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
  ...(model.step_down && { stepDown: model.step_down }),
  ...(model.on_broken_tool_arguments === 'retry' && { retriesBrokenArguments: true }),
  price: model.price === undefined ? undefined : resolvePrice(model.price),
  kinds: model.kinds,
  passFields: model.pass_fields,
  lanes: model.lanes.map(({ traits, prompt_cache, cost, ...lane }) => ({
    ...lane,
    cost: cost && resolvePrice(cost),
    traits: readTraits(traits),
    promptCache: prompt_cache,
  })),
})

function resolvePrice(price: NonNullable<ParsedModel['price']>): PriceList {
  const tiers = price.tiers.map((tier) => ({ aboveInputTokens: tier.above_input_tokens, ...resolveTokenPrices(tier) }))
  tiers.sort((a, b) => a.aboveInputTokens - b.aboveInputTokens)
  const set = Object.entries(price.multipliers).filter(([, factors]) => Object.keys(factors ?? {}).length > 0)
  return {
    ...{ ...resolveTokenPrices(price), perRequest: price.per_request, tiers },
    // Sorted, so that the same price is the same version.
    ...(set.length > 0 && {
      multipliers: Object.fromEntries(
        set.sort().map(([field, factors]) => [field, Object.fromEntries(Object.entries(factors ?? {}).sort())]),
      ),
    }),
  }
}

interface ParsedTokenPrices {
  readonly input: PicoPerToken
  readonly cached_input?: PicoPerToken | undefined
  readonly cache_write?: PicoPerToken | undefined
  readonly output: PicoPerToken
}

const resolveTokenPrices = ({ input, cached_input, cache_write, output }: ParsedTokenPrices): TokenPrices => ({
  input,
  cachedInput: cached_input ?? input,
  cacheWrite: cache_write ?? input,
  output,
})
