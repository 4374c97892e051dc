import { expect, it } from 'vitest'
import { hello } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'
import { errorOf, expectReplay, sendTurn } from './keyed.ts'

const server = useServer()
const rowsOf = async (table: string) =>
  (await server().content.all<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`, []))[0]?.count

it('a stored stream with an idempotency key is kept once, replayed, and deleted with its response', async () => {
  const account = await openAccount(server())
  const receivedRequest = { key: account.key, idempotencyKey: 'once', path: '/responses' }
  const body = { model: 'swift', stream: true, input: 'count to 50' }
  const first = await sendTurn(server(), receivedRequest, body)
  expect(first.status).toBe(200)
  expect([await rowsOf('answers'), await rowsOf('responses')]).toEqual([0, 1])
  for (let times = 0; times < 2; times++) expectReplay(await sendTurn(server(), receivedRequest, body), first)
  expect(await account.receipts()).toHaveLength(1)

  const [, id] = /"id":"(resp_[^"]+)"/.exec(first.text) ?? []
  const headers = { authorization: `Bearer ${account.key}` }
  expect((await fetch(`${server().baseUrl}/responses/${id}`, { method: 'DELETE', headers })).status).toBe(200)
  const disconnected = await sendTurn(server(), receivedRequest, body)
  expect([disconnected.status, errorOf(disconnected).code]).toEqual([409, 'idempotency_not_replayable'])
  expect(await account.receipts()).toHaveLength(1)
})

it.each([
  ['a stream of Chat', '/chat/completions', { stream: true, messages: hello('count to 50') }],
  ['a stream that is not stored', '/responses', { stream: true, store: false, input: 'count to 50' }],
  ['JSON', '/responses', { input: 'count to 50' }],
])('%s is kept separately for its key', async (_what, path, body) => {
  const account = await openAccount(server())
  const before = await rowsOf('answers')
  const receivedRequest = { key: account.key, idempotencyKey: 'apart', path }
  const first = await sendTurn(server(), receivedRequest, { model: 'swift', ...body })
  expect(await rowsOf('answers')).toBe((before ?? 0) + 1)
  expectReplay(await sendTurn(server(), receivedRequest, { model: 'swift', ...body }), first)
})
