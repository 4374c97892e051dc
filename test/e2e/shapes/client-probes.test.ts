import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { answerOf, chat, hello, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()

const probe = (path: string, method: string, key?: string) =>
  fetch(`${server().baseUrl}${path}`, { method, headers: key === undefined ? {} : { authorization: `Bearer ${key}` } })

describe('client probes', () => {
  it('HEAD /v1/models with a key has no body', async () => {
    const { key } = await openAccount(server())
    for (const path of ['/models', '/models/swift', '/models/']) {
      const answer = await probe(path, 'HEAD', key)
      expect([answer.status, await answer.text()], path).toEqual([200, ''])
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    }
  })

  it('HEAD /v1/models without a key is 401, like GET', async () => {
    for (const method of ['HEAD', 'GET']) expect((await probe('/models', method)).status).toBe(401)
  })

  it.each(['/responses', '/chat/completions'])('HEAD and GET of %s answer 405', async (path) => {
    for (const method of ['HEAD', 'GET']) {
      const answer = await probe(path, method)
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    }
  })

  it.each(['/chat/completions/', '//chat/completions'])('a doubled slash is tolerated: %s', async (path) => {
    const account = await openAccount(server())
    const answer = await send(server(), account, { model: 'swift', messages: hello() }, { path })
    expect([answer.status, (await answerOf(answer)).json.object]).toEqual([200, 'chat.completion'])
  })

  it.each([
    ['without its end', '/v1', /lacks \/v1/],
    ['with its end twice', '/v1/v1', /\/v1 twice/],
  ])('a wrong base URL %s gets the right one in the error', async (_how, end, words) => {
    const { key } = await openAccount(server())
    const base = server().baseUrl.replace(/\/v1$/, end === '/v1' ? '' : end)
    const answer = await fetch(`${base}/models`, { headers: { authorization: `Bearer ${key}` } })
    expectProblem(await answerOf(answer), 'endpoint_not_provided', { message: words })
  })

  it('a blank or space-padded key is 401', async () => {
    const account = await openAccount(server())
    expect((await chat(server(), { key: `${account.key} ` })).status).toBe(200)
    expectProblem(await chat(server(), { key: 'not-needed' }), 'invalid_api_key')
  })
})
