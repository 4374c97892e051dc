import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { readStream } from '../support/read-stream.ts'
import { chat, get, hello, send } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { useServer } from '../support/use-server.ts'

const MINUTE_MS = 60_000

const waitOf = ({ headers }: { headers: Headers }) => Number(headers.get('retry-after'))

describe('limits of a key refuse with Retry-After', () => {
  const server = useServer()

  it('counts requests, shows the remainder on every answer, and resets in time', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { requests_per_minute: 3 } })
    for (const left of [2, 1, 0]) {
      const answer = await chat(server(), made)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('3')
      expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe(String(left))
      expect(answer.headers.get('x-ratelimit-reset-requests')).toMatch(/^(\d+h)?(\d+m)?\d+(\.\d)?m?s$/)
    }
    const refused = await chat(server(), made)
    expectProblem(refused, 'rate_limit_exceeded', { message: /3 requests per minute/ })
    expect(refused.json.error.limit).toEqual({ scope: 'key', kind: 'requests', value: 3 })
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    expect(waitOf(refused)).toBeLessThanOrEqual(20)

    server().advance(waitOf(refused) * 1000)
    expect((await chat(server(), made)).status).toBe(200)
    expectProblem(await chat(server(), made), 'rate_limit_exceeded')
    expect((await chat(server(), account)).status, 'another key of the account').toBe(200)
  })

  it('shows the same on a stream, before its first byte', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { requests_per_minute: 1, tokens_per_minute: 100_000 } })
    const response = await send(server(), made, { model: 'swift', stream: true, messages: hello() })
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    expect(response.headers.get('x-ratelimit-limit-tokens')).toBe('100000')
    await readStream(response)
    expectProblem(await chat(server(), made, { stream: true }), 'rate_limit_exceeded')
  })

  it('counts reserved tokens first, and used tokens at the end', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { tokens_per_minute: 1000 } })
    const sendTurn = (max_tokens: number) => chat(server(), made, { max_tokens, messages: hello('count to 3') })
    // Nine hundred are reserved each time, and a handful is used.
    for (let turn = 0; turn < 5; turn++) expect((await sendTurn(900)).status).toBe(200)
    const stream = { model: 'swift', stream: true, max_tokens: 900, messages: hello('count to 3') }
    const running = await send(server(), made, stream)
    expect(Number(running.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(1000 - 900)
    await readStream(running)

    const spend = await chat(server(), made, { max_tokens: 700, messages: hello('count to 700') })
    expect(spend.json.usage.completion_tokens).toBe(700)
    const refused = await sendTurn(900)
    expectProblem(refused, 'rate_limit_exceeded', { message: /1000 tokens per minute/ })
    expect(refused.json.error.limit).toEqual({ scope: 'key', kind: 'tokens', value: 1000 })
    server().advance(waitOf(refused) * 1000)
    expect((await sendTurn(900)).status).toBe(200)
  })

  it('refuses a request larger than the limit without Retry-After', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { tokens_per_minute: 500 } })
    const answer = await chat(server(), made, { max_tokens: 800 })
    expectProblem(answer, 'request_too_large_for_limit', { message: /at most 500/ })
    expect((await chat(server(), made, { max_tokens: 100 })).status).toBe(200)
  })

  it('counts concurrent requests and releases the slot at any ending', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { concurrent: 1 } })
    const sendTurn = () => chat(server(), made)
    const open = await send(server(), made, { model: 'calm', stream: true, messages: hello('count to 10') })
    const refused = await sendTurn()
    expectProblem(refused, 'rate_limit_exceeded', { message: /1 requests? at a time/ })
    expect(waitOf(refused)).toBe(1)
    expect(refused.json.error.limit).toEqual({ scope: 'key', kind: 'concurrent', value: 1 })
    await readStream(open)
    expect((await sendTurn()).status).toBe(200)

    const left = await send(server(), made, { model: 'calm', stream: true, messages: hello('count to 1000') })
    await left.body?.cancel()
    while (server().serving.turnsRunning > 0) await new Promise((resolve) => setImmediate(resolve))
    expect((await sendTurn()).status).toBe(200)
  })

  it('counts nothing for a request refused for another reason', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { requests_per_minute: 2 } })
    for (let turn = 0; turn < 4; turn++) {
      await chat(server(), made, { model: 'nowhere' })
      await chat(server(), made, { temperature: 9 })
      await chat(server(), made, { model: 'paid', max_tokens: 1000, n: 2 })
      await get(server(), made, '/models')
    }
    expect((await chat(server(), made)).status).toBe(200)
    expect((await chat(server(), made)).status).toBe(200)
    expectProblem(await chat(server(), made), 'rate_limit_exceeded')
  })

  it('admits at most the burst plus the refill', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { requests_per_minute: 10 } })
    const storm = async () => {
      const answers = await Promise.all(Array.from({ length: 40 }, () => chat(server(), made)))
      return answers.filter((answer) => answer.status === 200).length
    }
    expect(await storm()).toBe(10)
    server().advance(MINUTE_MS / 2)
    expect(await storm()).toBe(5)
    server().advance(10 * MINUTE_MS)
    expect(await storm()).toBe(10)
  })
})

describe('the remainder of a limit', () => {
  const server = useServer({ clock: 'still' })

  it('in a JSON answer accounts for that answer’s own use', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { tokens_per_minute: 100_000, requests_per_minute: 50 } })
    const answer = await chat(server(), made, { messages: hello('count to 20') })
    const leftIn = ({ headers }: { headers: Headers }) => Number(headers.get('x-ratelimit-remaining-tokens'))
    expect(leftIn(answer)).toBe(100_000 - answer.json.usage.total_tokens)
    expect(leftIn(await get(server(), made, '/key'))).toBe(leftIn(answer))
  })
})

describe('limits of the configuration', () => {
  const server = useServer({
    config: `${TEST_CONFIG}
limits:
  key: { requests_per_minute: 60, burst: 2s }
  account: { requests_per_minute: 3 }
`,
  })

  it('apply to every key and to all keys of an account together', async () => {
    const account = await openAccount(server())
    const other = await account.createKey()
    expect((await chat(server(), account)).status).toBe(200)
    expect((await chat(server(), account)).status).toBe(200)
    const byKey = await chat(server(), account)
    expectProblem(byKey, 'rate_limit_exceeded')
    expect(byKey.json.error.limit).toMatchObject({ scope: 'key', value: 60 })
    expect((await chat(server(), other)).status).toBe(200)
    const byAccount = await chat(server(), other)
    expectProblem(byAccount, 'rate_limit_exceeded')
    expect(byAccount.json.error.limit).toMatchObject({ scope: 'account', value: 3 })
    const stranger = await openAccount(server())
    expect((await chat(server(), stranger)).status).toBe(200)
  })

  it('yield to the key’s own limits', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { requests_per_minute: 1 } })
    expect((await get(server(), made, '/key')).json.limits).toEqual({
      key: { requests_per_minute: 1 },
      account: { requests_per_minute: 3 },
    })
    expect((await chat(server(), made)).headers.get('x-ratelimit-remaining-requests')).toBe('0')
    const refused = await chat(server(), made)
    expectProblem(refused, 'rate_limit_exceeded')
    expect(refused.json.error.limit).toMatchObject({ scope: 'key', value: 1 })
  })
})
