import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { answerOf, hello, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'

const COUNT = 'count to 20'
/** The demo speaks a word at a time. */
const FORMS = {
  'a chat stream': { path: '/chat/completions', body: { messages: hello(COUNT), stream: true } },
  'a response stream': { path: '/responses', body: { input: COUNT, stream: true } },
  'a stream that is not stored': { path: '/responses', body: { input: COUNT, stream: true, store: false } },
  'a JSON answer': { path: '/chat/completions', body: { messages: hello(COUNT) } },
}

describe.each(Object.entries(FORMS))('x-millrace-attach over %s', (_name, { path, body }) => {
  const server = useServer()
  const isStream = 'stream' in body
  const ask = (key: string, more: Record<string, string> = {}, other: object = {}) =>
    send(
      server(),
      { key },
      { model: 'calm', ...body, ...other },
      { path, headers: { 'idempotency-key': 'once', ...more } },
    )
  const attached = { 'x-millrace-attach': 'true' }
  const untilRunning = (account: { receipts(): Promise<readonly unknown[]> }) =>
    until(async () => (await account.receipts()).length === 1)

  it('gets the answer of the first request while it runs, byte for byte, and is not charged', async () => {
    const account = await openAccount(server())
    const first = ask(account.key)
    await untilRunning(account)
    expectProblem(await answerOf(await ask(account.key)), 'idempotency_in_progress')
    const others = await Promise.all([ask(account.key, attached), ask(account.key, attached)])
    const head = await first
    if (isStream) {
      // They read before the first has ended.
      const reader = others[1]!.clone().body!.getReader()
      expect((await reader.read()).done).toBe(false)
      expect(await account.receipts()).toMatchObject([{ state: 'open' }])
      void reader.cancel()
    }
    const text = await head.text()
    for (const other of others) {
      expect([other.status, await other.text()]).toEqual([200, text])
      expect(other.headers.get('idempotency-replayed')).toBe('true')
      expect(other.headers.get('x-original-request-id')).toBe(head.headers.get('x-request-id'))
    }
    expect(await account.receipts()).toMatchObject([{ state: 'settled', outcome: 'completed' }])
  })

  it('goes on when the first client has left', async () => {
    const account = await openAccount(server())
    const leaving = new AbortController()
    const { key } = account
    const headers = { 'idempotency-key': 'once' }
    const first = send(server(), { key }, { model: 'calm', ...body }, { path, headers, signal: leaving.signal })
    first.catch(() => {})
    await untilRunning(account)
    const other = ask(key, attached)
    await until(async () => (await account.receipts()).length === 1)
    leaving.abort()
    const text = await (await other).text()
    expect(text).toContain('20')
    expect(await (await ask(key)).text()).toBe(text)
    expect(await account.receipts()).toMatchObject([{ outcome: 'completed' }])
  })

  it.runIf(isStream)('is cut off when its account is suspended, and the first goes on', async () => {
    const account = await openAccount(server())
    const longer = 'input' in body ? { input: 'count to 100' } : { messages: hello('count to 100') }
    const first = ask(account.key, {}, longer)
    await untilRunning(account)
    const other = await ask(account.key, attached, longer)
    await server().operate('accounts.suspend', { account: account.id })
    await expect(other.text()).rejects.toThrow('terminated')
    expect(await (await first).text()).toContain('100')
    expect(await account.receipts()).toMatchObject([{ outcome: 'completed' }])
  })

  it('counts against request limits while it waits', async () => {
    const account = await openAccount(server())
    const { key } = await account.createKey({ limits: { requests_per_minute: 2 } })
    const first = ask(key)
    await untilRunning(account)
    const others = await Promise.all([ask(key, attached), ask(key, attached)])
    expect(others.map(({ status }) => status).sort()).toEqual([200, 429])
    const answers = await Promise.all(others.map((other) => other.text()))
    expect(answers).toContain(await (await first).text())
  })

  it('takes true and false alone', async () => {
    const account = await openAccount(server())
    for (const value of ['yes', 'TRUE', '1'])
      expectProblem(await answerOf(await ask(account.key, { 'x-millrace-attach': value })), 'invalid_value', {
        param: 'x-millrace-attach',
      })
    expect((await ask(account.key, { 'x-millrace-attach': 'false' })).status).toBe(200)
  })

  it('is refused for another body, and runs where nothing runs', async () => {
    const account = await openAccount(server())
    const first = ask(account.key, attached)
    await untilRunning(account)
    expectProblem(await answerOf(await ask(account.key, attached, { user: 'x' })), 'idempotency_key_reused')
    expect((await first).status).toBe(200)
    await (await first).text()
    expect(await account.receipts()).toHaveLength(1)
  })
})
