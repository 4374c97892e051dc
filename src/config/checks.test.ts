import { expect, test } from 'vitest'
import { loaded, placesOf, problemsOf } from '../../test/fixtures/config/config.ts'

const model = (keys: string) =>
  `upstreams: [{ id: demo, wire: demo }]\nmodels: [{ id: m, context_tokens: 9, max_output_tokens: 9, lanes: [{ upstream: demo, model: x }], ${keys} }]`

test('multipliers are factors of values that change the price', () => {
  const price = (multipliers: string) => model(`price: { input: "1", output: "1", multipliers: ${multipliers} }`)
  const { config } = loaded({
    yaml: price('{ service_tier: { priority: "2", flex: "0.5" }, inference_geo: { us: "1.1" } }'),
  })
  expect(config.models[0]?.price?.multipliers).toEqual({
    inference_geo: { us: 1_100_000n },
    service_tier: { flex: 500_000n, priority: 2_000_000n },
  })
  const refused = (multipliers: string) =>
    problemsOf({ yaml: price(multipliers) }).map(({ path, message }) => `${path}: ${message}`)
  expect(refused('{ service_tier: { default: "2" } }')).toEqual([
    'models[0].price.multipliers.service_tier.default: default is the base price',
  ])
  expect(refused('{ service_tier: { Priority: "2" } }')).toEqual([
    'models[0].price.multipliers.service_tier.Priority: this is no value of the field',
  ])
  expect(refused('{ service_tier: { priority: "0" } }')[0]).toMatch(/a factor from "0.000001" to "1000"/)
  expect(placesOf({ yaml: price('{ tier: { priority: "2" } }') })[0]).toMatch(/multipliers/)
})

test('keys at their default are accepted in any spelling', () => {
  const yaml = `server: { workers: 1, public_url: null, trust_proxy: [] }
storage: { database: sqlite }
upstreams: [{ id: demo, wire: demo, base_url: null, api_key: "\${NONE:-}", allow_private: false, timeouts: { total: 1800s }, headers: {}, on_client_gone: cancel_estimate }]
models: [{ id: m, context_tokens: 9, max_output_tokens: 9, lanes: [{ upstream: demo, model: x }], inputs: [text], input_tokens_max: {}, pass_fields: [], price: { input: "0", output: "0", tiers: [], multipliers: {} } }]
plans: []
limits: { model: {}, account_model: { burst: 1m } }
hosted_tools: ignore
bounds: { frame_bytes: 4096KiB }
hold: { uncapped_share_percent: 25, uncapped_tokens_min: 1024 }
retention: { state: 3d, idempotency: 1h, idempotency_bytes: 0 }
`
  expect(loaded({ yaml }).config.models).toHaveLength(1)
})

test('supported keys are accepted with other values than their default', () => {
  const yaml = `server: { host: "::", port: 0, public_url: "https://a.b/x/", metrics_host: 0.0.0.0, metrics_port: 0, trust_proxy: [10.0.0.0/8, "::1"], allowed_origins: ["https://a.b"] }
bounds: { body_bytes: 1MB, expansion_ratio: 10, json_values: 1000, json_depth: 16, header_bytes: 8KiB, header_timeout: 1s, request_timeout: 5s, keep_alive_timeout: 0, frame_bytes: 1MiB }
drain: { timeout: 5s, linger: 5s }
limits: { key: { requests_per_minute: 1, tokens_per_minute: 2, concurrent: 3, burst: 10s }, account: { concurrent: 9 }, account_model: { concurrent: 8 }, model: { tokens_per_minute: 7 }, address: { refused_per_minute: off, burst: 1s } }
streams: { keep_alive: 1s, silence_before_head: 1s }
hosted_tools: reject
ledger: { mark_interval: 50ms }
retention: { state: 1h, state_bytes: 0 }
telemetry: { metrics: false, log: { level: warn, format: json } }
upstreams: [{ id: vllm, wire: chat, base_url: "http://10.0.0.7:8000/v1", api_key: k, dialect: vllm, allow_private: true, timeouts: { connect: 1s, first_byte: 10m, json_answer: 20m, idle: 2s, no_progress: 3s, total: 1h }, headers: { X-Team: seven }, on_client_gone: drain }, { id: codex, wire: responses, dialect: openai, base_url: "https://a.b/v1" }]
models: [{ id: m, context_tokens: 9, max_output_tokens: 9, lanes: [{ upstream: vllm, model: x }], pass_fields: [mirostat, store], inputs: [text, image], input_tokens_max: { image: 1600 } }]
hold: { uncapped_share_percent: 50, uncapped_tokens_min: 1 }
`
  const { config } = loaded({ yaml })
  expect(config.server.publicUrl).toBe('https://a.b/x')
  expect(config.retention).toMatchObject({ stateMs: 3_600_000, stateBytesMax: 0 })
  expect(config.hold).toEqual({ sharePercent: 50, tokensMin: 1 })
  expect(config.models[0]).toMatchObject({ passFields: ['mirostat', 'store'], inputs: ['text', 'image'] })
  expect(config.models[0]?.inputTokensMax).toEqual({ image: 1600 })
  expect(config.upstreams[0]).toMatchObject({
    dialect: 'vllm',
    allowPrivate: true,
    disconnectPolicy: 'drain',
    timeouts: {
      connectTimeoutMs: 1000,
      firstByteTimeoutMs: 600_000,
      jsonAnswerTimeoutMs: 1_200_000,
      idleTimeoutMs: 2000,
      noProgressTimeoutMs: 3000,
      totalTimeoutMs: 3_600_000,
    },
  })
  expect(config.upstreams[0]?.headers.get('x-team')?.reveal()).toBe('seven')
  expect(config.server.trustProxy).toEqual(['10.0.0.0/8', '::1'])
  expect(config.limits.address).toEqual({ refusedPerMinute: undefined, burstMs: 1000 })
  expect(config.limits.accountModel).toEqual({ concurrent: 8, burstMs: 60_000 })
  expect(config.limits.model).toEqual({ tokensPerMinute: 7, burstMs: 60_000 })
  expect(config.limits.key).toEqual({ requestsPerMinute: 1, tokensPerMinute: 2, concurrent: 3, burstMs: 10_000 })
})

const DECIDED = ['service_tier', 'max_tokens', 'Model', 'plugins', 'max_output_tokens', 'Background', 'reasoning']
test.each(DECIDED)('pass_fields cannot pass %s on to a provider', (field) => {
  const yaml = model(`pass_fields: [top_k, ${field}]`)
  expect(problemsOf({ yaml }).map(({ path, message }) => `${path}: ${message}`)).toEqual([
    `models[0].pass_fields[1]: Millrace handles the field ${field} itself`,
  ])
})
