import { describe, expect, it } from 'vitest'
import type { CreatedKey } from '../../src/admin/keys.ts'
import type { ProblemCode } from '../../src/model/problem.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { readStream } from '../support/read-stream.ts'
import { chat, hello, send } from '../support/send-chat.ts'
import type { TestServer } from '../support/start-server.ts'
import { openSubscriber, type Subscriber } from '../support/subscriber.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { until } from '../support/until.ts'
import { useServer } from '../support/use-server.ts'
import { fill, openLoadReader, PATIENT_HOUSE } from './overload/load.ts'

const CONFIG = `${TEST_CONFIG}
plans:
  - id: pro
    models: [swift, calm]
    windows: [{ every: 5h, allowance: "5.00" }]
`

const REQUESTS = {
  chat: { path: '/v1/chat/completions', body: { model: 'swift', max_tokens: 50, messages: hello() } },
  responses: { path: '/v1/responses', body: { model: 'swift', max_output_tokens: 50, input: 'Hello' } },
} as const
type Endpoint = keyof typeof REQUESTS

interface Change {
  readonly description: string
  readonly kind: 'wallet' | 'builder'
  readonly code: ProblemCode
  readonly message?: RegExp
  readonly change: (server: TestServer, who: Subscriber, key: CreatedKey) => unknown
}

const CHANGES: readonly Change[] = [
  {
    description: 'its key is revoked',
    kind: 'wallet',
    code: 'invalid_api_key',
    message: /revoked/,
    change: (server, _, { id }) => server.operate('keys.revoke', { key: id }),
  },
  {
    description: 'its key is disabled',
    kind: 'wallet',
    code: 'invalid_api_key',
    message: /disabled/,
    change: (server, _, { id }) => server.operate('keys.disable', { key: id }),
  },
  {
    description: 'its key expires',
    kind: 'wallet',
    code: 'invalid_api_key',
    message: /expired/,
    change: (server) => server.advance(2 * 60_000),
  },
  {
    description: 'its secret is replaced without a grace period',
    kind: 'wallet',
    code: 'invalid_api_key',
    change: (server, _, { id }) => server.operate('keys.rotate', { key: id, grace: '0' }),
  },
  {
    description: 'its key may no longer be used from its address',
    kind: 'wallet',
    code: 'key_address_not_allowed',
    change: (server, _, { id }) => server.operate('keys.change', { key: id, addresses: ['203.0.113.7'] }),
  },
  {
    description: 'its key requires a run by then',
    kind: 'wallet',
    code: 'run_required',
    change: (server, _, { id }) => server.operate('keys.change', { key: id, run: 'required' }),
  },
  {
    description: 'the model list of its key is narrowed',
    kind: 'wallet',
    code: 'model_not_found',
    change: (server, _, { id }) => server.operate('keys.change', { key: id, models: ['calm'] }),
  },
  {
    description: 'the spend cap of its key is lowered',
    kind: 'wallet',
    code: 'key_spend_cap_reached',
    change: (server, _, { id }) => server.operate('keys.caps', { key: id, day: '0.000001', month: undefined }),
  },
  {
    description: 'its account is suspended',
    kind: 'wallet',
    code: 'account_suspended',
    change: (server, { id }) => server.operate('accounts.suspend', { account: id }),
  },
  {
    description: 'the plan of its account is ended',
    kind: 'builder',
    code: 'subscription_inactive',
    change: (_, who) => who.end(),
  },
  {
    description: 'its builder key is revoked',
    kind: 'builder',
    code: 'invalid_api_key',
    message: /revoked/,
    change: (server, _, { id }) => server.operate('keys.revoke', { key: id }),
  },
]

const CASES = CHANGES.flatMap((change) =>
  (['chat', 'responses'] as const).flatMap((endpoint) =>
    [undefined, 'once-and-for-all'].map((idempotencyKey) => ({ ...change, endpoint, idempotencyKey })),
  ),
)

/** Sends the head and half of the body, and hands over how to send the rest. */
async function beginUpload(server: TestServer, key: string, endpoint: Endpoint, headers = '') {
  const { path, body } = REQUESTS[endpoint]
  const text = JSON.stringify(body)
  const half = Math.floor(text.length / 2)
  const socket = await openRawSocket(server)
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n` +
      `content-length: ${text.length}\r\nexpect: 100-continue\r\n${headers}\r\n`,
  )
  // It is asked for its body, so it has passed the door.
  expect((await socket.answer()).status).toBe(100)
  socket.write(text.slice(0, half))
  return {
    async finish() {
      socket.write(text.slice(half))
      const answer = await socket.answer()
      socket.destroy()
      return answer
    },
  }
}

describe('a request whose permissions change while its body uploads', () => {
  const server = useServer({ config: CONFIG })

  const openKey = async (kind: 'wallet' | 'builder') => {
    const who = await openSubscriber(server(), 'pro')
    const expires = new Date(server().app.operations.clock.now() + 60_000).toISOString()
    const key = await who.createKey({ kind, expires, caps: { day: '5.00', month: undefined } })
    return { who, key }
  }

  it.each(CASES)(
    'is refused and not charged if $description ($endpoint, Idempotency-Key $idempotencyKey)',
    async (receivedRequest) => {
      const { who, key } = await openKey(receivedRequest.kind)
      const named =
        receivedRequest.idempotencyKey === undefined ? '' : `idempotency-key: ${receivedRequest.idempotencyKey}\r\n`
      const upload = await beginUpload(server(), key.key, receivedRequest.endpoint, named)
      await receivedRequest.change(server(), who, key)
      const answer = await upload.finish()
      expectProblem(
        answer,
        receivedRequest.code,
        receivedRequest.message === undefined ? {} : { message: receivedRequest.message },
      )
      if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer')
      expect(await who.receipts()).toEqual([])
    },
  )

  it.each(['chat', 'responses'] as const)('is served if its permissions grow or stay (%s)', async (endpoint) => {
    const { who, key } = await openKey('wallet')
    const upload = await beginUpload(server(), key.key, endpoint)
    await server().operate('keys.caps', { key: key.id, day: '6.00', month: undefined })
    await who.createKey({ name: 'another' })
    expect((await upload.finish()).status).toBe(200)
    expect(await who.receipts()).toHaveLength(1)
  })

  it('gets no kept answer for its Idempotency-Key', async () => {
    const { who, key } = await openKey('wallet')
    const { body } = REQUESTS.chat
    const headers = { 'idempotency-key': 'kept' }
    expect((await chat(server(), key, body, { headers })).status).toBe(200)
    const upload = await beginUpload(server(), key.key, 'chat', 'idempotency-key: kept\r\n')
    await server().operate('keys.revoke', { key: key.id })
    expectProblem(await upload.finish(), 'invalid_api_key')
    expect(await who.receipts()).toHaveLength(1)
  })

  it('finishes if it was already admitted', async () => {
    const { who, key } = await openKey('wallet')
    const body = { model: 'calm', stream: true, messages: hello('count to 20') }
    const response = await send(server(), key, body)
    await server().operate('keys.revoke', { key: key.id })
    await server().operate('accounts.suspend', { account: who.id })
    expect((await readStream(response)).done).toBe(true)
    expect(await until(async () => (await who.receipts()).find(({ state }) => state === 'settled'))).toMatchObject({
      outcome: 'completed',
    })
  })
})

describe('a request that waits for memory', () => {
  const server = useServer({ config: PATIENT_HOUSE })

  it('is refused if its key is revoked while it waits', async () => {
    const { streams, end } = await fill(server())
    const who = await openSubscriber(server())
    const key = await who.createKey()
    const load = openLoadReader(server())
    const late = chat(server(), key)
    await until(async () => (await load.load()).waiting === 1)
    await server().operate('keys.revoke', { key: key.id })
    streams[0]?.end()
    expectProblem(await late, 'invalid_api_key')
    expect(await who.receipts()).toEqual([])
    end()
    await load.idle()
  })
})
