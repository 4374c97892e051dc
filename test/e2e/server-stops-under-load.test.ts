import { afterEach, describe, expect, it } from 'vitest'
import { shutDown } from '../../src/app/shutdown.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { readStream } from '../support/read-stream.ts'
import { answerOf, chat, hello, send } from '../support/send-chat.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { nanoOf, openAccount } from '../support/test-account.ts'
import { until } from '../support/until.ts'
import { expectBalancedLedger } from '../support/use-server.ts'

const started: TestServer[] = []

async function openServer(): Promise<TestServer> {
  const server = await startServer()
  started.push(server)
  return server
}

afterEach(async () => {
  for (const server of started.splice(0)) {
    await expectBalancedLedger(server)
    await server.close()
  }
})

/** As the process does it at SIGTERM, but for the closing of the books, which the test reads afterwards. */
function stop(server: TestServer, drainMs: number, signals: Promise<void>[] = []) {
  const emitted: string[] = []
  const report = shutDown({
    edge: server.serving,
    drainMs,
    lingerMs: 0,
    settleMs: 10_000,
    report: (message) => emitted.push(message),
    nextSignal: () => signals.shift() ?? new Promise(() => {}),
    close: async () => {},
  })
  return { emitted, report }
}

const PATIENT_MS = 60_000
const CLIENTS = 8

describe('shutdown under load', () => {
  it('finishes and settles every running answer', async () => {
    const server = await openServer()
    const account = await openAccount(server)
    const before = (await account.wallet()).balance
    const body = {
      model: 'calm',
      stream: true,
      stream_options: { include_usage: true },
      messages: hello('count to 15'),
    }
    const responses = await Promise.all(Array.from({ length: CLIENTS }, () => send(server, account, body)))
    const json = chat(server, account, { model: 'calm', messages: hello('count to 30') })
    await until(() => server.serving.turnsRunning === CLIENTS + 1)
    const { emitted, report } = stop(server, PATIENT_MS)

    const answers = await Promise.all(responses.map(readStream))
    let charged = nanoOf((await json).json.usage.millrace.charge)
    for (const answer of answers) {
      expect(answer.done).toBe(true)
      expect(answer.text).toBe('1 2 3 4 5 6 7 8 9 10 11 12 13 14 15')
      charged += nanoOf(answer.chunks.at(-1).usage.millrace.charge)
    }
    expect(await report).toMatchObject({ lost: 0 })
    expect(emitted[0]).toContain(`${CLIENTS + 1} requests open`)
    expect(before - (await account.wallet()).balance).toBe(charged)
    for (const receipt of await account.receipts()) expect(receipt.outcome).toBe('completed')
  })

  it('refuses new requests and reports not ready', async () => {
    const server = await openServer()
    const account = await openAccount(server)
    const running = await send(server, account, { model: 'calm', stream: true, messages: hello('count to 15') })
    const socket = await openRawSocket(server)
    socket.write('GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n')
    expect((await socket.answer()).json).toEqual({ status: 'ready' })
    const early = await openRawSocket(server)
    early.write('GET /readyz HTTP/1.1\r\nhost: x\r\n\r\nGET /v1/models HTTP/1.1\r\nhost: x\r\n')
    await early.answer()
    const { report } = stop(server, PATIENT_MS)

    early.write(`authorization: Bearer ${account.key}\r\n\r\n`)
    const answer = await early.answer()
    expectProblem(answer, 'server_draining')
    expect(answer.headers.get('connection')).toBe('close')
    await early.closed
    await socket.closed
    await expect(chat(server, account)).rejects.toThrow()
    expect((await readStream(running)).done).toBe(true)
    expect(await report).toMatchObject({ lost: 0 })
  })

  it('reports not ready while it still serves for the load balancer', async () => {
    const server = await openServer()
    const account = await openAccount(server)
    server.serving.announceDrain()
    const ready = await fetch(`${server.baseUrl.replace('/v1', '')}/readyz`)
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'not-ready', reasons: ['draining'] }])
    const answer = await chat(server, account)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('connection')).toBe('close')
  })

  it.each([
    { when: 'when the drain time is over', drainMs: 0, signals: [] },
    { when: 'at a second signal', drainMs: PATIENT_MS, signals: [Promise.resolve()] },
  ])('cancels running streams $when; each says so and is settled', async ({ drainMs, signals }) => {
    const server = await openServer()
    const account = await openAccount(server)
    const before = (await account.wallet()).balance
    const body = {
      model: 'calm',
      stream: true,
      stream_options: { include_usage: true },
      messages: hello('count to 5000'),
    }
    const responses = await Promise.all(Array.from({ length: CLIENTS }, () => send(server, account, body)))
    const { report } = stop(server, drainMs, [...signals])
    const answers = await Promise.all(responses.map(readStream))
    for (const answer of answers) {
      expect(answer.done).toBe(false)
      expect(answer.chunks.at(-1)).toMatchObject({
        error: {
          ...{ code: 'server_draining', type: 'server_error', request_id: answer.requestId },
          message: expect.stringMatching(/^Service unavailable: /) as string,
        },
      })
      expect(answer.chunks.slice(0, -1).every((chunk) => chunk.choices[0].finish_reason === null)).toBe(true)
    }
    expect(await report).toMatchObject({ lost: 0 })
    const receipts = await account.receipts()
    expect(receipts).toHaveLength(CLIENTS)
    for (const receipt of receipts)
      expect(receipt).toMatchObject({ state: 'settled', outcome: 'drained', estimated: 1 })
    const charged = receipts.reduce((sum, receipt) => sum + (receipt.charge_nano ?? 0n), 0n)
    expect(before - (await account.wallet()).balance).toBe(charged)
    expect(charged).toBeGreaterThan(0n)
  })

  it.each([
    { description: 'a JSON answer', body: { model: 'calm', messages: hello('count to 5000') } },
    {
      description: 'a stream without content yet',
      body: { model: 'calm-high', stream: true, messages: hello('count to 5000') },
    },
  ])('cancels $description with an uncharged 503', async ({ body }) => {
    const server = await openServer()
    const account = await openAccount(server)
    const before = (await account.wallet()).balance
    const response = send(server, account, body)
    await until(async () => (await account.receipts()).length === 1)
    const { report } = stop(server, 0)
    const answer = await answerOf(await response)
    expectProblem(answer, 'server_draining')
    expect(await report).toMatchObject({ lost: 0 })
    expect((await account.receipts())[0]).toMatchObject({ outcome: 'drained', charge_nano: 0n })
    expect((await account.wallet()).balance).toBe(before)
  })

  it('waits for turns of disconnected clients too', async () => {
    const server = await openServer()
    const account = await openAccount(server)
    const response = await send(server, account, { model: 'calm', stream: true, messages: hello('count to 5000') })
    await response.body?.cancel()
    const { report } = stop(server, PATIENT_MS)
    expect(await report).toMatchObject({ lost: 0 })
    expect((await account.receipts())[0]).toMatchObject({ outcome: 'client_gone' })
  })
})
