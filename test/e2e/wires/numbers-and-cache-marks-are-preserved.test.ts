import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { send } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { WIRES, type Wire } from './wires-server.ts'

/** What a provider is sent, byte for byte; it answers none of it. */
const sent: string[] = []
const provider = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    sent.push(Buffer.concat(parts).toString('utf8'))
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"No."}}')
  })
})

let server: TestServer
beforeAll(async () => {
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  const base = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`
  const upstreams = WIRES.map(
    (wire) => `  - { id: ${wire}, wire: ${wire}, base_url: "${base}", allow_private: true }\n`,
  )
  const model = (id: string, lane: string) =>
    `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [${lane}] }\n`
  const models = WIRES.map((wire) => model(wire, `{ upstream: ${wire}, model: far }`))
  models.push(model('unmarked', '{ upstream: anthropic, model: far, prompt_cache: off }'))
  server = await startServer({
    config: `${EVERY_LANE_ASKED}\nupstreams:\n${upstreams.join('')}models:\n${models.join('')}`,
  })
})
beforeEach(() => {
  sent.length = 0
})
afterAll(async () => {
  await server?.close()
  provider.close()
})

const ARGUMENTS = '{"order":9007199254740993,"price":1.10,"zero":-0,"far":1e400}'
const SCHEMA = '{"type":"object","properties":{"price":{"type":"number","multipleOf":0.10,"default":1.0}}}'
const PATHS = { chat: '/chat/completions', responses: '/responses' }
const sendTurn = async (client: keyof typeof PATHS, body: string) =>
  send(server, await openAccount(server), body, { path: PATHS[client] })

const CALLS = {
  chat: (model: string) =>
    `{"model":"${model}","messages":[{"role":"user","content":"Buy"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"buy","arguments":${JSON.stringify(ARGUMENTS)}}}]},{"role":"tool","tool_call_id":"call_1","content":"1.10"}],"tools":[{"type":"function","function":{"name":"buy","parameters":${SCHEMA}}}]}`,
  responses: (model: string) =>
    `{"model":"${model}","input":[{"role":"user","content":"Buy"},{"type":"function_call","call_id":"call_1","name":"buy","arguments":${JSON.stringify(ARGUMENTS)}},{"type":"function_call_output","call_id":"call_1","output":"1.10"}],"tools":[{"type":"function","name":"buy","parameters":${SCHEMA}}]}`,
}

const PAIRS = (['chat', 'responses'] as const).flatMap((client) => WIRES.map((wire) => [client, wire] as const))

it.each(PAIRS)('numbers in past calls and schemas keep every digit: %s to %s', async (client, wire) => {
  await sendTurn(client, CALLS[client](wire))
  const [body] = sent
  expect(body).toContain('"multipleOf":0.10,"default":1.0')
  expect(body).toContain(takesObjects(wire) ? ARGUMENTS : JSON.stringify(ARGUMENTS))
})

const takesObjects = (wire: Wire) => wire === 'anthropic' || wire === 'gemini'

const MARKED = {
  chat: (model: string) =>
    `{"model":"${model}","messages":[{"role":"system","content":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}]},{"role":"user","content":"Hello","cache_control":{"type":"ephemeral"}}]}`,
  responses: (model: string) =>
    `{"model":"${model}","input":[{"role":"system","content":[{"type":"input_text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}]},{"role":"user","content":[{"type":"input_text","text":"Hello","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}`,
}
const NAMES = { chat: 'cache_control', responses: 'cache_control, prompt_cache_breakpoint' }

it.each(PAIRS)(
  'cache marks reach providers that support them and are named elsewhere: %s to %s',
  async (client, wire) => {
    const answer = await sendTurn(client, MARKED[client](wire))
    const [body = '{}'] = sent
    const ignored = answer.headers.get('x-millrace-ignored-fields')
    if (wire === 'anthropic') {
      expect(JSON.parse(body)).toMatchObject({
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }] }],
      })
      // No price tells what an hour costs.
      expect(ignored).toBe('cache_control.ttl')
    } else if (wire === client) {
      expect(body).toContain('"cache_control":{"type":"ephemeral","ttl":"1h"}')
      expect(ignored).toBeNull()
    } else {
      expect(body).not.toContain('cache_control')
      expect(ignored).toBe(NAMES[client])
    }
  },
)

it('with caching disabled, marks are dropped and named', async () => {
  const answer = await sendTurn('chat', MARKED.chat('unmarked'))
  expect(sent[0]).not.toContain('cache_control')
  expect(answer.headers.get('x-millrace-ignored-fields')).toBe('cache_control')
})
