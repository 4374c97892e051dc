import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findAnyRequest } from '../../src/admin/requests.ts'
import type { Fields } from '../../src/lib/types.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { chat, get, hello } from '../support/send-chat.ts'
import { respond } from '../support/send-responses.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { nanoOf, openAccount, type TestAccount } from '../support/test-account.ts'
import { expectBalancedLedger } from '../support/use-server.ts'

/** Long enough for the count of its tokens. */
const WORDS = 'So many words were said here before. '.repeat(60)
const INPUT = 1003
const OUTPUT = 101
/** Of the tokens at the base price, in pico-dollars: input 1.000001, output 2 USD per million. */
const PICO = BigInt(INPUT) * 1_000_001n + BigInt(OUTPUT) * 2_000_000n
const charged = (...factors: readonly bigint[]) => {
  const product = factors.reduce((all, factor) => all * factor, PICO)
  const scale = 1000n * 1_000_000n ** BigInt(factors.length)
  return (product + scale - 1n) / scale
}

const WIRES = ['chat', 'responses', 'anthropic', 'gemini'] as const
type Wire = (typeof WIRES)[number]

/** What the provider says that it has served; absent: nothing. */
let serves: Fields = {}
let head: Record<string, string> = {}
let received: Fields = {}

/** Answers in the protocol of the path, as stream or JSON, with the usage of above. */
const provider = createServer(async (request, response) => {
  let text = ''
  for await (const piece of request) text += String(piece)
  received = JSON.parse(text)
  const wire = WIRES.find((each) => request.url?.startsWith(`/${each}/`))!
  const isStream = received.stream === true || request.url!.includes('stream')
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json', ...head })
  response.end(isStream ? STREAMS[wire]() : JSON.stringify(WHOLE[wire]()))
})

const frame = (value: Fields, named = false) =>
  `${named ? `event: ${String(value.type)}\n` : ''}data: ${JSON.stringify(value)}\n\n`
const chatUsage = { prompt_tokens: INPUT, completion_tokens: OUTPUT, total_tokens: INPUT + OUTPUT }
const chatHead = { id: 'c', created: 1, model: 'm' }
const whole = () => ({
  ...{ id: 'r', object: 'response', created_at: 1, status: 'completed', model: 'm', ...serves },
  output: [
    {
      ...{ type: 'message', id: 'm', role: 'assistant', status: 'completed' },
      content: [{ type: 'output_text', text: 'Yes.', annotations: [] }],
    },
  ],
  usage: { input_tokens: INPUT, output_tokens: OUTPUT, total_tokens: INPUT + OUTPUT },
})
const chunk = (choices: readonly Fields[], more: Fields = {}) =>
  frame({ ...chatHead, object: 'chat.completion.chunk', choices, ...serves, ...more })
const WHOLE: Readonly<Record<Wire, () => Fields>> = {
  chat: () => ({
    ...{ ...chatHead, object: 'chat.completion', usage: chatUsage, ...serves },
    choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  }),
  responses: whole,
  anthropic: () => ({}),
  gemini: () => ({}),
}
const STREAMS: Readonly<Record<Wire, () => string>> = {
  chat: () =>
    `${chunk([{ index: 0, delta: { role: 'assistant', content: 'Yes.' }, finish_reason: null }])}${chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])}${chunk([], { usage: chatUsage })}data: [DONE]\n\n`,
  responses: () =>
    frame({ type: 'response.created', response: { ...whole(), status: 'in_progress', output: [] } }, true) +
    frame({ type: 'response.completed', response: whole() }, true),
  anthropic: () =>
    [
      { type: 'message_start', message: { usage: { input_tokens: INPUT, output_tokens: 1, ...serves } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Yes.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: OUTPUT } },
      { type: 'message_stop' },
    ]
      .map((each) => frame(each, true))
      .join(''),
  gemini: () =>
    frame({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Yes.' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        ...{ promptTokenCount: INPUT, candidatesTokenCount: OUTPUT, totalTokenCount: INPUT + OUTPUT },
        ...(serves.service_tier === undefined ? {} : { serviceTier: serves.service_tier }),
      },
    }),
}
const DIALECTS = { chat: 'openai', responses: 'openai', anthropic: 'anthropic', gemini: 'google' } as const

const MULTIPLIERS =
  'multipliers: { service_tier: { priority: "2", flex: "0.5" }, inference_geo: { us: "1.1" }, speed: { fast: "6" } }'

let server: TestServer
let account: TestAccount

beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const sizes = 'context_tokens: 20000, max_output_tokens: 1000'
  const price = `input: "1.000001", output: "2"`
  server = await startServer({
    config: `
upstreams:
${WIRES.map((wire) => `  - { id: ${wire}, wire: ${wire}, dialect: ${DIALECTS[wire]}, base_url: "${base}/${wire}/v1", allow_private: true }`).join('\n')}
  - { id: local, wire: chat, dialect: vllm, base_url: "${base}/chat/v1", allow_private: true }
models:
${WIRES.map((wire) => `  - { id: ${wire}, ${sizes}, price: { ${price}, ${MULTIPLIERS} }, lanes: [{ upstream: ${wire}, model: m, cost: { input: "1", output: "1", multipliers: { service_tier: { priority: "3" } } } }] }`).join('\n')}
  - { id: plain, ${sizes}, price: { ${price} }, lanes: [{ upstream: chat, model: m }] }
  - { id: local, ${sizes}, price: { ${price}, ${MULTIPLIERS} }, lanes: [{ upstream: local, model: m }] }
  - { id: both, ${sizes}, price: { ${price}, ${MULTIPLIERS} }, lanes: [{ upstream: local, model: m }, { upstream: chat, model: m, priority: 2 }] }
`,
  })
  account = await openAccount(server)
})
afterAll(async () => {
  await expectBalancedLedger(server)
  await server.close()
  await new Promise((resolve) => provider.close(resolve))
})

async function ask(
  model: string,
  asked: Fields,
  { served = {}, json = true }: { served?: Fields; json?: boolean } = {},
) {
  serves = served
  received = {}
  const answer = await (json
    ? chat(server, account, { model, max_tokens: 500, messages: hello(WORDS), ...asked })
    : respond(server, account, { model, max_output_tokens: 500, input: WORDS, ...asked }))
  const receipt = answer.status === 200 ? (await get(server, account, `/requests/${answer.requestId}`)).json : undefined
  return { ...answer, receipt }
}

const PRIORITY = { service_tier: 'priority' }

describe.each(WIRES)('a service tier over %s', (wire) => {
  // [asked, served, factor, how the receipt names it]
  const CASES: readonly (readonly [string | undefined, string | undefined, bigint | undefined, string | undefined])[] =
    [
      ['priority', 'priority', 2_000_000n, 'priority'],
      // Without a word of the provider it is what was asked for.
      ['priority', undefined, 2_000_000n, 'priority'],
      ['priority', 'default', undefined, undefined],
      ['priority', 'unheard-of', 2_000_000n, 'priority'],
      [undefined, 'default', undefined, undefined],
      // A client never pays for more than it asked for.
      [undefined, 'priority', undefined, undefined],
      [undefined, 'flex', 500_000n, 'flex'],
      ...(wire === 'anthropic'
        ? []
        : ([
            ['flex', 'flex', 500_000n, 'flex'],
            ['flex', 'default', undefined, undefined],
            ['flex', 'priority', undefined, undefined],
          ] as const)),
    ]

  it.each(['chat', 'responses'] as const)('for a client of %s', async (client) => {
    for (const [asked, served, factor, named] of CASES) {
      const told = `${asked} → ${served}`
      const { status, json, receipt } = await ask(
        wire,
        { ...(asked && { service_tier: asked }) },
        { served: served === undefined ? {} : { service_tier: served }, json: client === 'chat' },
      )
      expect([status, told]).toEqual([200, told])
      const sent = wire === 'anthropic' && asked === 'priority' ? 'auto' : asked
      expect(received.service_tier, told).toBe(sent)
      const charge = charged(...(factor === undefined ? [] : [factor]))
      expect([nanoOf(receipt.charge), told]).toEqual([charge, told])
      expect(receipt.multiplied_by, told).toEqual(
        named === undefined ? (asked === undefined ? null : {}) : { service_tier: named },
      )
      expect(nanoOf(json.usage.millrace.charge)).toBe(charge)
      expect(json.usage.millrace.multiplied_by).toEqual(named === undefined ? undefined : { service_tier: named })
      if (client === 'responses') expect(json.service_tier).toBe(named ?? 'default')
      // The hold covers the dearest end.
      expect(nanoOf(receipt.hold)).toBeGreaterThanOrEqual(charged(asked === 'priority' ? 2_000_000n : 1_000_000n))
    }
  })
})

describe('multipliers', () => {
  it('multiply each other, and are rounded up once', async () => {
    const { receipt } = await ask('anthropic', { service_tier: 'priority', inference_geo: 'us', speed: 'fast' })
    expect(received).toMatchObject({ service_tier: 'auto', inference_geo: 'us', speed: 'fast' })
    expect(nanoOf(receipt.charge)).toBe(charged(2_000_000n, 6_000_000n, 1_100_000n))
    const { receipt: served } = await ask(
      'anthropic',
      { service_tier: 'priority', inference_geo: 'us' },
      { served: { service_tier: 'standard', inference_geo: 'us', speed: 'standard' } },
    )
    expect(nanoOf(served.charge)).toBe(charged(1_100_000n))
    expect(served.multiplied_by).toEqual({ inference_geo: 'us' })
  })

  it('of Gemini are told in a header too', async () => {
    head = { 'x-gemini-service-tier': 'standard' }
    const { receipt } = await ask('gemini', PRIORITY)
    head = {}
    expect(nanoOf(receipt.charge)).toBe(charged())
  })

  it('count for the cost of the provider as it served them', async () => {
    const costOf = async (asked: Fields, served: Fields) => {
      const { requestId } = await ask('chat', asked, { served })
      const row = (await account.receipts()).find(({ request_id }) => request_id === requestId)!
      return JSON.parse(row.attempts!).at(-1).cost
    }
    const base = BigInt(INPUT + OUTPUT) * 1000n
    expect(await costOf({}, {})).toBe(String(base))
    expect(await costOf(PRIORITY, PRIORITY)).toBe(String(base * 3n))
    expect(await costOf(PRIORITY, { service_tier: 'default' })).toBe(String(base))
    expect(await costOf({}, PRIORITY)).toBe(String(base * 3n))
  })

  it('are refused where the model has no price for them, naming those that it has', async () => {
    expectProblem(await ask('plain', PRIORITY), 'unsupported_value', { param: 'service_tier' })
    const unknown = await ask('chat', { service_tier: 'ultrafast' })
    expectProblem(unknown, 'unsupported_value', { param: 'service_tier' })
    expect(unknown.json.error.message).toContain('flex, priority')
    expectProblem(await ask('chat', { service_tier: 7 }), 'unsupported_value', { param: 'service_tier' })
    expectProblem(await ask('chat', { inference_geo: '__proto__' }), 'unsupported_value', { param: 'inference_geo' })
    expectProblem(await ask('chat', { service_tier: 'constructor' }), 'unsupported_value', { param: 'service_tier' })
    for (const value of ['auto', 'default', 'standard', null]) {
      const { status } = await ask('chat', { service_tier: value })
      expect(status).toBe(200)
      expect(received).not.toHaveProperty('service_tier')
    }
  })

  it('need a lane that knows the field, and skip one that does not', async () => {
    expectProblem(await ask('local', PRIORITY), 'unsupported_value', { param: 'service_tier' })
    expectProblem(await ask('chat', { speed: 'fast' }), 'unsupported_value', { param: 'speed' })
    const { receipt } = await ask('both', PRIORITY)
    expect(received.service_tier).toBe('priority')
    expect(nanoOf(receipt.charge)).toBe(charged(2_000_000n))
  })

  it('refuse what the wallet does not cover at the dearest end', async () => {
    const poor = await openAccount(server, { credit: '0.006' })
    const body = { model: 'chat', messages: hello(WORDS), max_tokens: 1000 }
    serves = {}
    expect((await chat(server, poor, { ...body, service_tier: 'priority' })).status).toBe(402)
    expect((await chat(server, poor, { ...body, service_tier: 'flex' })).status).toBe(200)
  })

  it('have a line of their own in the console, and the lines add up to the cost', async () => {
    const { requestId, receipt } = await ask('anthropic', { service_tier: 'priority', inference_geo: 'us' })
    const found = await findAnyRequest(server.app.operations, requestId)
    const lines = found.kind === 'done' ? found.value.request.lines : []
    expect(lines.map(({ what, multiplied_by }) => [what, multiplied_by])).toEqual([
      ['uncached_input', null],
      ['output', null],
      ['service_tier', { value: 'priority', factor: '2.00' }],
      ['inference_geo', { value: 'us', factor: '1.10' }],
    ])
    const pico = lines.reduce(
      (sum, { amount }) => sum + BigInt(amount.replace('.', '').padEnd(amount.indexOf('.') + 12, '0')),
      0n,
    )
    expect((pico + 999n) / 1000n).toBe(nanoOf(receipt.cost))
  })
})
