import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { chat, hello } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { useServer } from '../support/use-server.ts'

const headOf = (key: string, more = '') =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
  `content-type: application/json\r\ncontent-length: 30000000\r\n${more}\r\n`

describe('an empty wallet is refused before the body', () => {
  const server = useServer()

  it('answers 402 to the headers alone and closes the connection', async () => {
    const { key } = await openAccount(server(), { credit: '0' })
    const socket = await openRawSocket(server())
    socket.write(headOf(key))
    const answer = await socket.answer()
    expectProblem(answer, 'insufficient_balance')
    expect(answer.headers.get('connection')).toBe('close')
    socket.destroy()
  })

  it('never sends 100 Continue', async () => {
    const { key } = await openAccount(server(), { credit: '0' })
    const socket = await openRawSocket(server())
    socket.write(headOf(key, 'expect: 100-continue\r\n'))
    expectProblem(await socket.answer(), 'insufficient_balance')
    expect(socket.received).not.toContain('100 Continue')
    socket.destroy()
  })

  it('sends 100 Continue when there are funds', async () => {
    const { key } = await openAccount(server())
    const body = JSON.stringify({ model: 'swift', messages: hello() })
    const socket = await openRawSocket(server())
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nexpect: 100-continue\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`,
    )
    expect((await socket.answer()).status).toBe(100)
    socket.write(body)
    expect((await socket.answer()).status).toBe(200)
    socket.destroy()
  })

  it('serves again as soon as the wallet is credited', async () => {
    const account = await openAccount(server(), { credit: '0' })
    expectProblem(await chat(server(), account), 'insufficient_balance')
    await account.credit('1.00')
    expect((await chat(server(), account)).status).toBe(200)
  })
})

describe('an empty wallet and a free model', () => {
  const server = useServer({
    config: `${TEST_CONFIG}  - id: gift
    context_tokens: 128000
    max_output_tokens: 4096
    price: { input: "0", output: "0" }
    lanes: [{ upstream: demo, model: demo-fast }]
`,
  })

  it('serves the free model and refuses the others', async () => {
    const account = await openAccount(server(), { credit: '0' })
    const free = await chat(server(), account, { model: 'gift' })
    expect(free.status).toBe(200)
    expect(free.json.usage.millrace.charge).toBe('0.00')
    expectProblem(await chat(server(), account, { model: 'swift' }), 'insufficient_balance')
    const key = await account.createKey({ models: ['swift'] })
    const socket = await openRawSocket(server())
    socket.write(headOf(key.key))
    expectProblem(await socket.answer(), 'insufficient_balance')
    socket.destroy()
  })
})
