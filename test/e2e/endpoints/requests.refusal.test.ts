import { describe, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { answerOf, chat, get } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

describe('GET /v1/requests/{id} refuses', () => {
  const server = useServer()

  it('a missing or wrong key before looking at the id', async () => {
    expectProblem(await answerOf(await fetch(`${server().baseUrl}/requests/x`)), 'missing_api_key')
    expectProblem(await get(server(), { key: 'sk-1' }, '/requests/x'), 'invalid_api_key')
  })

  it('malformed and unknown ids, and requests refused before a hold', async () => {
    const account = await openAccount(server())
    const refused = await chat(server(), account, { model: 'nowhere' })
    const unknown = `${refused.requestId.slice(0, -1)}${refused.requestId.endsWith('0') ? '1' : '0'}`
    for (const id of ['x', 'req_', unknown, refused.requestId, '%00', "req_'%20OR%201=1", 'a'.repeat(5000)]) {
      expectProblem(await get(server(), account, `/requests/${id}`), 'request_not_found')
    }
  })

  it('other methods, and listing', async () => {
    const sendTurn = async (path: string, method: string) =>
      answerOf(await fetch(`${server().baseUrl}${path}`, { method }))
    expectProblem(await sendTurn('/requests/x', 'DELETE'), 'method_not_allowed')
    expectProblem(await sendTurn('/requests/x', 'POST'), 'method_not_allowed')
    expectProblem(await sendTurn('/requests', 'GET'), 'endpoint_not_provided')
  })
})
