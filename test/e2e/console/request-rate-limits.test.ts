import { describe, expect, it } from 'vitest'
import { openBrowser, signUp } from '../../support/console-session.ts'
import { codeIn, sendBytes } from '../../support/send-bytes.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const KiB = 1024

describe('a form', () => {
  const server = useServer()

  /** JSON of exactly so many bytes, which fails to sign in. */
  const formOf = (bytes: number): string => {
    const form = JSON.stringify({ email: 'nobody@walk.example', password: 'a wrong password' })
    return form + ' '.repeat(bytes - form.length)
  }
  const send = (bytes: number, framing: object) =>
    sendBytes(server(), '/console/api/session', {
      method: 'POST',
      headers: {
        ...{ origin: `http://127.0.0.1:${server().port}`, 'content-type': 'application/json' },
        ...framing,
      },
      body: formOf(bytes),
    })

  it.each([
    ['by its length', (bytes: number) => ({ 'content-length': bytes })],
    ['piece by piece', () => ({ 'transfer-encoding': 'chunked' })],
  ])('accepts 128 KiB and refuses one more byte, sent %s', async (_, framing) => {
    expect(codeIn(await send(128 * KiB, framing(128 * KiB)))).toBe('wrong_password')
    for (const bytes of [128 * KiB + 1, 1024 * KiB]) {
      const reported = await send(bytes, framing(bytes))
      expect([reported.status, codeIn(reported)]).toEqual([413, 'body_too_large'])
    }
  })

  it('has this bound for forms only; playground requests have the API’s bound', async () => {
    const account = await openAccount(server())
    const owner = await signUp(server(), { email: 'owner@walk.example', account: account.id })
    const reported = await sendBytes(server(), '/console/api/playground/chat/completions', {
      method: 'POST',
      headers: {
        ...{ origin: `http://127.0.0.1:${server().port}`, 'content-type': 'application/json' },
        ...{ cookie: owner.cookie, 'x-csrf-token': owner.csrf },
      },
      body: `{"model":"swift","messages":[{"role":"user","content":"hi"}]${' '.repeat(200 * KiB)}}`,
    })
    expect(reported.status).toBe(200)
  })
})

describe('an address', () => {
  const server = useServer({ clock: 'still' })
  const MOST_AT_ONCE = 300

  it('that sends too fast gets 429 until it waits; other endpoints still answer', async () => {
    const account = await openAccount(server())
    const owner = await signUp(server(), { email: 'owner@walk.example', account: account.id })
    server().advance(60_000)
    const browser = openBrowser(server())
    const answered = await Promise.all(Array.from({ length: MOST_AT_ONCE }, () => browser.send('GET /session')))
    expect(answered.map(({ status }) => status).filter((status) => status !== 200)).toEqual([])

    const refused = await owner.send('GET /keys')
    expect([refused.status, refused.error]).toMatchObject([429, { code: 'too_many_requests', retry_after: 1 }])
    expect(refused.headers.get('retry-after')).toBe('1')
    for (const path of ['session', 'playground/chat/completions']) {
      const reported = await sendBytes(server(), `/console/api/${path}`, { method: 'POST' })
      expect([reported.status, codeIn(reported)], path).toEqual([429, 'too_many_requests'])
    }
    expect((await sendBytes(server(), '/console/')).status).toBe(200)
    expect((await chat(server(), account)).status).toBe(200)

    server().advance(1000)
    expect((await owner.send('GET /keys')).status).toBe(200)
  })
})
