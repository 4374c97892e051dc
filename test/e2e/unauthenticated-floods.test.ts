import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { type Answer, chat } from '../support/send-chat.ts'
import type { TestServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { useServer } from '../support/use-server.ts'

const MINUTE_MS = 60_000
const NO_KEY = { key: 'sk-nothing-of-ours' }

/** Three at once, and then one every ten seconds. */
const strangersLimited = (more = '') =>
  `${TEST_CONFIG}\nlimits: { address: { refused_per_minute: 6, burst: 30s } }\n${more}`

/** Without a key, over a socket of its own, with the lines of X-Forwarded-For as they are given. */
async function sendAs(server: TestServer, forwarded: readonly string[]): Promise<Answer> {
  const socket = await openRawSocket(server)
  const lines = forwarded.map((line) => `x-forwarded-for: ${line}\r\n`).join('')
  socket.write(`GET /v1/models HTTP/1.1\r\nhost: millrace\r\n${lines}\r\n`)
  const answer = await socket.answer()
  socket.destroy()
  return answer
}

async function statusesOf(server: TestServer, forwarded: readonly string[], times: number): Promise<number[]> {
  const statuses: number[] = []
  for (let time = 0; time < times; time++) statuses.push((await sendAs(server, forwarded)).status)
  return statuses
}

describe('requests without a valid key', () => {
  const server = useServer({ config: strangersLimited(), clock: 'still' })

  it('get 401, then 429 with an accurate Retry-After', async () => {
    const account = await openAccount(server())
    expectProblem(await sendAs(server(), []), 'missing_api_key')
    expectProblem(await chat(server(), NO_KEY), 'invalid_api_key')
    expectProblem(await chat(server(), { key: `${account.key.slice(0, -1)}-` }), 'invalid_api_key')

    const refused = await chat(server(), NO_KEY)
    expectProblem(refused, 'rate_limit_exceeded', {
      message: /^This address is limited to 6 requests per minute without a valid key\. .*try again in 10s\.$/,
    })
    expect(refused.json.error.limit).toEqual({ scope: 'address', kind: 'requests', value: 6 })
    expect(refused.headers.get('retry-after')).toBe('10')
    expect(refused.headers.get('www-authenticate')).toBeNull()

    server().advance(9_000)
    expect((await chat(server(), NO_KEY)).headers.get('retry-after')).toBe('1')
    server().advance(1_000)
    expectProblem(await chat(server(), NO_KEY), 'invalid_api_key')
    expectProblem(await chat(server(), NO_KEY), 'rate_limit_exceeded')
  })

  it('do not affect valid keys from the same address', async () => {
    const account = await openAccount(server())
    server().advance(MINUTE_MS)
    for (let time = 0; time < 10; time++) {
      const [stranger, customer] = await Promise.all([chat(server(), NO_KEY), chat(server(), account)])
      expect(stranger.status).toBe(time < 3 ? 401 : 429)
      expect(customer.status).toBe(200)
    }
    // What a suspended account is told is for its owner to know, and not what strangers are counted by.
    await server().operate('accounts.suspend', { account: account.id })
    expectProblem(await chat(server(), account), 'account_suspended')
  })

  it('cannot forge addresses without a trusted proxy', async () => {
    server().advance(MINUTE_MS)
    const statuses: number[] = []
    for (let time = 0; time < 5; time++) statuses.push((await sendAs(server(), [`198.51.100.${time}`])).status)
    expect(statuses).toEqual([401, 401, 401, 429, 429])
  })

  it('follow the configured limit', async () => {
    server().advance(MINUTE_MS)
    await server().reload(`${TEST_CONFIG}\nlimits: { address: { refused_per_minute: off } }`)
    expect(new Set(await statusesOf(server(), [], 20))).toEqual(new Set([401]))
    await server().reload(`${TEST_CONFIG}\nlimits: { address: { refused_per_minute: 1 } }`)
    expect(await statusesOf(server(), [], 3)).toEqual([401, 429, 429])
    await server().reload(strangersLimited())
  })
})

describe('without configuration', () => {
  const server = useServer({ clock: 'still' })

  it('three hundred pass at once', async () => {
    const answers = await Promise.all(Array.from({ length: 310 }, () => chat(server(), NO_KEY)))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(300)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(10)
  })
})

describe('behind a proxy that is trusted', () => {
  const server = useServer({
    config: strangersLimited('server: { trust_proxy: [127.0.0.0/8, "::1", 10.0.0.0/8] }\n'),
    clock: 'still',
  })

  it('clients are identified by the proxy’s header, not their own', async () => {
    expect(await statusesOf(server(), ['198.51.100.1'], 4)).toEqual([401, 401, 401, 429])
    expect(await statusesOf(server(), ['198.51.100.2'], 1)).toEqual([401])
    expect(await statusesOf(server(), ['6.6.6.6, 198.51.100.1'], 1)).toEqual([429])
    expect(await statusesOf(server(), ['6.6.6.6', '198.51.100.1, 10.0.0.3'], 1)).toEqual([429])
    expect(await statusesOf(server(), ['198.51.100.1', '6.6.6.7'], 1)).toEqual([401])
  })

  it('an IPv6 /64 is one client', async () => {
    server().advance(MINUTE_MS)
    const statuses: number[] = []
    for (let time = 0; time < 4; time++) statuses.push((await sendAs(server(), [`2001:db8::${time}`])).status)
    expect(statuses).toEqual([401, 401, 401, 429])
    expect(await statusesOf(server(), ['2001:db8:0:1::1'], 1)).toEqual([401])
  })
})
