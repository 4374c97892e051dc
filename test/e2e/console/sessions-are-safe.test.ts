import { beforeAll, describe, expect, it } from 'vitest'
import { CONSOLE_API, type RouteName } from '../../../src/contract/console-api.ts'
import { type ConsolePerson, openBrowser, PASSWORD, signUp } from '../../support/console-session.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { readSetCookie } from '../../support/set-cookie.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const MINUTE = 60_000
const server = useServer()
let account: TestAccount
let people = 0

beforeAll(async () => {
  account = await openAccount(server())
})

const newPerson = (role: 'owner' | 'operator' = 'owner'): Promise<ConsolePerson> => {
  people += 1
  return signUp(server(), { email: `person-${people}@walk.example`, account: account.id, role })
}

const signIn = (email: string, password = PASSWORD, browser = openBrowser(server())) =>
  browser.send('POST /session', { body: { email, password } })

const GRAVE = (Object.keys(CONSOLE_API) as RouteName[]).filter((name) => CONSOLE_API[name].confirmed === true)

describe('the cookie of a session', () => {
  it('is HttpOnly, SameSite and host-only, and expires within a week', async () => {
    const { email } = await newPerson()
    const reported = await signIn(email)
    const [line = ''] = reported.headers.getSetCookie()
    const { name, value, attributes } = readSetCookie(line)
    expect(name).toBe('millrace_session')
    expect(Buffer.from(value.replace('mr_session_', ''), 'base64url').length).toBeGreaterThanOrEqual(32)
    expect(Object.fromEntries(attributes)).toEqual({
      ...{ path: '/', httponly: '', samesite: 'Lax', 'max-age': String(7 * 24 * 3600) },
    })
    expect(reported.text).not.toContain(value)
  })

  it('changes at every sign-in', async () => {
    const person = await newPerson()
    const fixed = person.cookie!
    await person.call('POST /session', { body: { email: person.email, password: PASSWORD } })
    expect(person.cookie).not.toBe(fixed)
    const thief = openBrowser(server())
    thief.cookie = `millrace_session=mr_session_${'x'.repeat(43)}`
    const chosen = thief.cookie
    await thief.call('POST /session', { body: { email: person.email, password: PASSWORD } })
    expect(thief.cookie).not.toBe(chosen)
  })

  it('is invalid after sign-out and after 12 idle hours', async () => {
    const [disconnected, silent, used] = [await newPerson(), await newPerson(), await newPerson()]
    const copy = openBrowser(server())
    copy.cookie = disconnected.cookie
    await disconnected.call('DELETE /session')
    expect(disconnected.cookie).toBeUndefined()
    expect((await copy.send('GET /keys')).error?.code).toBe('session_ended')
    server().advance(11 * 60 * MINUTE)
    expect((await used.send('GET /keys')).status).toBe(200)
    server().advance(2 * 60 * MINUTE)
    expect((await used.send('GET /keys')).status).toBe(200)
    expect((await silent.send('GET /keys')).error?.code).toBe('session_ended')
  })

  it('lasts a week at most', async () => {
    const person = await newPerson()
    let hours = 0
    while ((await person.send('GET /keys')).status === 200 && hours < 24 * 8) {
      server().advance(10 * 60 * MINUTE)
      hours += 10
    }
    expect(hours).toBeGreaterThanOrEqual(24 * 7 - 10)
    expect(hours).toBeLessThanOrEqual(24 * 7 + 10)
  })
})

describe('a page of another site', () => {
  const FOREIGN: readonly Readonly<Record<string, string | undefined>>[] = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': undefined, origin: 'https://evil.example' },
    { 'sec-fetch-site': undefined, origin: 'null' },
    { 'sec-fetch-site': undefined, origin: undefined },
    { 'x-csrf-token': undefined },
    { 'x-csrf-token': 'x'.repeat(43) },
  ]

  it.each(FOREIGN)('cannot change anything: %o', async (headers) => {
    const person = await newPerson()
    const before = await person.call('GET /keys')
    const reported = await person.send('POST /keys', { body: { name: 'stolen', kind: 'wallet' }, headers })
    expect(reported.error?.code).toBe('other_site')
    expect(await person.call('GET /keys')).toEqual(before)
  })

  it('cannot use the token of another session', async () => {
    const [one, two] = [await newPerson(), await newPerson()]
    const headers = { 'x-csrf-token': two.csrf }
    expect((await one.send('POST /wallet/ask', { body: { amount: '1.00', note: '' }, headers })).error?.code).toBe(
      'other_site',
    )
  })

  it('cannot send a form', async () => {
    const person = await newPerson()
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      undefined,
    ]) {
      const reported = await person.send('POST /wallet/ask', {
        body: '{"amount":"1.00","note":""}',
        headers: { 'content-type': type },
      })
      expect(reported.error?.code, String(type)).toBe('json_needed')
    }
  })

  it('cannot reach the console through its own host name (DNS rebinding)', async () => {
    const person = await newPerson()
    const response = await rawGet('/console/api/session', { host: 'evil.example', cookie: person.cookie! })
    expect(response).toMatch(/^HTTP\/1\.1 421 /)
    expect(response).toContain('host_not_allowed')
    expect(response).not.toContain(person.email)
  })
})

describe('keys and money', () => {
  it('require a fresh password confirmation; nothing else does', () => {
    expect(GRAVE).toEqual([
      ...[
        'POST /factors/totp',
        'POST /factors/totp/confirm',
        'POST /factors/totp/remove',
        'POST /factors/recovery-codes',
      ],
      ...['POST /passkeys/challenge', 'POST /passkeys', 'POST /passkeys/:passkey/remove'],
      ...['POST /keys', 'POST /keys/:key/rotate', 'POST /keys/:key/raise', 'POST /teams/:team/raise'],
      ...['POST /wallet/redeem'],
      ...['POST /card/top-up', 'PUT /card/automatic', 'POST /plans/buy', 'PUT /plans/:purchase/renewal'],
      'PUT /second-factor',
      ...['POST /members/invite', 'PATCH /members/:person', 'POST /members/:person/remove'],
      ...['POST /members/:person/raise', 'POST /webhooks', 'POST /webhooks/:webhook/rotate'],
      'POST /operate/accounts/:account/credit',
      ...['POST /operate/accounts/:account/plan', 'POST /operate/accounts/:account/invite'],
      ...['POST /operate/people/:person/disable', 'POST /operate/people/:person/enable'],
      ...['POST /operate/people/:person/remove-factors', 'POST /operate/codes', 'POST /operate/managed'],
      ...['POST /operate/webhooks', 'POST /operate/webhooks/:webhook/rotate'],
    ])
  })

  it('require the password again after 15 minutes', async () => {
    const person = await newPerson()
    const make = () => person.send('POST /keys', { body: { name: 'later', kind: 'wallet' } })
    server().advance(14 * MINUTE)
    expect((await make()).status).toBe(200)
    server().advance(2 * MINUTE)
    expect((await make()).error?.code).toBe('confirm_password')
    expect((await person.send('POST /session/confirm', { body: { password: 'wrong' } })).error?.code).toBe(
      'wrong_password',
    )
    expect((await make()).error?.code).toBe('confirm_password')
    await person.call('POST /session/confirm', { body: { password: PASSWORD } })
    expect((await make()).status).toBe(200)
  })
})

describe('a key that gains permissions', () => {
  it('requires the password like a new key; one that loses permissions does not', async () => {
    const person = await newPerson()
    const body = { name: 'bounded', kind: 'wallet', caps: { day: '5.00' } } as const
    const { key } = await person.call('POST /keys', { body })
    const change = (terms: object) => person.send('PATCH /keys/:key', { params: { key: key.id }, body: terms })
    server().advance(16 * MINUTE)
    expect((await change({ caps: { day: '6.00' } })).error?.code).toBe('confirm_password')
    expect((await change({ name: 'small', caps: { day: '4.00' }, disabled: true })).status).toBe(200)
    expect((await change({ disabled: false })).error?.code).toBe('confirm_password')
    await person.call('POST /session/confirm', { body: { password: PASSWORD } })
    expect((await change({ caps: { day: '6.00' }, disabled: false })).status).toBe(200)
    const { items } = await person.call('GET /audit')
    expect(items.slice(0, 2).map(({ actor, detail }) => [actor, detail])).toEqual([
      [person.email, 'caps, disabled of "small" (wallet)'],
      [person.email, 'name, caps, disabled of "small" (wallet)'],
    ])
  })
})

describe('password guessing', () => {
  it('does not reveal whether an account exists, and is throttled after five attempts', async () => {
    const { email } = await newPerson()
    const tries = async (name: string) => {
      const emitted = []
      for (let count = 0; count < 7; count++) {
        const { status, error } = await signIn(name, 'a wrong password')
        emitted.push([status, error?.code, error?.message, error?.retry_after])
      }
      return emitted
    }
    const known = await tries(email)
    server().advance(60 * MINUTE)
    const unknown = await tries('nobody-at-all@walk.example')
    expect(unknown).toEqual(known)
    expect(known.map(([status]) => status)).toEqual([403, 403, 403, 403, 403, 429, 429])
    server().advance(60 * MINUTE)
  })

  it('does not reveal when the next attempt is allowed; the right password fails meanwhile', async () => {
    const { email } = await newPerson()
    for (let count = 0; count < 5; count++) await signIn(email, 'a wrong password')
    const locked = await signIn(email)
    expect([locked.error?.code, locked.error?.retry_after]).toEqual(['too_many_tries', null])
    expect(locked.headers.get('retry-after')).toBeNull()
    server().advance(2 * MINUTE)
    const later = await signIn(email)
    expect([later.status, later.error?.message]).toEqual([429, locked.error?.message])
    server().advance(MINUTE + 100)
    expect((await signIn(email)).status).toBe(200)
    server().advance(60 * MINUTE)
  })

  it('is throttled by address across names', async () => {
    const statuses = []
    for (let count = 0; count < 25; count++) {
      statuses.push((await signIn(`many-${count}@walk.example`, 'a wrong password')).status)
      server().advance(100)
    }
    expect(statuses.filter((status) => status === 403)).toHaveLength(20)
    expect(statuses.slice(20)).toEqual([429, 429, 429, 429, 429])
    server().advance(60 * MINUTE)
  })
})

describe('the cookie of a device', () => {
  it('is HttpOnly and SameSite, outlives the session, and grants no access', async () => {
    const { email } = await newPerson()
    const reported = await signIn(email)
    const { name, value, attributes } = readSetCookie(reported.headers.getSetCookie()[1] ?? '')
    expect(name).toBe('millrace_device')
    expect(Object.fromEntries(attributes)).toEqual({
      ...{ path: '/', httponly: '', samesite: 'Strict', 'max-age': String(180 * 24 * 3600) },
    })
    const thief = openBrowser(server())
    thief.device = `millrace_device=${value}`
    expect((await thief.send('GET /keys')).error?.code).toBe('session_ended')
    expect((await signIn(email, 'a wrong password', thief)).status).toBe(403)
  })
})

describe('a changed password', () => {
  it('ends every other session and renews this one', async () => {
    const person = await newPerson()
    const elsewhere = openBrowser(server(), person.email)
    await elsewhere.call('POST /session', { body: { email: person.email, password: PASSWORD } })
    const before = person.cookie
    await person.call('PUT /password', { body: { current: PASSWORD, next: 'quite another password' } })
    expect(person.cookie).not.toBe(before)
    expect((await elsewhere.send('GET /keys')).error?.code).toBe('session_ended')
    expect((await person.send('GET /keys')).status).toBe(200)
    expect((await signIn(person.email)).error?.code).toBe('wrong_password')
    expect((await signIn(person.email, 'quite another password')).status).toBe(200)
  })
})

describe('an invitation', () => {
  it('works once, even for two concurrent requests', async () => {
    const { code } = await server().operate('people.invite', {
      email: 'twice@walk.example',
      role: 'owner',
      account: account.id,
    })
    const tries = [openBrowser(server()), openBrowser(server())]
    const reported = await Promise.all(
      tries.map((one) => one.send('POST /sign-up', { body: { code, password: PASSWORD } })),
    )
    expect(reported.map(({ status }) => status).toSorted()).toEqual([200, 403])
    expect((await openBrowser(server()).send('POST /invitation', { body: { code } })).error?.code).toBe(
      'invite_not_valid',
    )
  })

  it('is looked up by a code in the body, never in the URL', async () => {
    const { code } = await server().operate('people.invite', {
      email: 'looked-at@walk.example',
      role: 'owner',
      account: account.id,
    })
    const receivedRequest = await openBrowser(server()).call('POST /invitation', { body: { code } })
    expect(receivedRequest).toMatchObject({ email: 'looked-at@walk.example', role: 'owner', resets: false })
    const { status } = await fetch(`http://127.0.0.1:${server().port}/console/api/invitation?code=${code}`)
    expect(status).toBe(404)
  })
})

/** With a Host header that no fetch would send. */
async function rawGet(path: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const socket = await openRawSocket(server())
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}connection: close\r\n\r\n`)
  await socket.closed
  return socket.received
}
