import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { INVALID_ANSWERS, type LaneWire, VALID_ANSWERS, WIRES } from './invalid-answers.ts'

const BASE: Readonly<Record<LaneWire, string>> = { chat: '/v1', responses: '/v1', anthropic: '/v1', gemini: '/v1beta' }
const PRICE = '{ input: "1.00", output: "2.00" }'
const HEALTHY = 'healthy'

let far: FaultUpstream
let server: TestServer
beforeAll(async () => {
  const all = Object.fromEntries([...INVALID_ANSWERS, ...VALID_ANSWERS].map((answer) => [answer.id, answer]))
  far = await startFaultUpstream((model) => {
    const answer = all[model]
    return async (providerAnswer) => {
      const json = providerAnswer.delivery === 'json' && answer?.reply !== undefined
      await providerAnswer.head()
      if (json) await providerAnswer.bytes(JSON.stringify(answer.reply))
      else await providerAnswer.frames(...(answer?.stream ?? []))
      await providerAnswer.end()
    }
  })
  const upstreams = WIRES.map(
    (wire) =>
      `  - { id: ${wire}, wire: ${wire}, base_url: "http://127.0.0.1:${far.port}${BASE[wire]}", allow_private: true }\n`,
  )
  const model = (id: string, lanes: readonly string[]) =>
    `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, price: ${PRICE}, lanes: [${lanes.join(', ')}] }\n`
  const lane = (wire: LaneWire, id: string, priority = 0) =>
    `{ upstream: ${wire}, model: ${id}, priority: ${priority} }`
  const models = [
    ...[...INVALID_ANSWERS, ...VALID_ANSWERS].map(({ id, wire }) => model(id, [lane(wire, id)])),
    ...INVALID_ANSWERS.map(({ id, wire }) =>
      model(`${id}-or-${HEALTHY}`, [lane(wire, id), lane('chat', 'chat-valid', 1)]),
    ),
  ]
  server = await startServer({
    config: `${EVERY_LANE_ASKED}\nupstreams:\n${upstreams.join('')}models:\n${models.join('')}`,
  })
})
afterAll(async () => {
  await expectBalancedLedger(server)
  await server?.close()
  await far?.close()
})

type Protocol = 'chat' | 'responses'
type Delivery = 'json' | 'stream'

/** What a client makes of it: whole, failed, or neither. */
async function sendTurn(
  protocol: Protocol,
  delivery: Delivery,
  model: string,
): Promise<{ outcome: string; body: string }> {
  const account = await openAccount(server)
  const tool = { name: 'look', parameters: { type: 'object', properties: {} } }
  const stream = delivery === 'stream'
  const receivedRequest =
    protocol === 'chat'
      ? { model, stream, messages: [{ role: 'user', content: 'Hi' }], tools: [{ type: 'function', function: tool }] }
      : { model, stream, input: 'Hi', store: false, tools: [{ type: 'function', ...tool }] }
  const response = await fetch(`${server.baseUrl}/${protocol === 'chat' ? 'chat/completions' : 'responses'}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(receivedRequest),
  })
  const body = await response.text()
  if (!stream || response.status !== 200)
    return { outcome: response.status === 200 ? 'whole' : `failed ${response.status}`, body }
  const hasFailed = protocol === 'chat' ? body.includes('{"error":') : body.includes('"type":"response.failed"')
  const isWhole = protocol === 'chat' ? body.endsWith('data: [DONE]\n\n') : body.includes('"type":"response.completed"')
  return { outcome: hasFailed && !isWhole ? 'failed in the stream' : isWhole && !hasFailed ? 'whole' : 'neither', body }
}

const CLIENTS: readonly (readonly [Protocol, Delivery])[] = [
  ['chat', 'json'],
  ['chat', 'stream'],
  ['responses', 'json'],
  ['responses', 'stream'],
]

describe.each(CLIENTS)('a %s client with %s', (protocol, delivery) => {
  it.each(VALID_ANSWERS.map((answer) => [answer.id]))('gets a valid answer: %s', async (id) => {
    expect(await sendTurn(protocol, delivery, id)).toMatchObject({ outcome: 'whole' })
  })

  it.each(INVALID_ANSWERS.map((answer) => [answer.id]))('gets an error for an invalid answer: %s', async (id) => {
    const { outcome, body } = await sendTurn(protocol, delivery, id)
    expect(['failed 503', ...(delivery === 'stream' ? ['failed in the stream'] : [])], body).toContain(outcome)
    expect(body).toMatch(/not valid|before it was complete/)
    expect(body).toMatch(delivery === 'stream' ? /"upstream_error"|"server_is_overloaded"/ : /"server_is_overloaded"/)
  })

  it.each(INVALID_ANSWERS.map((answer) => [answer.id]))('gets another lane’s answer before content: %s', async (id) => {
    const { outcome, body } = await sendTurn(protocol, delivery, `${id}-or-${HEALTHY}`)
    const isFree = delivery === 'json' || outcome === 'whole'
    expect(outcome, body).toBe(isFree ? 'whole' : 'failed in the stream')
  })
})
