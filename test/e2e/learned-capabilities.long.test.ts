import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reply, USAGE } from '../fakes/chat-frames.ts'
import { type FaultUpstream, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { chat } from '../support/send-chat.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { EVERY_LANE_ASKED } from '../support/test-config.ts'

let provider: FaultUpstream
let server: SpawnedServer

/** `known` and `decided` ask the same model, of which the operator says something else in one; `unknown` asks no known one. */
const config = () => `
${EVERY_LANE_ASKED}
upstreams: [{ id: far, wire: chat, dialect: openai, base_url: "${provider.baseUrl}", allow_private: true }]
models:
  - { id: known, efforts: [low, high], context_tokens: 400000, max_output_tokens: 128000, price: { input: "1.00", cached_input: "0.125", output: "12.00" }, lanes: [{ upstream: far, model: gpt-5 }] }
  - { id: decided, context_tokens: 400000, max_output_tokens: 128000, price: { input: "1.25", cached_input: "0.125", output: "10.00" }, lanes: [{ upstream: far, model: gpt-5, traits: { sampling: true } }] }
  - { id: unknown, context_tokens: 1000, max_output_tokens: 100, price: { input: "0", output: "0" }, lanes: [{ upstream: far, model: gpt-5-of-our-own }] }
`

beforeAll(async () => {
  provider = await startFaultUpstream(() => async (providerAnswer) => {
    await providerAnswer.head()
    await providerAnswer.bytes(
      JSON.stringify({ ...reply(providerAnswer.model, { message: { content: 'Yes.' } }), usage: USAGE }),
    )
    await providerAnswer.end()
  })
  server = await spawnServer({ config: config() })
}, 60_000)
afterAll(async () => {
  await server?.close()
  await provider?.close()
})

describe('learned capabilities', () => {
  const sendTurn = async (model: string) => {
    provider.forget()
    const fields = { model, max_tokens: 50, temperature: 0.5, top_p: 0.9, reasoning_effort: 'low' }
    const { status, headers } = await chat(server, server, fields)
    expect(status).toBe(200)
    return {
      receivedRequest: provider.providerAnswers[0]!.receivedRequest,
      ignored: headers.get('x-millrace-ignored-fields'),
    }
  }

  it('unsupported sampling fields are dropped and named', async () => {
    const { receivedRequest, ignored } = await sendTurn('known')
    expect(receivedRequest).toMatchObject({ model: 'gpt-5', reasoning_effort: 'low' })
    expect(receivedRequest).not.toHaveProperty('temperature')
    expect(receivedRequest).not.toHaveProperty('top_p')
    expect(ignored).toBe('temperature, top_p')
  })

  it('but not when the operator overrides, or nothing is known', async () => {
    for (const model of ['decided', 'unknown']) {
      const { receivedRequest, ignored } = await sendTurn(model)
      expect(receivedRequest).toMatchObject({ temperature: 0.5, top_p: 0.9 })
      expect(ignored).toBeNull()
    }
  })
})

describe('millrace catalog', () => {
  it('shows where the configuration differs from known facts, and the cost, while the server runs', async () => {
    const { code, out, err } = await server.run('catalog')
    expect(code).toBe(0)
    expect(out).toMatch(/^known +far\/gpt-5 +input +1\.00 +1\.25 +below the provider’s price: sold at a loss$/m)
    expect(out).toMatch(/^known +far\/gpt-5 +output +12\.00 +10\.00$/m)
    expect(out).toMatch(/^decided +far\/gpt-5 +traits\.sampling +yes +no +from your configuration$/m)
    expect(out).toMatch(/^unknown +far\/gpt-5-of-our-own +no known facts of gpt-5-of-our-own \(openai\)$/m)
    expect(out).not.toContain('context_tokens')
    expect(out + err).not.toContain('\u001b')
    expect(err).toMatch(/^Known facts of \d{4}-\d{2}-\d{2}\. Your configuration decides\.$/m)
    expect(err).toContain(
      'warning: known on far/gpt-5: input is sold at 1.00 and costs 1.25 USD per million tokens: a loss.',
    )
  })

  it('shows one model in full, as text and JSON', async () => {
    const { out } = await server.run('catalog', 'decided', '--all')
    expect(out).toMatch(/^decided +far\/gpt-5 +context_tokens +400000 +400000$/m)
    expect(out).toMatch(/^decided +far\/gpt-5 +traits\.json_schema +native +assumed by the dialect$/m)
    expect(out).not.toMatch(/^known/m)
    const view = await server.json('catalog', 'known-high')
    expect(view).toMatchObject({ as_of: expect.stringMatching(/^\d{4}/), lanes: [{ model: 'known', known: true }] })
  })

  it('explains invalid arguments', async () => {
    expect(await server.run('catalog', 'nothing')).toMatchObject({ code: 1, out: '' })
    expect(await server.run('catalog', 'known', '--known')).toMatchObject({ code: 2, out: '' })
    const { code, err } = await server.run('catalog', '--propose', 'openai/gpt-99')
    expect([code, err]).toEqual([1, expect.stringMatching(/no known model "gpt-99" of openai/)])
    expect((await server.run('catalog', '--known', '__proto__')).err).toMatch(/Dialects: anthropic, google, openai/)
  })

  it('lists the facts and proposes an entry', async () => {
    const { out } = await server.run('catalog', '--known', 'openai')
    expect(out).toMatch(/^openai +gpt-5 +minimal low medium high +400000 +128000 +1\.25 +0\.125 +10\.00$/m)
    const { models } = await server.json('catalog', '--known')
    expect(models).toEqual(expect.arrayContaining([expect.objectContaining({ dialect: 'anthropic' })]))
    expect((await server.run('catalog', '--propose', 'openai/gpt-5')).out).toMatch(/^models:\n {2}- id: gpt-5\n/)
  })

  it('works without a server; check reports the same differences', async () => {
    const running = await server.json('catalog')
    server.kill('SIGTERM')
    await server.ended
    expect(await server.json('catalog')).toEqual(running)
    const { code, out } = await server.run('check')
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^ {2}warning: known on far\/gpt-5: input is sold at 1\.00/m),
    ])
    const { out: table } = await server.run('models')
    expect(table).toMatch(
      /^id +efforts +inputs +context +input +cached +cache write +output +prompt cache +kinds +lanes$/m,
    )
  })
})
