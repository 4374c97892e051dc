import { describe, expect, it } from 'vitest'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, reply, usageChunk } from '../../fakes/chat-frames.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { readStream } from '../../support/read-stream.ts'
import { answerOf, hello, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { configOf, modelLine, priced, useScriptedUpstream } from './scripted-server.ts'

const CONTEXT = 8192
/** What the provider counts in the next answers. */
let counted = 0

async function counting(providerAnswer: ProviderAnswer): Promise<void> {
  const usage = { prompt_tokens: counted, completion_tokens: 2, total_tokens: counted + 2 }
  await providerAnswer.head()
  if (providerAnswer.delivery === 'json')
    await providerAnswer.bytes(JSON.stringify({ ...reply(providerAnswer.model), usage }))
  else {
    await providerAnswer.frames(
      chunk(providerAnswer.model, { delta: { content: 'Yes.' } }),
      chunk(providerAnswer.model, { finish: 'stop' }),
    )
    await providerAnswer.frames(usageChunk(providerAnswer.model, usage), '[DONE]')
  }
  await providerAnswer.end()
}

const setup = useScriptedUpstream(
  () => counting,
  (baseUrl) =>
    configOf(
      baseUrl,
      ['small', 'outgrown', 'cheap'].map((id) =>
        modelLine(id, ['counting'], { more: `context_tokens: ${CONTEXT}, max_output_tokens: 4096, efforts: [low],` }),
      ),
    ),
)

/** A thousand of them are a thousand tokens for most tokenizers, and far fewer words than a lower bound may count. */
const digits = (tokens: number) => '123456 '.repeat(Math.ceil(tokens / 3))

async function sendTurn(body: object, path = '/chat/completions') {
  const account = await openAccount(setup().server)
  const response = await send(setup().server, account, body, { path })
  return { account, response }
}

async function listenMetrics(): Promise<number> {
  const outcome = await setup().server.serving.listenMetrics({ host: '127.0.0.1', port: 0 })
  if (outcome.kind !== 'listening') throw new Error(outcome.kind)
  return outcome.port
}

async function sumOfShortfall(port: number, model: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`millrace_shortfall_nano_usd_total{model="${model}"}`))
  return Number(line?.split(' ').at(-1) ?? 0)
}

describe('input that surely exceeds the context', () => {
  it.each([
    ['/chat/completions', 'small', { messages: hello('word '.repeat(80_000)) }],
    ['/chat/completions', 'small-low', { messages: hello('word '.repeat(80_000)) }],
    ['/responses', 'small', { input: 'word '.repeat(80_000) }],
    ['/responses/compact', 'small', { input: [{ role: 'user', content: 'word '.repeat(80_000) }] }],
  ])('is refused before any provider is called, and costs nothing (%s, %s)', async (path, model, body) => {
    const { account, response } = await sendTurn({ model, ...body }, path)
    const answer = await answerOf(response)
    expectProblem(answer, 'context_length_exceeded', { message: /at least 16384 tokens.* 8192 tokens/ })
    expect(setup().far.providerAnswers).toEqual([])
    expect(await account.receipts()).toEqual([])
  })

  it('is refused when previous_response_id makes it too long', async () => {
    counted = 10
    const account = await openAccount(setup().server)
    const ten = { input: 'word '.repeat(10_000), model: 'small' }
    const first = await answerOf(await send(setup().server, account, ten, { path: '/responses' }))
    expect(first.status).toBe(200)
    const next = { ...ten, previous_response_id: first.json.id }
    const second = await answerOf(await send(setup().server, account, next, { path: '/responses' }))
    expectProblem(second, 'context_length_exceeded', { param: 'input' })
  })
})

describe('input that may exceed the context', () => {
  it.each([false, true])('is held and charged in full, at its price tier (stream: %s)', async (stream) => {
    counted = 80_000
    const body = { model: 'small', max_tokens: 300, messages: hello(digits(80_000)), stream }
    const { account, response } = await sendTurn(body)
    if (stream) expect((await readStream(response)).text).toBe('Yes.')
    else expect((await answerOf(response)).json.usage.prompt_tokens).toBe(80_000)
    const [receipt] = await account.receipts()
    const cost = priced({ input: 80_000, output: 2 })
    expect(receipt).toMatchObject({ uncached_input: 80_000, estimated: 0, charge_nano: cost, shortfall_nano: 0n })
    // Its bound is its bytes, of the dearest class of the dearest tier.
    expect(receipt!.hold_nano).toBeGreaterThan(priced({ written: JSON.stringify(body.messages).length, output: 300 }))
  })

  it('is sent with the requested or granted cap, never with one token', async () => {
    counted = 80_000
    const capOf = async (body: object) => {
      setup().far.forget()
      const { account, response } = await sendTurn(body)
      await response.arrayBuffer()
      const receivedRequest = setup().far.providerAnswers[0]?.receivedRequest
      return [receivedRequest?.max_tokens, (await account.receipts())[0]?.output_cap]
    }
    const messages = hello(digits(80_000))
    expect(await capOf({ model: 'small', max_tokens: 300, messages })).toEqual([300, 300])
    expect(await capOf({ model: 'small', messages })).toEqual([4096, 4096])
    // Where there is room by the estimate, the cap is fitted to it.
    const [sent, granted] = await capOf({ model: 'small', messages: hello('x'.repeat(4 * 6000)) })
    expect(granted).toBe(4096)
    expect(sent).toBeGreaterThan(2000)
    expect(sent).toBeLessThan(CONTEXT - 6000)
  })
})

describe('usage beyond the hold', () => {
  it('is charged up to the hold; the rest is a shortfall on the receipt and in the metric', async () => {
    counted = 60_000
    const port = await listenMetrics()
    const before = await sumOfShortfall(port, 'cheap')
    const { account, response } = await sendTurn({ model: 'cheap', max_tokens: 10, messages: hello() })
    expect((await answerOf(response)).json.usage.prompt_tokens).toBe(60_000)
    const [receipt] = await account.receipts()
    const cost = priced({ input: 60_000, output: 2 })
    expect(receipt).toMatchObject({ cost_nano: cost, charge_nano: receipt!.hold_nano, uncached_input: 60_000 })
    expect(receipt!.shortfall_nano).toBe(cost - receipt!.hold_nano)
    expect(receipt!.shortfall_nano).toBeGreaterThan(0n)
    expect((await sumOfShortfall(port, 'cheap')) - before).toBe(Number(receipt!.shortfall_nano))
  })

  it('tells the operator that context_tokens is too small', async () => {
    const { server } = setup()
    const seen = async () => {
      const { models } = await server.operate('models.list', {})
      return models.find(({ id }) => id === 'outgrown')?.counted_beyond_context
    }
    counted = CONTEXT
    await (await sendTurn({ model: 'outgrown', max_tokens: 10, messages: hello() })).response.arrayBuffer()
    expect(await seen()).toBe(null)
    counted = CONTEXT + 1
    await (await sendTurn({ model: 'outgrown', max_tokens: 10, messages: hello() })).response.arrayBuffer()
    expect(await seen()).toBe(CONTEXT + 1)
  })
})
