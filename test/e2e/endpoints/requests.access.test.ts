import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { chat, get, hello, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

describe('GET /v1/requests/{id} hides other accounts’ requests', () => {
  const server = useServer()

  it('answers 404 for another account’s request', async () => {
    const [mine, theirs] = [await openAccount(server()), await openAccount(server())]
    const ended = await chat(server(), theirs)
    const running = await send(server(), theirs, { model: 'calm', stream: true, messages: hello('count to 5') })
    const nothing = await get(server(), mine, '/requests/req_00000000000000000000000000')
    expectProblem(nothing, 'request_not_found')
    for (const id of [ended.requestId, running.headers.get('x-request-id')]) {
      const answer = await get(server(), mine, `/requests/${id}`)
      expectProblem(answer, 'request_not_found')
      expect(answer.json.error.message).toBe(nothing.json.error.message)
      expect((await get(server(), theirs, `/requests/${id}`)).status).toBe(200)
    }
    await running.text()
  })

  it('shows requests of a revoked key to the same account', async () => {
    const account = await openAccount(server())
    const made = await account.createKey()
    const { requestId } = await chat(server(), made)
    await server().operate('keys.revoke', { key: made.id })
    expect((await get(server(), account, `/requests/${requestId}`)).status).toBe(200)
    expectProblem(await get(server(), made, `/requests/${requestId}`), 'invalid_api_key')
  })
})
