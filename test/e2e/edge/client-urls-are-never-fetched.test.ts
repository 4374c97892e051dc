import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emitsAnswer } from '../../fakes/emit-items.ts'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { answerOf, send } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'

const WIRES = ['chat', 'responses', 'anthropic', 'gemini'] as const

const configOf = ({ baseUrl }: FaultUpstream) => `upstreams:
${WIRES.map((wire) => `  - { id: ${wire}, wire: ${wire}, base_url: "${baseUrl}", allow_private: true }`).join('\n')}
models:
${WIRES.map((wire) => `  - { id: over-${wire}, inputs: [text, image, file], input_tokens_max: { image: 1000, file: 1000 }, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: ${wire}, model: far }] }`).join('\n')}
`

describe('a URL that a client sends', () => {
  let far: FaultUpstream
  let server: TestServer
  let trap: Server
  let visits = 0
  let url: string
  beforeAll(async () => {
    const description = emitsAnswer({ items: [{ kind: 'message', words: ['Good'] }] })
    far = await startFaultUpstream(() => description)
    trap = createServer((socket) => {
      visits += 1
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(trap, 'listening')
    url = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/inner`
    server = await startServer({ config: configOf(far) })
  })
  afterAll(async () => {
    await server?.close()
    await far?.close()
    trap?.close()
  })

  const chatWith = (part: object) => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'See' }, part] }] })
  const responsesWith = (part: object) => ({ input: [{ role: 'user', content: [part] }] })
  const requesting = (type: string, more: object) => ({ tools: [{ type, ...more }] })

  const ASKED: Readonly<Record<string, readonly [path: string, bodyOf: () => object]>> = {
    'an image in chat': ['/chat/completions', () => chatWith({ type: 'image_url', image_url: { url } })],
    'a file in chat': ['/chat/completions', () => chatWith({ type: 'file', file: { file_url: url } })],
    'an image in responses': ['/responses', () => responsesWith({ type: 'input_image', image_url: url })],
    'a file in responses': ['/responses', () => responsesWith({ type: 'input_file', file_url: url })],
    'a server of tools': [
      '/responses',
      () => ({ input: 'Hi', ...requesting('mcp', { server_url: url, server_label: 'x', require_approval: 'never' }) }),
    ],
    'a schema by reference': [
      '/chat/completions',
      () => ({
        ...chatWith({ type: 'text', text: 'Hi' }),
        ...requesting('function', { function: { name: 'f', parameters: { $ref: url, $schema: url, $id: url } } }),
      }),
    ],
    'an image among results': [
      '/responses',
      () => ({
        input: [
          { role: 'user', content: 'Hi' },
          { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_image', image_url: url }] },
        ],
      }),
    ],
  }

  it.each(Object.entries(ASKED))('is never fetched by the gateway: %s', async (_name, [path, bodyOf]) => {
    const account = await openAccount(server)
    far.forget()
    const answers = await Promise.all(
      WIRES.map(async (wire) =>
        answerOf(await send(server, account, { model: `over-${wire}`, ...bodyOf() }, { path })),
      ),
    )
    // Some lanes have no place for it, and what this provider says is no answer to all of them.
    for (const { status } of answers) expect([200, 400, 502, 503]).toContain(status)
    expect(visits).toBe(0)
  })

  it('would be noticed if fetched', async () => {
    await fetch(url).catch(() => {})
    expect(visits).toBe(1)
  })

  it('is passed to the provider unchanged', async () => {
    const account = await openAccount(server)
    far.forget()
    const body = { model: 'over-chat', ...chatWith({ type: 'image_url', image_url: { url } }) }
    expect((await send(server, account, body)).status).toBe(200)
    expect(JSON.stringify(far.providerAnswers[0]?.receivedRequest)).toContain(url)
  })
})
