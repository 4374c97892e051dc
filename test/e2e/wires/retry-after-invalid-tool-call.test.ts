import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { answerOf, send } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

const MALFORMED = { candidates: [{ content: { parts: [] }, finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }] }
const WHOLE = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
}

let far: FaultUpstream
let server: TestServer
/** How often the model slips before it answers. */
let slips = 0
beforeAll(async () => {
  far = await startFaultUpstream((model) => async (providerAnswer) => {
    await providerAnswer.head()
    await providerAnswer.frames(model === 'steady' || slips-- <= 0 ? WHOLE : MALFORMED)
    await providerAnswer.end()
  })
  const lane = (model: string, priority: number) => `{ upstream: far, model: ${model}, priority: ${priority} }`
  const model = (id: string, ...lanes: string[]) =>
    `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [${lanes.join(', ')}] }\n`
  server = await startServer({
    config: `${EVERY_LANE_ASKED}
upstreams:
  - { id: far, wire: gemini, base_url: "http://127.0.0.1:${far.port}/v1beta", allow_private: true }
models:
${model('alone', lane('slipping', 0))}${model('one-of-two', lane('slipping', 0), lane('steady', 1))}`,
  })
})
beforeEach(() => far.forget())
afterAll(async () => {
  await expectBalancedLedger(server)
  await server?.close()
  await far?.close()
})

it.each([
  { model: 'alone', slipping: 1, status: 200, receivedRequest: ['slipping', 'slipping'] },
  { model: 'alone', slipping: 9, status: 503, receivedRequest: ['slipping', 'slipping'] },
  { model: 'one-of-two', slipping: 1, status: 200, receivedRequest: ['slipping', 'steady'] },
])('$model, after $slipping invalid tool calls: $status', async ({ model, slipping, status, receivedRequest }) => {
  slips = slipping
  const account = await openAccount(server)
  const answer = await answerOf(await send(server, account, { model, messages: [{ role: 'user', content: 'Hi' }] }))
  expect([answer.status, far.providerAnswers.map((providerAnswer) => providerAnswer.model)]).toEqual([
    status,
    receivedRequest,
  ])
  const [receipt] = await account.receipts()
  expect(receipt?.charge_nano).toBe(status === 200 ? 3n * 1000n + 2000n : 0n)
})
