import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { readStream } from '../support/read-stream.ts'
import { chat, get, hello, send } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { useServer } from '../support/use-server.ts'

const limitedBy = (limits: string) => `${TEST_CONFIG}\nlimits: ${limits}\n`

describe('a limit on a model', () => {
  const server = useServer({ config: limitedBy('{ model: { requests_per_minute: 3, tokens_per_minute: 100000 } }') })

  it('counts all accounts together, per model, and names the model and the reset time', async () => {
    const one = await openAccount(server())
    const other = await openAccount(server())
    for (const who of [one, other, one]) expect((await chat(server(), who, { model: 'swift' })).status).toBe(200)
    const refused = await chat(server(), other, { model: 'swift' })
    expectProblem(refused, 'rate_limit_exceeded', {
      message: /^This model is limited to 3 requests per minute across all accounts\. .*try again in (\d+)s\.$/,
    })
    expect(refused.json.error).toMatchObject({
      source: 'gateway',
      limit: { scope: 'model', kind: 'requests', value: 3 },
    })
    expect(JSON.stringify(refused.json)).not.toContain(one.id)
    expect((await chat(server(), other, { model: 'calm' })).status).toBe(200)

    server().advance(Number(refused.headers.get('retry-after')) * 1000)
    expect((await chat(server(), one, { model: 'swift' })).status).toBe(200)
    expectProblem(await chat(server(), one, { model: 'swift' }), 'rate_limit_exceeded')
  })

  it('counts effort variants on their model', async () => {
    const account = await openAccount(server())
    server().advance(60_000)
    for (const model of ['calm', 'calm-high', 'calm-low']) {
      expect((await chat(server(), account, { model })).status).toBe(200)
    }
    expectProblem(await chat(server(), account, { model: 'calm-medium' }), 'rate_limit_exceeded')
  })

  it('is shown in headers of turns only', async () => {
    const account = await openAccount(server())
    server().advance(60_000)
    const answer = await chat(server(), account, { model: 'swift' })
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('3')
    expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('2')
    expect(answer.headers.get('x-ratelimit-limit-tokens')).toBe('100000')
    for (const unasked of [await get(server(), account, '/models'), await chat(server(), account, { model: 'no' })]) {
      expect(unasked.headers.get('x-ratelimit-limit-requests')).toBeNull()
    }
  })
})

describe('a limit on an account with a model', () => {
  const limits = '{ key: { requests_per_minute: 4 }, account_model: { requests_per_minute: 2, concurrent: 1 } }'
  const server = useServer({ config: limitedBy(limits) })

  it('counts all keys of the account only, and headers show the tightest limit', async () => {
    const account = await openAccount(server())
    const second = await account.createKey()
    const first = await chat(server(), account, { model: 'swift' })
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('2')
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1')
    expect((await chat(server(), second, { model: 'swift' })).status).toBe(200)
    const refused = await chat(server(), account, { model: 'swift' })
    expectProblem(refused, 'rate_limit_exceeded', {
      message: /^This account is limited to 2 requests per minute with this model\. .*try again in \d+s\.$/,
    })
    expect(refused.json.error.limit).toEqual({ scope: 'account_model', kind: 'requests', value: 2 })
    for (const model of ['calm', 'trap-high']) expect((await chat(server(), account, { model })).status).toBe(200)
    expect((await chat(server(), await openAccount(server()), { model: 'swift' })).status).toBe(200)
    // The key has had three of its four; a request that another limit refused took nothing from it.
    expect((await chat(server(), account, { model: 'calm' })).headers.get('x-ratelimit-remaining-requests')).toBe('0')
  })

  it('counts concurrent requests and releases their slots', async () => {
    const account = await openAccount(server())
    const open = await send(server(), account, { model: 'calm', stream: true, messages: hello('count to 10') })
    const refused = await chat(server(), account, { model: 'calm-low' })
    expectProblem(refused, 'rate_limit_exceeded', { message: /1 request at a time with this model/ })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await chat(server(), account, { model: 'swift' })).status).toBe(200)
    await readStream(open)
    expect((await chat(server(), account, { model: 'calm-low' })).status).toBe(200)
  })

  it('names the limit that refuses longest, so that Retry-After is accurate', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ limits: { requests_per_minute: 1 } })
    expect((await chat(server(), made, { model: 'calm' })).status).toBe(200)
    const open = await send(server(), account, { model: 'calm', stream: true, messages: hello('count to 10') })
    // Three limits refuse: the key's for a minute, the model's rate for half of one, its concurrency for a second.
    const refused = await chat(server(), made, { model: 'calm' })
    expect(refused.json.error.limit).toEqual({ scope: 'key', kind: 'requests', value: 1 })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30)
    await readStream(open)
  })

  it('changes with a configuration reload', async () => {
    const account = await openAccount(server())
    const sendTurn = () => chat(server(), account, { model: 'swift' })
    expect((await sendTurn()).headers.get('x-ratelimit-limit-requests')).toBe('2')
    await server().reload(limitedBy('{ account_model: { requests_per_minute: 1 } }'))
    expect((await sendTurn()).json.error.limit).toMatchObject({ scope: 'account_model', value: 1 })
    await server().reload(limitedBy('{}'))
    expect((await sendTurn()).status).toBe(200)
    await server().reload(limitedBy(limits))
  })
})
