import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { readStream } from '../support/read-stream.ts'
import { chat, hello, send } from '../support/send-chat.ts'
import { onPostgres } from '../support/server-on-postgres.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

const headOf = (key: string, more = '') =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
  `content-type: application/json\r\ncontent-length: 9000000\r\nexpect: 100-continue\r\n${more}\r\n`

describe('a used-up limit is refused before the body', () => {
  const server = useServer({ clock: 'still' })
  const headAlone = async (key: string, more?: string) => {
    const socket = await openRawSocket(server())
    socket.write(headOf(key, more))
    const answer = await socket.answer()
    socket.destroy()
    return answer
  }

  it('of requests per minute, with the same error and headers as admission', async () => {
    const account = await openAccount(server())
    const { key } = await account.createKey({ limits: { requests_per_minute: 1 } })
    expect((await chat(server(), { key })).status).toBe(200)
    const early = await headAlone(key)
    expectProblem(early, 'rate_limit_exceeded', {
      message: /1 request per minute\. Send requests less often; try again in 60s\.$/,
    })
    expect(early.json.error.limit).toEqual({ scope: 'key', kind: 'requests', value: 1 })
    const reported = ['retry-after', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests']
    expect(reported.map((name) => early.headers.get(name))).toEqual(['60', '0', '1m0s'])
    // It looks and takes nothing: what time earns is there for the next one.
    server().advance(60_000)
    expect((await chat(server(), { key })).status).toBe(200)
    expectProblem(await chat(server(), { key }), 'rate_limit_exceeded')
  })

  // With several nodes only admission knows how many run.
  it.skipIf(onPostgres)('of concurrent requests', async () => {
    const account = await openAccount(server())
    const { key } = await account.createKey({ limits: { concurrent: 1 } })
    const open = await send(server(), { key }, { model: 'calm', stream: true, messages: hello('count to 10') })
    expectProblem(await headAlone(key), 'rate_limit_exceeded', { message: /1 request at a time/ })
    await readStream(open)
    expect((await headAlone(key)).status).toBe(100)
  })

  it('but not with an Idempotency-Key that may have a kept answer', async () => {
    const account = await openAccount(server())
    const { key } = await account.createKey({ limits: { requests_per_minute: 1 } })
    expect((await chat(server(), { key })).status).toBe(200)
    expect((await headAlone(key, 'idempotency-key: once\r\n')).status).toBe(100)
  })
})
