import { beforeAll, describe, expect, it } from 'vitest'
import { signUp } from '../support/console-session.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { chat, get } from '../support/send-chat.ts'
import { openAccount, type TestAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { useServer } from '../support/use-server.ts'

describe('a key with a list of addresses', () => {
  const server = useServer({ config: `${TEST_CONFIG}\nserver: { trust_proxy: [127.0.0.0/8, "::1"] }\n` })
  let account: TestAccount
  beforeAll(async () => {
    account = await openAccount(server())
  })

  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
  const statusFrom = async (key: { readonly key: string }, address: string) =>
    (await chat(server(), key, { max_tokens: 5 }, from(address))).status

  it('works from these alone, IPv4 and IPv6, on every endpoint', async () => {
    const addresses = ['203.0.113.7', '10.1.2.3/8', '2001:DB8::/32']
    const made = await account.createKey({ addresses })
    expect((await server().operate('keys.show', { key: made.id })).addresses).toEqual([
      ...['203.0.113.7', '10.0.0.0/8', '2001:db8::/32'],
    ])
    for (const address of ['203.0.113.7', '10.9.9.9', '::ffff:10.9.9.9', '2001:db8:1::1'])
      expect(await statusFrom(made, address), address).toBe(200)
    for (const address of ['203.0.113.8', '11.0.0.1', '::ffff:11.0.0.1', '2001:db9::1'])
      expect(await statusFrom(made, address), address).toBe(403)
    const refused = await chat(server(), made, {}, from('198.51.100.4'))
    expectProblem(refused, 'key_address_not_allowed')
    expect(refused.json.error.message).toContain('198.51.100.4')
    // Without the header the proxy itself is the client.
    for (const path of ['/models', '/key', '/requests/req_none', '/responses/resp_none'])
      expect((await get(server(), made, path)).json.error?.code, path).toBe('key_address_not_allowed')
  })

  it('cannot be reached by an address that the client invents', async () => {
    const made = await account.createKey({ addresses: ['203.0.113.7'] })
    expect(await statusFrom(made, '203.0.113.7, 198.51.100.4')).toBe(403)
    expect(await statusFrom(made, '198.51.100.4, 203.0.113.7')).toBe(200)
  })

  it('changes at once, and none means any', async () => {
    const made = await account.createKey({})
    expect(await statusFrom(made, '198.51.100.4')).toBe(200)
    await server().operate('keys.change', { key: made.id, addresses: ['203.0.113.7'] })
    expect(await statusFrom(made, '198.51.100.4')).toBe(403)
    await server().operate('keys.change', { key: made.id, addresses: null })
    expect(await statusFrom(made, '198.51.100.4')).toBe(200)
  })

  it('in the console is narrowed freely, and widened only after a confirmation', async () => {
    const owner = await signUp(server(), { email: 'addresses@walk.example', account: account.id })
    const body = { name: 'listed', kind: 'wallet', addresses: ['10.0.0.0/8', '203.0.113.7'] } as const
    const { key } = await owner.call('POST /keys', { body: { ...body, addresses: [...body.addresses] } })
    expect(key.addresses).toEqual(body.addresses)
    server().advance(16 * 60_000)
    const change = async (addresses: readonly string[] | null) => {
      const sent = { params: { key: key.id }, body: { addresses } }
      const { status, error } = await owner.send('PATCH /keys/:key', sent)
      return error?.code ?? status
    }
    expect(await change(['203.0.113.7'])).toBe(200)
    expect(await change(['203.0.113.7', '203.0.113.8'])).toBe('confirm_password')
    expect(await change(null)).toBe('confirm_password')
    for (const wrong of [[], ['example.com'], ['10.0.0.0/33'], Array(33).fill('10.0.0.1')])
      expect(await change(wrong)).toBe('invalid_arguments')
  })

  it('is a term of the accounts file, which says when it differs', async () => {
    const entry = (addresses: string[] | null) => ({
      accounts: [{ email: 'filed@example.com', keys: [{ name: 'ci', kind: 'wallet' as const, addresses }] }],
    })
    await server().operate('accounts.apply', entry(['10.1.1.1/8']))
    expect((await server().operate('accounts.apply', entry(['10.0.0.0/8']))).changes).toEqual([])
    const { changes } = await server().operate('accounts.apply', entry(null))
    expect(changes.map(({ what }) => what)).toEqual(['key "ci": addresses null'])
    const { items } = await server().operate('accounts.export', { limit: 50 })
    expect(items.find(({ email }) => email === 'filed@example.com')?.keys[0]).toMatchObject({ addresses: null })
  })
})
