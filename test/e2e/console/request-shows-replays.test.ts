import { expect, it } from 'vitest'
import { signUp } from '../../support/console-session.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const DAY_MS = 86_400_000

const server = useServer()

it('a request shows what a retry with its idempotency key returns, and until when', async () => {
  const account = await openAccount(server())
  const owner = await signUp(server(), { email: 'again@example.com', account: account.id })
  const emitTo = async (request: string) =>
    (await owner.call('GET /requests/:request', { params: { request } })).idempotency
  const keyed = { headers: { 'idempotency-key': 'once' } }
  const first = await chat(server(), account, {}, keyed)
  const { requestId: plain } = await chat(server(), account)
  expect(await emitTo(plain)).toBeNull()
  const reported = await emitTo(first.requestId)
  expect(reported?.state).toBe('kept')
  expect(Date.parse(reported!.until) - Date.now()).toBeGreaterThan(DAY_MS / 2)
  expect((await chat(server(), account, {}, keyed)).headers.get('x-original-request-id')).toBe(first.requestId)
})
