import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { answerOf, get } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

describe('GET /v1/models refuses', () => {
  const server = useServer()

  const sendTurn = async (path: string, init: RequestInit = {}) =>
    answerOf(await fetch(`${server().baseUrl}${path}`, init))

  it.each(['/models', '/models/swift'])('%s without a key and with a wrong one', async (path) => {
    const answer = await sendTurn(path)
    expectProblem(answer, 'missing_api_key')
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    expectProblem(await get(server(), { key: 'sk-123' }, path), 'invalid_api_key')
  })

  it('an unknown id', async () => {
    const account = await openAccount(server())
    for (const id of ['nowhere', 'swift-xhigh', 'swift/low', '%00', '%zz', 'a'.repeat(5000), '..%2fkey', 'toString']) {
      const answer = await get(server(), account, `/models/${id}`)
      expectProblem(answer, 'model_not_found', { param: 'model' })
      expect(answer.json.error.message.length).toBeLessThan(400)
    }
  })

  it('other methods', async () => {
    for (const path of ['/models', '/models/swift']) {
      for (const method of ['POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS']) {
        const answer = await sendTurn(path, { method })
        expectProblem(answer, 'method_not_allowed')
        expect(answer.headers.get('allow')).toBe('GET, HEAD')
      }
    }
  })

  it('web pages', async () => {
    const account = await openAccount(server())
    const headers = { authorization: `Bearer ${account.key}`, origin: 'https://page.example.com' }
    const answer = await sendTurn('/models', { headers })
    expectProblem(answer, 'browser_not_allowed')
    expect(answer.headers.get('access-control-allow-origin')).toBe(null)
  })
})
