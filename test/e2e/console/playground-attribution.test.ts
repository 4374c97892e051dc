import { beforeAll, describe, expect, it } from 'vitest'
import { type ConsolePerson, signUp } from '../../support/console-session.ts'
import { type BytesReceived, codeIn, sendBytes } from '../../support/send-bytes.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer({ config: PLANS_CONFIG, clock: 'still' })
let account: TestAccount
let owner: ConsolePerson
let other: ConsolePerson
let chief: ConsolePerson

beforeAll(async () => {
  account = await openAccount(server())
  owner = await signUp(server(), { email: 'owner@walk.example', account: account.id })
  other = await signUp(server(), { email: 'other@walk.example', account: (await openAccount(server())).id })
  chief = await signUp(server(), { email: 'chief@walk.example', role: 'operator' })
})

const TURNS = {
  'chat/completions': { model: 'swift', messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'swift', input: 'hi' },
} as const

type Heads = Readonly<Record<string, string | undefined>>

/** A turn as the playground's page asks for it, but for what is said otherwise; undefined takes a header away. */
function play(endpoint: string, headers: Heads = {}, who = owner): Promise<BytesReceived> {
  const honest: Heads = {
    'content-type': 'application/json',
    origin: `http://127.0.0.1:${server().port}`,
    'sec-fetch-site': 'same-origin',
    cookie: who.cookie,
    'x-csrf-token': who.csrf,
  }
  const all = Object.entries({ ...honest, ...headers }).filter(([, value]) => value !== undefined)
  return sendBytes(server(), `/console/api/playground/${endpoint}`, {
    method: 'POST',
    headers: Object.fromEntries(all),
    body: JSON.stringify(TURNS[endpoint as keyof typeof TURNS]),
  })
}

describe.each(Object.keys(TURNS))('the playground at %s', (endpoint) => {
  it('works for a signed-in page and charges its account', async () => {
    const before = (await account.receipts()).length
    expect((await play(endpoint)).status).toBe(200)
    const receipts = await account.receipts()
    expect(receipts).toHaveLength(before + 1)
    expect(receipts.at(-1)).toMatchObject({ kind: 'wallet' })
  })

  it.each<[string, Heads]>([
    ['of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['of a site beside this one', { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }],
    ['of another site, in an old browser', { origin: 'https://evil.example', 'sec-fetch-site': undefined }],
    ['in a sandbox', { origin: 'null', 'sec-fetch-site': undefined }],
    ['that says nothing of itself', { origin: undefined, 'sec-fetch-site': undefined }],
    ['that knows no token', { 'x-csrf-token': undefined }],
    ['that guesses a token', { 'x-csrf-token': 'x'.repeat(43) }],
    ['with a form for a body', { origin: 'https://evil.example', 'content-type': 'text/plain' }],
  ])('refuses a page %s and charges nothing', async (_, headers) => {
    const before = await account.receipts()
    const reported = await play(endpoint, headers)
    expect([reported.status, codeIn(reported)]).toEqual([403, 'other_site'])
    expect(await account.receipts()).toEqual(before)
  })

  it('sends the console’s security headers with every answer', async () => {
    const unknown = await sendBytes(server(), `/console/api/playground/${endpoint}`, { method: 'GET' })
    const reported = [await play(endpoint), await play(endpoint, { 'content-type': 'text/plain' }), unknown]
    const stranger = await play(endpoint, { cookie: undefined })
    expect([...reported, stranger].map(({ status }) => status)).toEqual([200, 415, 405, 401])
    for (const { headers } of [...reported, stranger]) {
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringContaining("default-src 'none'"),
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-store',
      })
    }
  })

  it('refuses the token of another session', async () => {
    const reported = await play(endpoint, { 'x-csrf-token': other.csrf })
    expect([reported.status, codeIn(reported)]).toEqual([403, 'other_site'])
  })

  it('refuses API keys without a session', async () => {
    for (const headers of [
      { cookie: undefined },
      { cookie: `millrace_session=mr_session_${'A'.repeat(43)}` },
      { cookie: `millrace_session=${account.key}`, authorization: `Bearer ${account.key}` },
    ]) {
      const reported = await play(endpoint, headers)
      expect([reported.status, codeIn(reported)]).toEqual([401, 'session_ended'])
    }
  })

  it('charges the plan on request, and refuses when there is none', async () => {
    await server().operate('plans.assign', { account: account.id, plan: 'wide' })
    const before = await account.wallet()
    expect((await play(endpoint, { 'x-millrace-pays': 'builder' })).status).toBe(200)
    expect((await account.receipts()).at(-1)).toMatchObject({ kind: 'builder' })
    expect(await account.wallet()).toEqual(before)
    const reported = await play(endpoint, { 'x-millrace-pays': 'builder' }, other)
    expect([reported.status, codeIn(reported)]).toEqual([402, 'subscription_inactive'])
  })

  it('refuses users without an account', async () => {
    const reported = await play(endpoint, {}, chief)
    expect([reported.status, codeIn(reported)]).toEqual([403, 'no_account'])
  })

  it('accepts POST only', async () => {
    const headers = { cookie: owner.cookie!, 'x-csrf-token': owner.csrf!, 'sec-fetch-site': 'same-origin' }
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const reported = await sendBytes(server(), `/console/api/playground/${endpoint}`, { method, headers })
      expect([reported.status, codeIn(reported)]).toEqual([405, 'method_not_allowed'])
    }
  })
})

it('signing out ends playground access', async () => {
  const disconnected = await signUp(server(), { email: 'gone@walk.example', account: account.id })
  const { cookie, csrf } = disconnected
  await disconnected.call('DELETE /session')
  const reported = await play('responses', { cookie, 'x-csrf-token': csrf })
  expect([reported.status, codeIn(reported)]).toEqual([401, 'session_ended'])
})
