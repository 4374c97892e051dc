import { expect, it } from 'vitest'
import { chat } from '../../support/send-chat.ts'
import { signUp } from '../../support/console-session.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const DAY_MS = 86_400_000

const server = useServer()

it('a request says what a repetition under its idempotency key gets, and until when', async () => {
  const account = await openAccount(server())
  const owner = await signUp(server(), { email: 'again@example.com', account: account.id })
  const tell = async (request: string) =>
    (await owner.ask('GET /requests/:request', { params: { request } })).idempotency
  const keyed = { headers: { 'idempotency-key': 'once' } }
  const first = await chat(server(), account, {}, keyed)
  const { requestId: plain } = await chat(server(), account)
  expect(await tell(plain)).toBeNull()
  const told = await tell(first.requestId)
  expect(told?.state).toBe('kept')
  expect(Date.parse(told!.until) - Date.now()).toBeGreaterThan(DAY_MS / 2)
  expect((await chat(server(), account, {}, keyed)).headers.get('x-original-request-id')).toBe(first.requestId)
})
