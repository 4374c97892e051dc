import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { refuses, whole } from '../fakes/emit.ts'
import { type FaultUpstream, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { type Collector, type ReceivedSpan, startCollector } from '../fixtures/telemetry/collector.ts'
import { send } from '../support/send-chat.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { until } from '../support/until.ts'

/** The program with an OpenTelemetry SDK, as an operator starts it, and a collector that takes its spans. */
const SDK = new URL('../fixtures/telemetry/preload-sdk.mjs', import.meta.url).href
const USAGE = {
  prompt_tokens: 40,
  completion_tokens: 9,
  prompt_tokens_details: { cached_tokens: 30 },
  completion_tokens_details: { reasoning_tokens: 4 },
}
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const CLIENT_SPAN = 'b7ad6b7169203331'
const SECRET_WORDS = 'the prompt that no trace may have'

let collector: Collector
let provider: FaultUpstream
let server: SpawnedServer | undefined

beforeAll(async () => {
  collector = await startCollector()
  provider = await startFaultUpstream((model) =>
    model === 'broken' ? (answer) => refuses(500)(answer, 'before') : (answer) => whole(answer, { usage: USAGE }),
  )
})
afterEach(async () => {
  await server?.close()
  server = undefined
  collector.spans.length = 0
  provider.forget()
})
afterAll(async () => {
  await collector?.close()
  await provider?.close()
})

const configOf = (traces: string, upstream = '') => `
telemetry: { traces: ${traces} }
upstreams:
  - { id: far, wire: chat, dialect: openai, base_url: "${provider.baseUrl}", api_key: sk-provider-secret-key, allow_private: true${upstream} }
models:
  - id: brisk
    context_tokens: 8000
    max_output_tokens: 1000
    price: { input: "1.00", output: "1.00" }
    lanes: [{ upstream: far, model: broken, priority: 1 }, { upstream: far, model: good, priority: 2 }]
`

const start = (config: string, environment: Readonly<Record<string, string>> = {}) =>
  spawnServer({
    config,
    environment: {
      NODE_OPTIONS: `--import ${SDK}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      ...environment,
    },
  })

async function ask(headers: Readonly<Record<string, string>> = {}, delivery: object = { stream: true }) {
  const body = { model: 'brisk', messages: [{ role: 'user', content: SECRET_WORDS }], ...delivery }
  const response = await send(server!, { key: server!.key }, body, { headers })
  await response.text()
  expect(response.status).toBe(200)
  return response.headers.get('x-request-id')
}

async function spansOfRequest(): Promise<{ readonly root: ReceivedSpan; readonly calls: readonly ReceivedSpan[] }> {
  const callSpans = () => collector.spans.filter(({ kind }) => kind === 'client')
  // The call of the second lane may end after the request, and be exported after it.
  await until(() => collector.spans.some(({ kind }) => kind === 'server') && callSpans().length >= 2)
  return { root: collector.spans.find(({ kind }) => kind === 'server')!, calls: callSpans() }
}

it('makes one span of a request and one of each call of a provider, in the trace of the client', async () => {
  server = await start(configOf('{ enabled: true }', ', trace_context: true'), {
    OTEL_SEMCONV_STABILITY_OPT_IN: 'http,gen_ai_latest_experimental',
  })
  const requestId = await ask({ traceparent: `00-${TRACE_ID}-${CLIENT_SPAN}-01`, tracestate: 'shop=1,ads=x' })
  const { root, calls } = await spansOfRequest()
  expect(root).toMatchObject({
    ...{ name: 'POST /v1/chat/completions', traceId: TRACE_ID, parentSpanId: CLIENT_SPAN, isError: false },
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'gen_ai.request.model': 'brisk',
      'millrace.outcome': 'completed',
      'millrace.request_id': requestId,
      'millrace.lane': 'far/good',
    },
  })
  expect(calls).toMatchObject([
    {
      ...{ name: 'chat broken', traceId: TRACE_ID, parentSpanId: root.spanId, isError: true },
      attributes: { 'error.type': 'failed', 'http.response.status_code': 500, 'gen_ai.provider.name': 'openai' },
    },
    {
      ...{ name: 'chat good', traceId: TRACE_ID, parentSpanId: root.spanId, isError: false },
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'good',
        'gen_ai.request.stream': true,
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.input_tokens': 40,
        'gen_ai.usage.output_tokens': 9,
        'gen_ai.usage.cache_read.input_tokens': 30,
        'gen_ai.usage.reasoning.output_tokens': 4,
        'gen_ai.response.time_to_first_chunk': expect.any(Number),
        'millrace.lane': 'far/good',
        'server.address': '127.0.0.1',
        'server.port': provider.port,
      },
    },
  ])
  expect(calls[1]?.attributes).not.toHaveProperty('gen_ai.system')
  // Each call has the trace of the client, with its own span as the parent.
  const sent = provider.providerAnswers.map(({ receivedHeaders }) => receivedHeaders)
  expect(sent.map((headers) => headers.get('traceparent'))).toEqual(
    calls.map(({ spanId }) => `00-${TRACE_ID}-${spanId}-01`),
  )
  expect(sent.map((headers) => headers.get('tracestate'))).toEqual(['shop=1,ads=x', 'shop=1,ads=x'])
  // Log lines are gathered for a moment.
  const lines = () => server!.logged('request').filter((each) => each.request_id === requestId)
  await until(() => lines().length > 0)
  expect(lines()).toMatchObject([{ trace_id: TRACE_ID }])
  for (const secret of [SECRET_WORDS, 'morning', server.key, 'sk-provider-secret-key'])
    expect(collector.received()).not.toContain(secret)
})

it('has the older names unless it is told, ignores a hostile trace, and tells providers nothing by default', async () => {
  server = await start(configOf('{ enabled: true }'))
  await ask({ traceparent: `00-${'0'.repeat(32)}-${CLIENT_SPAN}-01`, tracestate: 'a'.repeat(4000) }, { stream: false })
  const { root, calls } = await spansOfRequest()
  expect(root.parentSpanId).toBe('')
  expect(root.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/)
  expect(calls[1]?.attributes).toMatchObject({
    'gen_ai.system': 'openai',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 40,
  })
  for (const name of ['gen_ai.provider.name', 'gen_ai.request.stream', 'gen_ai.usage.cache_read.input_tokens'])
    expect(calls[1]?.attributes).not.toHaveProperty(name)
  expect(provider.providerAnswers.map(({ receivedHeaders }) => receivedHeaders.get('traceparent'))).toEqual([
    null,
    null,
  ])
})

it('begins a trace of its own for each request if clients are not trusted with that', async () => {
  server = await start(configOf('{ enabled: true, from_clients: false }'))
  await ask({ traceparent: `00-${TRACE_ID}-${CLIENT_SPAN}-01` })
  const { root } = await spansOfRequest()
  expect([root.traceId === TRACE_ID, root.parentSpanId]).toEqual([false, ''])
})

it('makes no spans while traces are off, though an SDK is there', async () => {
  server = await start(configOf('{ enabled: false }', ', trace_context: true'))
  const requestId = await ask({ traceparent: `00-${TRACE_ID}-${CLIENT_SPAN}-01` })
  await until(() => server!.logged('request').some((line) => line.request_id === requestId))
  expect(collector.spans).toEqual([])
  expect(server.logged('request').some((line) => 'trace_id' in line)).toBe(false)
  expect(provider.providerAnswers.map(({ receivedHeaders }) => receivedHeaders.get('traceparent'))).toEqual([
    null,
    null,
  ])
})

it('passes the trace of a client on without an SDK', async () => {
  server = await start(configOf('{ enabled: true }', ', trace_context: true'), { NODE_OPTIONS: '' })
  await ask({ traceparent: `00-${TRACE_ID}-${CLIENT_SPAN}-00` })
  expect(provider.providerAnswers.map(({ receivedHeaders }) => receivedHeaders.get('traceparent'))).toEqual([
    `00-${TRACE_ID}-${CLIENT_SPAN}-00`,
    `00-${TRACE_ID}-${CLIENT_SPAN}-00`,
  ])
  expect(collector.spans).toEqual([])
})
