import { describe, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { answerOf, get } from '../../support/send-chat.ts'
import { useServer } from '../../support/use-server.ts'

describe('GET /v1/key refuses', () => {
  const server = useServer()

  it('a missing or wrong key', async () => {
    expectProblem(await answerOf(await fetch(`${server().baseUrl}/key`)), 'missing_api_key')
    expectProblem(await get(server(), { key: 'mr_wallet_nonsense' }, '/key'), 'invalid_api_key')
  })

  it('other methods and deeper paths', async () => {
    const sendTurn = async (path: string, method: string) =>
      answerOf(await fetch(`${server().baseUrl}${path}`, { method }))
    expectProblem(await sendTurn('/key', 'POST'), 'method_not_allowed')
    expectProblem(await sendTurn('/key', 'DELETE'), 'method_not_allowed')
    expectProblem(await sendTurn('/key/mine', 'GET'), 'endpoint_not_provided')
    expectProblem(await sendTurn('/keys', 'GET'), 'endpoint_not_provided')
  })
})
