import { afterAll, beforeAll, expect, it } from 'vitest'
import { reply, USAGE } from '../../fakes/chat-frames.ts'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { chat } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'

let far: FaultUpstream
let server: TestServer
beforeAll(async () => {
  // Its model takes no temperature while it reasons.
  far = await startFaultUpstream(() => async (providerAnswer) => {
    const { temperature, reasoning_effort: effort } = providerAnswer.receivedRequest
    const isRefused = temperature !== undefined && effort !== 'none'
    await providerAnswer.head(isRefused ? 400 : 200)
    const message = "Unsupported parameter: 'temperature' is not supported with this model."
    const error = { message, type: 'invalid_request_error', param: 'temperature', code: 'unsupported_parameter' }
    const answer = { ...reply(providerAnswer.model, { message: { content: 'Yes.' } }), usage: USAGE }
    await providerAnswer.bytes(JSON.stringify(isRefused ? { error } : answer))
    await providerAnswer.end()
  })
  server = await startServer({
    config: `upstreams: [{ id: far, wire: chat, dialect: openai, base_url: "${far.baseUrl}", allow_private: true }]\nmodels:\n  - { id: m, efforts: [none, high], context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: far, model: m }] }\n  - { id: known, efforts: [none, high], context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: far, model: known, traits: { sampling: false } }] }\n`,
  })
})
afterAll(async () => {
  await server?.close()
  await far?.close()
})

it('a field that a provider refuses is left out of that request, and never of those beside another effort', async () => {
  const [ada, ben] = [await openAccount(server), await openAccount(server)]
  const ask = async (who: { readonly key: string }, model: string, effort: string) => {
    far.forget()
    const fields = { model, max_tokens: 20, temperature: 0.5, reasoning_effort: effort }
    const { status, headers } = await chat(server, who, fields)
    const sent = far.providerAnswers.map(({ receivedRequest }) => receivedRequest.temperature ?? 'none')
    return [status, headers.get('x-millrace-ignored-fields'), ...sent]
  }
  expect(await ask(ada, 'm', 'high')).toEqual([200, 'temperature', 0.5, 'none'])
  expect(await ask(ben, 'm', 'none')).toEqual([200, null, 0.5])
  // Beside the same effort it is left out for some minutes.
  expect(await ask(ada, 'm', 'high')).toEqual([200, 'temperature', 'none'])
  // Where the operator says it there is no refused call.
  expect(await ask(ada, 'known', 'high')).toEqual([200, 'temperature', 'none'])
})
