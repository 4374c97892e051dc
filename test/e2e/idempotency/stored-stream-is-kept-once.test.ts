import { expect, it } from 'vitest'
import { hello } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'
import { ask, errorOf, expectReplay } from './keyed.ts'

const server = useServer()
const rowsOf = async (table: string) =>
  (await server().content.all<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`, []))[0]?.count

it('a stored stream that came with a key is kept once, given again, and gone with its response', async () => {
  const account = await openAccount(server())
  const asked = { key: account.key, idempotencyKey: 'once', path: '/responses' }
  const body = { model: 'swift', stream: true, input: 'count to 50' }
  const first = await ask(server(), asked, body)
  expect(first.status).toBe(200)
  expect([await rowsOf('answers'), await rowsOf('responses')]).toEqual([0, 1])
  for (let times = 0; times < 2; times++) expectReplay(await ask(server(), asked, body), first)
  expect(await account.receipts()).toHaveLength(1)

  const [, id] = /"id":"(resp_[^"]+)"/.exec(first.text) ?? []
  const headers = { authorization: `Bearer ${account.key}` }
  expect((await fetch(`${server().baseUrl}/responses/${id}`, { method: 'DELETE', headers })).status).toBe(200)
  const gone = await ask(server(), asked, body)
  expect([gone.status, errorOf(gone).code]).toEqual([409, 'idempotency_not_replayable'])
  expect(await account.receipts()).toHaveLength(1)
})

it.each([
  ['a stream of Chat', '/chat/completions', { stream: true, messages: hello('count to 50') }],
  ['a stream that is not stored', '/responses', { stream: true, store: false, input: 'count to 50' }],
  ['JSON', '/responses', { input: 'count to 50' }],
])('%s is kept for its key apart', async (_what, path, body) => {
  const account = await openAccount(server())
  const before = await rowsOf('answers')
  const asked = { key: account.key, idempotencyKey: 'apart', path }
  const first = await ask(server(), asked, { model: 'swift', ...body })
  expect(await rowsOf('answers')).toBe((before ?? 0) + 1)
  expectReplay(await ask(server(), asked, { model: 'swift', ...body }), first)
})
