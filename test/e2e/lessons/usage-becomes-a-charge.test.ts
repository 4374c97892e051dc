import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { CHAT_DIALECTS } from '../../../src/protocols/chat/dialects.ts'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, reply, usageChunk, WHOLE_TEXT, WORDS } from '../../fakes/chat-frames.ts'
import { delivered } from '../../fakes/delivered.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { fractionsFrom } from '../../fixtures/lib/seeded-random.ts'
import { readStream } from '../../support/read-stream.ts'
import { answerOf, chat, get, hello, send } from '../../support/send-chat.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import {
  boundOf,
  configOf,
  modelLine,
  priced,
  tokensOf,
  tokensOfWords,
  upstreamLine,
  useScriptedUpstream,
} from './scripted-server.ts'

/** What the provider counts in the next answer; undefined: nothing. */
let counted: unknown

async function counting(providerAnswer: ProviderAnswer): Promise<void> {
  await providerAnswer.head()
  const reported = counted === undefined ? {} : { usage: counted }
  if (providerAnswer.delivery === 'json') {
    const { usage: _usual, ...rest } = reply(providerAnswer.model)
    await providerAnswer.bytes(JSON.stringify({ ...rest, ...reported }))
  } else {
    for (const content of WORDS) await providerAnswer.frames(chunk(providerAnswer.model, { delta: { content } }))
    await providerAnswer.frames(chunk(providerAnswer.model, { finish: 'stop' }))
    if (counted !== undefined) await providerAnswer.frames(usageChunk(providerAnswer.model, counted))
    await providerAnswer.frames('[DONE]')
  }
  await providerAnswer.end()
}

/** One tells what it has counted so far and breaks off, the other breaks off without a word about it. */
const cutAfter =
  (reported: object): Script =>
  async (providerAnswer) => {
    await providerAnswer.head()
    await providerAnswer.frames(chunk(providerAnswer.model, { delta: { content: WORDS[0] }, more: reported }))
    await delivered()
    providerAnswer.reset()
  }

const CACHED = { prompt_tokens: 90, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 60 } }
const scripts: Record<string, Script> = {
  counting,
  uncounted: counting,
  'cut-counted': cutAfter({ usage: { ...CACHED, total_tokens: 92 } }),
}

/** The demo is no server over the network. */
const DIALECTS = CHAT_DIALECTS.map(({ name }) => name).filter((name) => name !== 'demo')

const setup = useScriptedUpstream(
  (model) => scripts[model],
  (baseUrl) =>
    configOf(
      baseUrl,
      [
        modelLine('counting', ['counting']),
        modelLine('uncounted', ['uncounted']),
        modelLine('cut-counted', ['cut-counted']),
        ...DIALECTS.map((name) => modelLine(`by-${name}`, ['counting'], { upstream: name })),
        '  - { id: unpriced, context_tokens: 1000, max_output_tokens: 10, lanes: [{ upstream: far, model: counting }] }\n',
      ],
      'plans:\n  - { id: all, models: ["*"], windows: [{ every: week, allowance: "1.00" }] }\n',
    ).replace(
      'models:\n',
      `${DIALECTS.map((name) => upstreamLine(baseUrl, name, `dialect: ${name},`)).join('')}models:\n`,
    ),
)

/** Long enough for any count here to be possible. */
const QUESTION = hello('Please say good morning. '.repeat(20))
const ASKED = { model: 'counting', messages: QUESTION, max_tokens: 500 }

/** Asks in both forms; what each cost, what its receipt says, and what the answer told. */
async function sendTurn(body: object, stream: boolean) {
  const account = await openAccount(setup().server)
  const before = (await account.wallet()).balance
  const form = stream ? { ...body, stream, stream_options: { include_usage: true } } : body
  const response = await send(setup().server, account, form)
  const usage = stream ? (await readStream(response)).chunks.at(-1).usage : (await answerOf(response)).json.usage
  const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
  const charge = before - (await account.wallet()).balance
  expect(charge).toBe(receipt.charge_nano)
  return { account, response, usage, receipt, charge }
}

interface Golden {
  /** As the server's own reference or a recorded answer has it. */
  readonly description: object
  readonly uncached: number
  readonly cached: number
  readonly written?: number
  readonly output: number
  readonly reasoning?: number
}

const plain = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
const detailed = {
  ...plain,
  prompt_tokens_details: { cached_tokens: 64 },
  completion_tokens_details: { reasoning_tokens: 12 },
}
const DETAILED = { description: detailed, uncached: 36, cached: 64, output: 20, reasoning: 12 }

/** What each server counts, and the classes that it comes to: none is in another, and together they are the whole. */
const GOLDEN: Readonly<Record<string, Golden>> = {
  generic: DETAILED,
  openai: {
    description: { ...detailed, prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 30, audio_tokens: 0 } },
    uncached: 6,
    cached: 64,
    written: 30,
    output: 20,
    reasoning: 12,
  },
  azure: DETAILED,
  deepseek: {
    description: { ...detailed, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 },
    uncached: 36,
    cached: 64,
    output: 20,
    reasoning: 12,
  },
  groq: { description: { ...plain, queue_time: 0.1, prompt_time: 0.01 }, uncached: 100, cached: 0, output: 20 },
  mistral: { description: { ...plain, num_cached_tokens: 64 }, uncached: 36, cached: 64, output: 20 },
  xai: {
    // Its completion leaves the reasoning out, and its total does not.
    description: { ...detailed, completion_tokens: 8 },
    uncached: 36,
    cached: 64,
    output: 20,
    reasoning: 12,
  },
  moonshot: { description: { ...plain, cached_tokens: 64 }, uncached: 36, cached: 64, output: 20 },
  alibaba: DETAILED,
  openrouter: {
    description: { ...detailed, cost: 0.0123, prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 30 } },
    uncached: 6,
    cached: 64,
    written: 30,
    output: 20,
    reasoning: 12,
  },
  together: { description: plain, uncached: 100, cached: 0, output: 20 },
  fireworks: {
    description: { ...plain, prompt_tokens_details: { cached_tokens: 64 } },
    uncached: 36,
    cached: 64,
    output: 20,
  },
  vllm: {
    description: { ...plain, prompt_tokens_details: { cached_tokens: 64 } },
    uncached: 36,
    cached: 64,
    output: 20,
  },
  ollama: { description: plain, uncached: 100, cached: 0, output: 20 },
  llamacpp: {
    description: { ...plain, prompt_tokens_details: { cached_tokens: 64 } },
    uncached: 36,
    cached: 64,
    output: 20,
  },
  lmstudio: { description: plain, uncached: 100, cached: 0, output: 20 },
  'github-copilot': {
    description: { ...plain, prompt_tokens_details: { cached_tokens: 64 } },
    uncached: 36,
    cached: 64,
    output: 20,
  },
  'google-vertex': {
    // As xai: thoughts are beside the completion.
    description: { ...detailed, completion_tokens: 8 },
    uncached: 36,
    cached: 64,
    output: 20,
    reasoning: 12,
  },
  'anthropic-compat': {
    description: { ...plain, prompt_tokens_details: {}, completion_tokens_details: {} },
    uncached: 100,
    cached: 0,
    output: 20,
  },
  'vercel-gateway': DETAILED,
  bedrock: DETAILED,
}

describe('usage becomes a charge', () => {
  it.each([false, true])('A6: usage beyond what is possible is clamped and flagged (stream: %s)', async (stream) => {
    for (const usage of [
      { prompt_tokens: 5_000_000_000, completion_tokens: 1 },
      { prompt_tokens: 1, completion_tokens: 9e15 },
      { prompt_tokens: 9e15, completion_tokens: 1e300 },
      { prompt_tokens: 9e15, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9e15 } },
    ]) {
      counted = usage
      const { receipt, charge } = await sendTurn(ASKED, stream)
      expect(receipt).toMatchObject({ estimated: 1, shortfall_nano: 0n, outcome: 'completed' })
      expect(charge).toBeGreaterThan(0n)
      expect(charge).toBeLessThanOrEqual(receipt.hold_nano)
      const input = receipt.uncached_input! + receipt.cached_input! + receipt.cache_write!
      expect(input).toBeLessThanOrEqual(
        boundOf(ASKED) + ',"stream":true,"stream_options":{"include_usage":true}'.length,
      )
      expect(receipt.output).toBeLessThanOrEqual(500)
    }
  })

  it('A8: every dialect has a row in the golden table', () => {
    expect(Object.keys(GOLDEN).sort()).toEqual([...DIALECTS].sort())
  })

  it.each(DIALECTS)(
    'A8, A16: %s: usage classes are disjoint and complete, the same for stream and JSON',
    async (name) => {
      const { description, uncached, cached, written = 0, output, reasoning = 0 } = GOLDEN[name]!
      const cost = priced({ input: uncached, cached, written, output })
      counted = description
      for (const stream of [false, true]) {
        const { receipt, charge, usage } = await sendTurn({ ...ASKED, model: `by-${name}` }, stream)
        expect(receipt).toMatchObject({
          uncached_input: uncached,
          cached_input: cached,
          cache_write: written,
          output,
          reasoning,
          estimated: 0,
        })
        expect(uncached + cached + written + output).toBe((description as { total_tokens: number }).total_tokens)
        expect(usage.total_tokens).toBe((description as { total_tokens: number }).total_tokens)
        expect([charge, nanoOf(usage.millrace.charge)]).toEqual([cost, cost])
      }
    },
  )

  it('A12: whatever usage a provider reports, a charge is never below zero or above its hold', async () => {
    const seed = randomInt(2 ** 32)
    const random = fractionsFrom(seed)
    const ODD = [-1, -5e11, 0, 0.5, 1e300, null, '7', [], {}, true, 2 ** 53, -0, undefined]
    const number = () =>
      random() < 0.5
        ? Math.floor(random() * 300)
        : random() < 0.3
          ? -Math.floor(random() * 300)
          : ODD[Math.floor(random() * ODD.length)]
    let charged = 0
    const turns = 200
    for (let turn = 0; turn < turns; turn++) {
      counted = {
        prompt_tokens: number(),
        completion_tokens: number(),
        cached_tokens: number(),
        prompt_tokens_details: { cached_tokens: number(), cache_write_tokens: number() },
        completion_tokens_details: { reasoning_tokens: number() },
      }
      const model = random() < 0.5 ? 'counting' : 'by-xai'
      const { charge, receipt } = await sendTurn({ ...ASKED, model }, random() < 0.5)
      expect(charge, `seed ${seed}: ${JSON.stringify(counted)}`).toBeGreaterThanOrEqual(0n)
      expect(charge).toBeLessThanOrEqual(receipt.hold_nano)
      const { uncached_input, cached_input, cache_write, output } = receipt
      for (const tokens of [uncached_input, cached_input, cache_write, output]) {
        expect(tokens, `seed ${seed}: ${JSON.stringify(counted)}`).toBeGreaterThanOrEqual(0)
        expect(Number.isSafeInteger(tokens)).toBe(true)
      }
      if (charge > 0n) charged += 1
    }
    console.info(`seed ${seed}: ${charged} of ${turns} were charged something`)
    expect(charged).toBeGreaterThan(turns / 2)
  })

  it.each([false, true])('A15: zero usage is usage; only missing usage is estimated (stream: %s)', async (stream) => {
    counted = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
    const none = await sendTurn(ASKED, stream)
    expect(none.receipt).toMatchObject({ charge_nano: 0n, output: 0, estimated: 0, state: 'settled' })
    for (const absent of [undefined, null, {}, { prompt_tokens: 0 }]) {
      counted = absent
      // A lane that has told nothing yet: nothing was learned of it.
      const { charge, receipt, usage } = await sendTurn({ ...ASKED, model: 'uncounted' }, stream)
      const output = stream ? tokensOfWords(WHOLE_TEXT) : tokensOf(WHOLE_TEXT)
      expect(charge).toBe(priced({ input: tokensOf(JSON.stringify(QUESTION)), output }))
      expect(receipt.estimated).toBe(1)
      expect(usage.millrace.estimated).toBe(true)
    }
  })

  it('A16: a model without a price cannot be called by any key', async () => {
    const account = await openAccount(setup().server)
    const builder = await account.createKey({ kind: 'builder' })
    await setup().server.operate('plans.assign', { account: account.id, plan: 'all' })
    for (const who of [account, builder]) {
      const answer = await chat(setup().server, who, { ...ASKED, model: 'unpriced' })
      expect([answer.status, answer.json.error.code]).toEqual([404, 'model_not_found'])
    }
    expect(setup().far.providerAnswers).toHaveLength(0)
    expect(await account.receipts()).toEqual([])
  })

  it('A17: a broken stream keeps its usage classes and model', async () => {
    const account = await openAccount(setup().server)
    const before = (await account.wallet()).balance
    const body = { ...ASKED, model: 'cut-counted', stream: true }
    expect((await readStream(await send(setup().server, account, body))).done).toBe(false)
    const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
    expect(receipt).toMatchObject({
      model: 'cut-counted',
      lane: 'far/cut-counted',
      outcome: 'upstream_failed',
      uncached_input: 30,
      cached_input: 60,
      output: 2,
      // It was told before the end: a lower bound, and here as much as the words are taken for.
      estimated: 1,
      charge_nano: priced({ input: 30, cached: 60, output: 2 }),
    })
    expect(before - (await account.wallet()).balance).toBe(receipt.charge_nano)
  })

  it.each([false, true])(
    'A21: the answer states the charge, the tier and the price version (stream: %s)',
    async (stream) => {
      const messages = hello('w'.repeat(1200))
      for (const [prompt, tier] of [
        [1000, 0],
        [1001, 1000],
      ] as const) {
        counted = { prompt_tokens: prompt, completion_tokens: 10, total_tokens: prompt + 10 }
        const { account, charge, usage, response } = await sendTurn({ ...ASKED, messages }, stream)
        const { json } = await get(setup().server, account, `/requests/${response.headers.get('x-request-id')}`)
        expect(usage.millrace).toEqual({
          charge: json.charge,
          currency: 'USD',
          tier,
          price_version: json.price_version,
        })
        expect([nanoOf(json.charge), json.tier]).toEqual([charge, tier])
        expect(charge).toBe(priced({ input: prompt, output: 10 }))
      }
    },
  )
})
