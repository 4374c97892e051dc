import { beforeAll, describe, expect, it } from 'vitest'
import { type ConsolePerson, openBrowser, PASSWORD } from '../../support/console-session.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

/** Behind a proxy on this machine, which names the address of each client. */
const server = useServer({ config: `${TEST_CONFIG}\nserver: { trust_proxy: [127.0.0.1] }\n`, clock: 'still' })
const MINUTE = 60_000
const HOME = '198.51.100.7'
const CAFE = '198.51.100.99'
let account: TestAccount
let people = 0

beforeAll(async () => {
  account = await openAccount(server())
})

const from = (address: string) => ({ 'x-forwarded-for': address })
const signIn = (email: string, address: string, browser = openBrowser(server()), password = PASSWORD) =>
  browser.send('POST /session', { body: { email, password }, headers: from(address) })
const guess = async (email: string, address: string): Promise<number> =>
  (await signIn(email, address, openBrowser(server()), 'a wrong password')).status

/** An account owner who has signed up at home, and whose browser remembers it. */
async function newOwner(): Promise<ConsolePerson> {
  people += 1
  const email = `owner-${people}@strangers.example`
  const { code } = await server().operate('people.invite', { email, role: 'owner', account: account.id })
  const browser = openBrowser(server(), email)
  const signedUp = await browser.send('POST /sign-up', { body: { code, password: PASSWORD }, headers: from(HOME) })
  expect(signedUp.status).toBe(200)
  return browser
}

/** The browser without its session: all that is left is that it has signed in before. */
function signedOut(owner: ConsolePerson): ConsolePerson {
  const browser = openBrowser(server(), owner.email)
  browser.device = owner.device
  return browser
}

describe('a stranger guessing from one address for hours', () => {
  it('locks out that address but not the account owner', async () => {
    const owner = await newOwner()
    const statuses: number[] = []
    for (let count = 0; count < 12; count++) statuses.push(await guess(owner.email, '203.0.113.1'))
    expect(statuses).toEqual([...Array(5).fill(403), ...Array(7).fill(429)])
    for (let hours = 0; hours < 4; hours++) {
      server().advance(60 * MINUTE)
      for (let count = 0; count < 12; count++) await guess(owner.email, '203.0.113.1')
      expect((await signIn(owner.email, CAFE)).status).toBe(200)
      expect((await signIn(owner.email, HOME)).status).toBe(200)
      expect((await signIn(owner.email, '203.0.113.1', signedOut(owner))).status).toBe(200)
    }
    expect((await signIn(owner.email, '203.0.113.1')).status).toBe(429)
  })

  it('does not lock out password confirmations in the same network', async () => {
    const owner = await newOwner()
    for (let count = 0; count < 30; count++) await guess(`nobody-${count}@strangers.example`, HOME)
    const confirmed = await owner.send('POST /session/confirm', { body: { password: PASSWORD }, headers: from(HOME) })
    expect(confirmed.status).toBe(200)
  })
})

describe('strangers guessing from a thousand addresses', () => {
  const network = (index: number) => `10.${index >> 8}.${index & 255}.1`

  it('share a hundred guesses an hour; known browsers and networks are never refused', async () => {
    const owner = await newOwner()
    const attack = async (first: number) => {
      const statuses: number[] = []
      for (let index = first; index < first + 1000; index += 10) {
        const ten = Array.from({ length: 10 }, (_, step) => guess(owner.email, network(index + step)))
        statuses.push(...(await Promise.all(ten)))
      }
      return statuses.filter((status) => status === 403).length
    }
    expect(await attack(0)).toBe(100)
    expect((await signIn(owner.email, CAFE)).status).toBe(429)
    expect((await signIn(owner.email, CAFE, signedOut(owner))).status).toBe(200)
    expect((await signIn(owner.email, network(3), signedOut(owner))).status).toBe(200)
    expect((await signIn(owner.email, HOME)).status).toBe(200)
    expect(await attack(1000)).toBe(0)

    const link = await server().operate('people.invite', { email: owner.email, role: 'owner', resets: true })
    const elsewhere = openBrowser(server(), owner.email)
    const body = { code: link.code, password: PASSWORD }
    expect((await elsewhere.send('POST /sign-up', { body, headers: from(CAFE) })).status).toBe(200)
    const { items } = await elsewhere.call('GET /audit')
    const lockouts = items.filter(({ action, actor }) => action === 'sign_in_refused' && actor === owner.email)
    expect(lockouts.length).toBeGreaterThan(0)
    expect(lockouts.length).toBeLessThanOrEqual(4)
  }, 120_000)

  it('count once per IPv6 /64; forged forwarded addresses are ignored', async () => {
    const owner = await newOwner()
    const statuses: number[] = []
    for (let count = 0; count < 8; count++) statuses.push(await guess(owner.email, `2001:db8:7::${count + 1}`))
    expect(statuses).toEqual([...Array(5).fill(403), ...Array(3).fill(429)])
    const made: number[] = []
    for (let count = 0; count < 8; count++) made.push(await guess(owner.email, `10.9.9.${count}, 203.0.113.40`))
    expect(made).toEqual([...Array(5).fill(403), ...Array(3).fill(429)])
  })
})
