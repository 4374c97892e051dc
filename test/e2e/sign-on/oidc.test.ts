import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { totpCode, totpStepAt } from '../../../src/auth/totp.ts'
import { type IssuerPerson, startIssuer, type TestIssuer } from '../../fakes/oidc-issuer.ts'
import { openBrowser, PASSWORD, signUp } from '../../support/console-session.ts'
import { readTotpSecret } from '../../support/read-totp-secret.ts'
import { corpAt, follow, signOn } from '../../support/sign-on.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'

const ROLES = `roles: [
  { group: Owners, account: team@example.com, role: owner },
  { group: Engineers, account: team@example.com, role: member },
  { group: Readers, account: other@example.com, role: viewer },
  { group: Operators, role: operator }]`

let issuer: TestIssuer
let server: TestServer
let account: { readonly id: string }

const createAccount = ({ operate }: TestServer, email: string) => operate('accounts.create', { email })

const configOf = (more: string, signIn = '') => `${TEST_CONFIG}
sign_in: { ${signIn} oidc: [${corpAt(issuer.url, more)}] }
`

beforeAll(async () => {
  issuer = await startIssuer()
  server = await startServer({ config: configOf(`create_people: true, link_by_email: true, ${ROLES}`) })
  account = await createAccount(server, 'team@example.com')
  await createAccount(server, 'other@example.com')
  await signUp(server, { email: 'root@example.com', role: 'operator' })
  await signUp(server, { email: 'owner@example.com', account: account.id })
})
afterAll(async () => {
  await server.close()
  await issuer.close()
})
beforeEach(() => {
  issuer.faults = {}
})

let made = 0
const person = (groups: readonly string[], more: Readonly<Record<string, unknown>> = {}): IssuerPerson => {
  const number = ++made
  return { sub: `sub-${number}`, email: `p${number}@example.com`, email_verified: true, groups, ...more }
}
const browser = () => openBrowser(server)
const auditOf = async (action: string) => {
  const rows = await server.app.operations.db.selectFrom('audit').selectAll().where('action', '=', action).execute()
  return rows.map(({ actor, detail }) => `${actor}: ${detail}`)
}

describe('a sign-in by a provider', () => {
  it('creates the person with the role of their groups, and signs them in again by issuer and subject', async () => {
    issuer.person = person(['Engineers'])
    const ann = browser()
    const ended = await signOn(server, issuer, ann, '?next=/keys')
    expect(ended).toMatchObject({ status: 303, location: '/console/keys' })
    const { person: seen } = await ann.call('GET /session')
    expect(seen).toMatchObject({ email: issuer.person.email, role: 'member', account: { id: account.id } })
    issuer.person = { ...issuer.person, email: 'married@example.com' }
    const again = browser()
    await signOn(server, issuer, again)
    expect((await again.call('GET /session')).person?.id).toBe(seen?.id)
    expect(await auditOf('signed_up')).toContainEqual(`${seen?.email}: as member by corp`)
  })

  it('offers the provider on the sign-in page', async () => {
    expect((await browser().call('GET /session')).sign_on).toEqual([{ name: 'corp', label: 'Corp' }])
  })

  it('links a person who signed up with a password by their verified email, once', async () => {
    const ben = await signUp(server, { email: 'ben@example.com', role: 'member', account: account.id })
    issuer.person = person(['Engineers'], { email: 'Ben@example.com' })
    const second = browser()
    await signOn(server, issuer, second)
    expect((await second.call('GET /session')).person?.email).toBe(ben.email)
    expect(await auditOf('identity_linked')).toContainEqual('ben@example.com: to corp by the email')
    issuer.person = { ...issuer.person, sub: 'a new owner of the email' }
    expect((await signOn(server, issuer, browser())).problem).toBe('other_identity')
    expect(await server.operate('people.unlink', { person: ben.email })).toMatchObject({ unlinked: 1 })
    expect((await second.call('GET /session')).person).toBeNull()
    expect((await signOn(server, issuer, browser())).problem).toBeNull()
  })

  it('links no one by an email of outside the account that the groups give', async () => {
    await signUp(server, { email: 'chief@example.com', role: 'operator' })
    await signUp(server, { email: 'apart@example.com', account: account.id })
    for (const email of ['chief@example.com', 'apart@example.com']) {
      issuer.person = person(['Readers'], { email })
      expect((await signOn(server, issuer, browser())).problem, email).toBe('other_account')
    }
    expect((await auditOf('identity_linked')).filter((each) => /^(chief|apart)@/.test(each))).toEqual([])
  })

  it('follows the groups at each sign-in, and refuses a person without one', async () => {
    issuer.person = person(['Engineers'])
    const ann = browser()
    await signOn(server, issuer, ann)
    issuer.person = { ...issuer.person, groups: ['Readers', 'Owners'] }
    await signOn(server, issuer, browser())
    // Of the rules that fit, the first in the person's own account; the session of before has the role as well.
    expect((await ann.call('GET /session')).person?.role).toBe('owner')
    for (const [groups, problem] of [
      [[], 'no_role'],
      [['Readers'], 'other_account'],
      [undefined, 'no_role'],
    ] as const) {
      issuer.person = { ...issuer.person, groups }
      expect((await signOn(server, issuer, browser())).problem).toBe(problem)
    }
    expect((await ann.call('GET /session')).person?.role).toBe('owner')
  })

  it('reads groups and email from the user info when the token has none', async () => {
    issuer.person = person(['Operators'])
    issuer.faults = { inUserInfo: ['groups', 'email', 'email_verified'] }
    const ann = browser()
    await signOn(server, issuer, ann)
    expect((await ann.call('GET /session')).person).toMatchObject({ role: 'operator', account: null })
  })

  it('does not take the role of the last owner', async () => {
    const lone = await startServer({ config: configOf(`link_by_email: true, ${ROLES}`) })
    const { id } = await createAccount(lone, 'team@example.com')
    await signUp(lone, { email: 'lone@example.com', account: id })
    issuer.person = person(['Engineers'], { email: 'lone@example.com' })
    expect((await signOn(lone, issuer, openBrowser(lone))).problem).toBe('last')
    expect((await lone.operate('people.list', { limit: 5 })).items[0]?.role).toBe('owner')
    await lone.close()
  })

  it('sees a rotated key at once, also of another kind', async () => {
    issuer.person = person(['Engineers'])
    expect((await signOn(server, issuer, browser())).problem).toBeNull()
    issuer.rotate('ES256')
    expect((await signOn(server, issuer, browser())).problem).toBeNull()
    issuer.rotate('RS256')
    expect((await signOn(server, issuer, browser())).problem).toBeNull()
  })
})

describe('what is refused', () => {
  it.each([
    ['another nonce', { claims: { nonce: 'another' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['another audience', { claims: { aud: 'another' } }],
    ['an audience among others without a party', { claims: { aud: ['millrace', 'another'], azp: 'another' } }],
    ['another issuer', { claims: { iss: 'https://other.example.com' } }],
    ['a token that has expired', { claims: { exp: Math.floor(Date.now() / 1000) - 120 } }],
    ['no signature', { signature: 'none' }],
    ['the signature of a stranger', { signature: 'stranger' }],
  ] as const)('%s', async (_name, faults) => {
    issuer.person = person(['Engineers'])
    issuer.faults = faults
    const ann = browser()
    expect((await signOn(server, issuer, ann)).problem).toBe('invalid')
    expect((await ann.call('GET /session')).person).toBeNull()
  })

  it.each([
    ['an email that is not verified', { email_verified: false }, 'email'],
    ['an email about which nothing is said', { email_verified: undefined }, 'email'],
    ['no email', { email: undefined }, 'email'],
  ] as const)('%s', async (_name, claims, problem) => {
    issuer.person = person(['Engineers'], claims)
    expect((await signOn(server, issuer, browser())).problem).toBe(problem)
  })

  it('a state that comes back twice, also at a careless issuer', async () => {
    issuer.person = person(['Engineers'])
    issuer.faults = { allowsReplay: true }
    const ann = openBrowser(server)
    const begun = await follow(server, ann, '/console/sso/corp')
    const kept = (ann as { signOn?: string }).signOn
    const back = issuer.authorize(begun.location)
    expect((await follow(server, ann, back)).problem).toBeNull()
    const thief = Object.assign(openBrowser(server), { signOn: kept })
    expect((await follow(server, thief, back)).problem).toBe('expired')
  })

  it('the state of another browser, none, and one that is too old', async () => {
    issuer.person = person(['Engineers'])
    const [ann, eve] = [browser(), browser()]
    const begun = await follow(server, ann, '/console/sso/corp')
    await follow(server, eve, '/console/sso/corp')
    const back = issuer.authorize(begun.location)
    expect((await follow(server, eve, back)).problem).toBe('expired')
    expect((await follow(server, browser(), back)).problem).toBe('expired')
    server.advance(600_000)
    expect((await follow(server, ann, back)).problem).toBe('expired')
  })

  it('what the person or the provider has refused, and names that are no provider', async () => {
    const ann = browser()
    const begun = await follow(server, ann, '/console/sso/corp')
    const state = new URL(begun.location).searchParams.get('state')
    const back = `/console/sso/corp/callback?error=access_denied&state=${state}`
    expect((await follow(server, ann, back)).problem).toBe('invalid')
    expect((await follow(server, browser(), '/console/sso/other')).problem).toBe('unknown_provider')
  })

  it('a way to another site after the sign-in', async () => {
    issuer.person = person(['Engineers'])
    for (const next of ['//evil.example', '/\\evil.example', 'https://evil.example', '/../../v1', '/%2e%2e/v1']) {
      const ended = await signOn(server, issuer, browser(), `?next=${encodeURIComponent(next)}`)
      expect(ended.location).toMatch(/^\/console\/(?!\/)/)
      expect(new URL(ended.location, 'http://here').origin).toBe('http://here')
    }
  })

  it('a disabled person', async () => {
    issuer.person = person(['Engineers'])
    await signOn(server, issuer, browser())
    await server.operate('people.disable', { person: issuer.person.email! })
    expect((await signOn(server, issuer, browser())).problem).toBe('disabled')
  })

  it('a person without a password at the password, as if they were unknown', async () => {
    issuer.person = person(['Engineers'])
    await signOn(server, issuer, browser())
    for (const password of ['none', PASSWORD]) {
      const { error } = await browser().send('POST /session', { body: { email: issuer.person.email, password } })
      expect(error?.code).toBe('wrong_password')
    }
  })
})

describe('without leave of the operator', () => {
  let strict: TestServer
  beforeAll(async () => {
    strict = await startServer({
      config: configOf(`email_domains: [example.com], disable_removed: true, ${ROLES}`, 'password: operators_only,'),
    })
    await createAccount(strict, 'team@example.com')
    await signUp(strict, { email: 'root@example.com', role: 'operator' })
  })
  afterAll(() => strict.close())

  it('no person is created, none is taken by their email, and other domains are refused', async () => {
    issuer.person = person(['Engineers'])
    expect((await signOn(strict, issuer, openBrowser(strict))).problem).toBe('unknown_person')
    issuer.person = person(['Operators'], { email: 'root@example.com' })
    expect((await signOn(strict, issuer, openBrowser(strict))).problem).toBe('unknown_person')
    issuer.person = person(['Engineers'], { email: 'eve@other.example.com' })
    expect((await signOn(strict, issuer, openBrowser(strict))).problem).toBe('domain')
  })

  it('only operators sign in with a password', async () => {
    const { items } = await strict.operate('accounts.list', { limit: 5 })
    const owner = { email: 'owner@example.com', account: items[0]!.id }
    await signUp(strict, owner)
    const sent = await openBrowser(strict).send('POST /session', { body: { email: owner.email, password: PASSWORD } })
    expect(sent.error?.code).toBe('password_off')
    await openBrowser(strict).call('POST /session', { body: { email: 'root@example.com', password: PASSWORD } })
  })
})

it('a person whose groups end is disabled when the operator says so, but not for a provider that names none', async () => {
  const config = configOf(`create_people: true, disable_removed: true, ${ROLES}`)
  const careful = await startServer({ config })
  await createAccount(careful, 'team@example.com')
  issuer.person = person(['Engineers'])
  const ann = openBrowser(careful)
  await signOn(careful, issuer, ann)
  issuer.person = { ...issuer.person, groups: undefined }
  expect((await signOn(careful, issuer, openBrowser(careful))).problem).toBe('no_role')
  expect((await ann.call('GET /session')).person).not.toBeNull()
  issuer.person = { ...issuer.person, groups: ['Gardeners'] }
  expect((await signOn(careful, issuer, openBrowser(careful))).problem).toBe('no_role')
  expect((await ann.call('GET /session')).person).toBeNull()
  await careful.close()
})

describe('a second factor that the server requires', () => {
  const strict = (more: string) =>
    startServer({ config: configOf(`create_people: true, ${more} ${ROLES}`, 'second_factor: everyone,') })

  it.each([
    ['amr with mfa', '', { amr: ['pwd', 'mfa', 'otp'] }, null],
    ['an acr that the configuration names', 'strong_acr: [urn:gold],', { acr: 'urn:gold' }, null],
    ['another acr', 'strong_acr: [urn:gold],', { acr: 'urn:silver' }, 'enrol'],
    ['amr without mfa', '', { amr: ['pwd'] }, 'enrol'],
    ['amr as text', '', { amr: 'mfa' }, 'enrol'],
    ['no claim', '', {}, 'enrol'],
    ['no claim, of a provider that always asks', 'second_factor: always,', {}, null],
    ['amr of a provider that is not believed', 'second_factor: never,', { amr: ['mfa'] }, 'enrol'],
  ] as const)('%s', async (_, more, claims, needed) => {
    const server = await strict(more)
    try {
      await createAccount(server, 'team@example.com')
      issuer.person = person(['Engineers'])
      issuer.faults = { claims }
      const ann = openBrowser(server)
      await signOn(server, issuer, ann)
      expect((await ann.call('GET /session')).second_factor).toBe(needed)
      expect((await ann.send('GET /keys')).status).toBe(needed === null ? 200 : 403)
    } finally {
      await server.close()
    }
  })

  it('that a person has here is given after each sign-in without one', async () => {
    const server = await strict('')
    await createAccount(server, 'team@example.com')
    issuer.person = person(['Engineers'])
    const ann = openBrowser(server)
    await signOn(server, issuer, ann)
    const secret = readTotpSecret((await ann.call('POST /factors/totp')).secret)
    const code = () => totpCode(secret, totpStepAt(server.app.operations.clock.now()))
    const { codes } = await ann.call('POST /factors/totp/confirm', { body: { code: code() } })
    await ann.call('GET /keys')
    server.advance(30_000)
    const again = openBrowser(server)
    await signOn(server, issuer, again)
    expect((await again.call('GET /session')).second_factor).toBe('give')
    // A thief of the provider's session neither adds nor removes factors, and does not guess for long.
    for (const route of [
      'POST /factors/totp/remove',
      'POST /factors/recovery-codes',
      'POST /passkeys/challenge',
    ] as const)
      expect((await again.send(route)).error?.code).toBe('second_factor_needed')
    const guesses: (string | undefined)[] = []
    for (let tries = 0; tries < 6; tries++)
      guesses.push((await again.send('POST /session/factor', { body: { code: '000000' } })).error?.code)
    expect(guesses).toEqual([...Array(5).fill('wrong_code'), 'too_many_tries'])
    const third = openBrowser(server)
    await signOn(server, issuer, third)
    // Two uses of one recovery code at once: one of them counts.
    const uses = await Promise.all([0, 1].map(() => third.send('POST /session/factor', { body: { code: codes![0]! } })))
    expect(uses.map(({ status }) => status).sort()).toEqual([200, 403])
    await third.call('GET /keys')
    await server.close()
  })
})

it('an app that is removed takes the strength that it gave, and not that of the provider', async () => {
  const lone = await startServer({ config: configOf(`create_people: true, ${ROLES}`) })
  await createAccount(lone, 'team@example.com')
  const { config } = lone.app.settings
  const needs = (secondFactor: typeof config.signIn.secondFactor) =>
    lone.app.rules.replace({ ...config, signIn: { ...config.signIn, secondFactor } })
  for (const [claims, needed] of [
    [{ amr: ['pwd'] }, 'enrol'],
    [{ amr: ['mfa'] }, null],
  ] as const) {
    issuer.person = person(['Engineers'])
    issuer.faults = { claims }
    const ann = openBrowser(lone)
    await signOn(lone, issuer, ann)
    const secret = readTotpSecret((await ann.call('POST /factors/totp')).secret)
    const code = totpCode(secret, totpStepAt(lone.app.operations.clock.now()))
    await ann.call('POST /factors/totp/confirm', { body: { code } })
    await ann.call('POST /factors/totp/remove')
    await needs('everyone')
    expect((await ann.call('GET /session')).second_factor).toBe(needed)
    await needs('optional')
  }
  await lone.close()
})

it('a reload takes other providers, another rule for passwords and a second factor', async () => {
  const lone = await startServer({ config: configOf(`create_people: true, ${ROLES}`) })
  await createAccount(lone, 'team@example.com')
  issuer.person = person(['Engineers'])
  const ann = openBrowser(lone)
  await signOn(lone, issuer, ann)
  const { config } = lone.app.settings
  const replace = (signIn: Partial<typeof config.signIn>) =>
    lone.app.rules.replace({ ...config, signIn: { ...config.signIn, ...signIn } })
  await replace({
    secondFactor: 'everyone',
    providers: config.signIn.providers.map((each) => ({ ...each, label: 'New' })),
  })
  expect(await ann.call('GET /session')).toMatchObject({ second_factor: 'enrol', sign_on: [{ label: 'New' }] })
  await replace({ secondFactor: 'optional', providers: [] })
  expect(await ann.call('GET /session')).toMatchObject({ second_factor: null, sign_on: [] })
  expect((await signOn(lone, issuer, openBrowser(lone))).problem).toBe('unknown_provider')
  await createAccount(lone, 'boss@example.com')
  const owner = await signUp(lone, { email: 'boss@example.com' })
  await replace({ password: 'operators_only' })
  const body = { email: owner.email, password: PASSWORD }
  expect((await openBrowser(lone).send('POST /session', { body })).error?.code).toBe('password_off')
  await lone.close()
})

describe('a confirmation without a password', () => {
  const key = { name: 'laptop', kind: 'wallet' } as const

  it('is a new sign-in at the provider', async () => {
    issuer.person = person(['Engineers'])
    const ann = browser()
    await signOn(server, issuer, ann)
    server.advance(16 * 60_000)
    expect((await ann.call('GET /session')).confirm_by).toEqual(['corp'])
    expect((await ann.send('POST /keys', { body: key })).error?.code).toBe('confirm_password')
    issuer.faults = { claims: { auth_time: Math.floor(server.app.operations.clock.now() / 1000) } }
    const begun = await follow(server, ann, '/console/sso/corp?confirm=1')
    const asked = new URL(begun.location).searchParams
    expect([asked.get('prompt'), asked.get('max_age')]).toEqual(['login', '0'])
    expect((await follow(server, ann, issuer.authorize(begun.location))).location).toBe('/console/confirmed')
    await ann.call('POST /keys', { body: key })
  })

  it('is refused when the provider did not ask the person, does not say, or another person signed in', async () => {
    issuer.person = person(['Engineers'])
    const ann = browser()
    await signOn(server, issuer, ann)
    server.advance(16 * 60_000)
    const now = () => Math.floor(server.app.operations.clock.now() / 1000)
    issuer.faults = { claims: { auth_time: now() - 300 } }
    expect((await signOn(server, issuer, ann, '?confirm=1')).problem).toBe('not_fresh')
    issuer.faults = { claims: { auth_time: undefined } }
    expect((await signOn(server, issuer, ann, '?confirm=1')).problem).toBe('not_fresh')
    issuer.faults = { claims: { auth_time: now() } }
    issuer.person = person(['Engineers'])
    expect((await signOn(server, issuer, ann, '?confirm=1')).problem).toBe('other_person')
    expect((await ann.send('POST /keys', { body: key })).error?.code).toBe('confirm_password')
  })
})

it('a provider that does not answer is a clear problem, and the password still works', async () => {
  const other = await startIssuer()
  const config = `${TEST_CONFIG}\nsign_in: { oidc: [${corpAt(other.url)}] }\n`
  const lone = await startServer({ config })
  const { id } = await createAccount(lone, 'team@example.com')
  await signUp(lone, { email: 'owner@example.com', account: id })
  other.faults = { status: 500 }
  expect((await signOn(lone, other, openBrowser(lone))).problem).toBe('unreachable')
  expect(other.requests.length).toBe(2)
  // Not asked again for some seconds.
  expect((await signOn(lone, other, openBrowser(lone))).problem).toBe('unreachable')
  expect(other.requests.length).toBe(2)
  await openBrowser(lone).call('POST /session', { body: { email: 'owner@example.com', password: PASSWORD } })
  other.faults = { issuer: 'https://other.example.com' }
  lone.advance(6_000)
  expect((await signOn(lone, other, openBrowser(lone))).problem).toBe('unreachable')
  other.faults = {}
  lone.advance(6_000)
  expect((await signOn(lone, other, openBrowser(lone))).problem).toBe('unknown_person')
  // What was discovered is used while the provider's discovery is down.
  lone.advance(7_200_000)
  other.faults = { status: 503 }
  expect((await follow(lone, openBrowser(lone), '/console/sso/corp')).problem).toBeNull()
  await lone.close()
  await other.close()
})
