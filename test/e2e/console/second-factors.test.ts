import { describe, expect, it } from 'vitest'
import { totpCode, totpStepAt } from '../../../src/auth/totp.ts'
import type { Role } from '../../../src/db/people-tables.ts'
import { type ConsolePerson, openBrowser, PASSWORD, play, signUp } from '../../support/console-session.ts'
import { readTotpSecret } from '../../support/read-totp-secret.ts'
import { chat, hello } from '../../support/send-chat.ts'
import { SoftwareAuthenticator } from '../../support/software-authenticator.ts'
import { startServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const MINUTE = 60_000

describe('two-step sign-in over HTTP', () => {
  const server = useServer()
  let people = 0

  async function newPerson(role: Role = 'owner'): Promise<ConsolePerson> {
    people += 1
    const account = await openAccount(server())
    return signUp(server(), { email: `factors-${people}@walk.example`, role, account: account.id })
  }

  const browser = (email: string) => openBrowser(server(), email, 'localhost')
  const origin = () => `http://localhost:${server().port}`
  const now = () => server().app.operations.clock.now()

  async function enrol(person: ConsolePerson) {
    const secret = readTotpSecret((await person.call('POST /factors/totp')).secret)
    const codeNow = () => totpCode(secret, totpStepAt(now()))
    const { codes } = await person.call('POST /factors/totp/confirm', { body: { code: codeNow() } })
    server().advance(30_000)
    return { codeNow, codes: codes! }
  }

  const signIn = (at: ConsolePerson, code?: string) =>
    at.send('POST /session', { body: { email: at.email, password: PASSWORD, ...(code !== undefined && { code }) } })

  it('asks for a code after the password, refuses it again, and takes recovery codes', async () => {
    const person = await newPerson()
    const { codeNow, codes } = await enrol(person)
    const other = browser(person.email)
    expect((await signIn(other)).error).toMatchObject({ code: 'code_needed', param: 'code' })
    expect(other.cookie).toBeUndefined()
    const code = codeNow()
    expect((await signIn(other, code)).json).toMatchObject({ factors: { code: true, passkey: false } })
    expect((await signIn(browser(person.email), code)).error?.code).toBe('wrong_code')
    expect((await signIn(browser(person.email), codes[0])).status).toBe(200)
    expect((await signIn(browser(person.email), codes[0])).error?.code).toBe('wrong_code')
    const { items } = await other.call('GET /sessions')
    expect(items.map(({ means }) => means)).toEqual(['recovery_code', 'code', 'link'])
    expect(JSON.stringify(await other.call('GET /audit'))).not.toContain(codes[0])
  })

  it('signs in by a passkey alone, and confirms a new key by it', async () => {
    const person = await newPerson()
    const here = browser(person.email)
    await here.call('POST /session', { body: { email: person.email, password: PASSWORD } })
    const device = new SoftwareAuthenticator(origin())
    const made = device.register(await here.call('POST /passkeys/challenge'))
    const { codes, factors } = await here.call('POST /passkeys', { body: { name: 'laptop', ...made } })
    expect([codes?.length, factors.passkeys.map(({ name }) => name)]).toEqual([10, ['laptop']])
    expect((await signIn(browser(person.email))).error?.code).toBe('code_needed')

    const other = browser(person.email)
    const answer = device.sign(await other.call('POST /session/challenge'))
    const session = await other.call('POST /session/passkey', { body: answer })
    expect(session.person?.email).toBe(person.email)
    expect((await browser(person.email).send('POST /session/passkey', { body: answer })).error?.code).toBe(
      'passkey_refused',
    )
    server().advance(16 * MINUTE)
    const create = () => other.send('POST /keys', { body: { name: 'by passkey', kind: 'wallet' } })
    expect((await create()).error?.code).toBe('confirm_password')
    const toConfirm = device.sign(await other.call('POST /session/confirm/challenge'))
    // The answer of one session confirms no other.
    expect((await here.send('POST /session/confirm/passkey', { body: toConfirm })).error?.code).toBe('passkey_refused')
    await other.call('POST /session/confirm/passkey', { body: toConfirm })
    expect((await create()).status).toBe(200)
    expect((await other.send('POST /session/confirm/passkey', { body: toConfirm })).error?.code).toBe('passkey_refused')
  })

  it('a confirmation by password needs the code too, also to change the password', async () => {
    const person = await newPerson()
    const { codeNow } = await enrol(person)
    server().advance(16 * MINUTE)
    const confirm = async (code?: string) =>
      (await person.send('POST /session/confirm', { body: { password: PASSWORD, ...(code && { code }) } })).error?.code
    expect(await confirm()).toBe('code_needed')
    expect((await person.send('POST /factors/totp/remove')).error?.code).toBe('confirm_password')
    expect(await confirm(codeNow())).toBeUndefined()
    expect(
      (await person.send('PUT /password', { body: { current: PASSWORD, next: 'another long one' } })).error?.code,
    ).toBe('code_needed')
    expect(await person.call('POST /factors/totp/remove')).toMatchObject({ totp: null, recovery_codes_left: 0 })
  })

  it('a link for a new password opens no session, and an operator removes factors', async () => {
    const person = await newPerson()
    const { codeNow } = await enrol(person)
    const { code } = await server().operate('people.invite', { email: person.email, role: 'owner', resets: true })
    const other = browser(person.email)
    expect((await other.call('POST /sign-up', { body: { code, password: PASSWORD } })).person).toBeNull()
    expect(other.cookie).toBeUndefined()
    expect((await signIn(other)).error?.code).toBe('code_needed')
    expect((await signIn(other, codeNow())).status).toBe(200)

    const operator = await newPerson('operator')
    const id = (await other.call('GET /session')).person!.id
    await operator.call('POST /operate/people/:person/remove-factors', { params: { person: id } })
    expect((await other.send('GET /sessions')).error?.code).toBe('session_ended')
    expect((await signIn(other)).status).toBe(200)
    const { items } = await other.call('GET /audit')
    expect(items.find(({ action }) => action === 'factor_removed')).toMatchObject({
      ...{ actor: operator.email, detail: `${person.email}: the authenticator app` },
    })
    expect(await server().operate('people.remove-factors', { person: person.email })).toMatchObject({
      ...{ authenticator_app: false, passkeys: 0 },
    })
  })

  describe('that an account requires', () => {
    const require = (owner: ConsolePerson, required = true) => owner.call('PUT /second-factor', { body: { required } })

    it('is added before anything else, and the last one stays', async () => {
      const owner = await newPerson()
      const { account } = (await owner.call('GET /session')).person!
      const member = await signUp(server(), { email: `${++people}@walk.example`, role: 'member', account: account!.id })
      const { secret: key } = await member.call('POST /keys', { body: { name: 'laptop', kind: 'wallet' } })
      expect(await owner.call('GET /second-factor')).toEqual({
        ...{ required: false, required_by_server: false, people_without: 2 },
      })
      expect((await member.send('PUT /second-factor', { body: { required: true } })).error?.code).toBe('role_too_low')
      server().advance(16 * MINUTE)
      expect((await owner.send('PUT /second-factor', { body: { required: true } })).error?.code).toBe(
        'confirm_password',
      )
      await owner.call('POST /session/confirm', { body: { password: PASSWORD } })
      expect((await require(owner)).required).toBe(true)

      // Open sessions, of the owner too, do nothing else. Keys go on.
      for (const person of [owner, member]) {
        expect((await person.call('GET /session')).second_factor).toBe('enrol')
        for (const route of [
          'GET /keys',
          'GET /overview',
          'GET /sessions',
          'GET /notices',
          'PUT /second-factor',
        ] as const)
          expect((await person.send(route)).error?.code, route).toMatch(/second_factor_needed|role_too_low/)
        expect((await play(person, { model: 'swift', messages: hello() })).error?.code).toBe('second_factor_needed')
      }
      expect((await chat(server(), { key })).status).toBe(200)
      const fresh = browser(member.email)
      expect((await signIn(fresh)).json).toMatchObject({ second_factor: 'enrol', factors: { code: false } })
      const { codeNow, codes } = await enrol(fresh)
      expect((await fresh.call('GET /session')).second_factor).toBeNull()
      await fresh.call('GET /keys')

      // The session from before gives the factor, and adds or removes none.
      expect((await member.call('GET /session')).second_factor).toBe('give')
      for (const route of ['POST /factors/totp', 'POST /factors/totp/remove', 'POST /passkeys/challenge'] as const)
        expect((await member.send(route)).error?.code, route).toBe('second_factor_needed')
      expect((await member.send('POST /session/factor', { body: { code: '000000' } })).error?.code).toBe('wrong_code')
      const used = codeNow()
      expect((await member.call('POST /session/factor', { body: { code: used } })).second_factor).toBeNull()
      await member.call('GET /keys')
      expect((await member.send('POST /session/factor', { body: { code: used } })).error?.code).toBe('wrong_code')
      const third = await member.send('POST /session/factor', { body: { code: codes[0] } })
      expect(third.status).toBe(200)

      expect((await fresh.send('POST /factors/totp/remove')).error?.code).toBe('last_factor')
      const device = new SoftwareAuthenticator(origin())
      const made = device.register(await fresh.call('POST /passkeys/challenge'))
      const { factors } = await fresh.call('POST /passkeys', { body: { name: 'laptop', ...made } })
      // Of both removals at once one is refused.
      const removals = await Promise.all([
        fresh.send('POST /factors/totp/remove'),
        fresh.send('POST /passkeys/:passkey/remove', { params: { passkey: factors.passkeys[0]!.id } }),
      ])
      expect(removals.map(({ error }) => error?.code).sort()).toEqual(['last_factor', undefined])

      await enrol(owner)
      expect((await owner.call('GET /second-factor')).people_without).toBe(0)
      expect((await require(owner, false)).required).toBe(false)
      const { items } = await owner.call('GET /audit')
      expect(items.map(({ action }) => action)).toEqual(expect.arrayContaining(['factor_required', 'factor_optional']))
      // Optional again: the last one goes, and required again, the same session has to add one.
      await owner.call('POST /factors/totp/remove')
      await require(owner)
      expect((await owner.call('GET /session')).second_factor).toBe('enrol')
    })

    it('is given by a passkey too', async () => {
      const owner = await newPerson()
      const [first, second] = [browser(owner.email), browser(owner.email)]
      for (const each of [first, second])
        await each.call('POST /session', { body: { email: owner.email, password: PASSWORD } })
      const device = new SoftwareAuthenticator(origin())
      const made = device.register(await first.call('POST /passkeys/challenge'))
      await first.call('POST /passkeys', { body: { name: 'laptop', ...made } })
      await require(first)
      expect((await first.call('GET /session')).second_factor).toBeNull()
      expect((await second.call('GET /session')).second_factor).toBe('give')
      const answer = device.sign(await second.call('POST /session/confirm/challenge'))
      expect((await second.call('POST /session/confirm/passkey', { body: answer })).second_factor).toBeNull()
    })

    it('is not required of another account', async () => {
      const [owner, other] = [await newPerson(), await newPerson()]
      await require(owner)
      await other.call('GET /keys')
      expect((await other.call('GET /second-factor')).required).toBe(false)
    })
  })

  it('there are no passkeys under an address', async () => {
    const person = await newPerson()
    expect((await person.send('POST /passkeys/challenge')).error?.code).toBe('passkeys_unavailable')
    expect((await openBrowser(server()).send('POST /session/challenge')).error?.code).toBe('passkeys_unavailable')
  })
})

describe('a second factor that the configuration requires', () => {
  it.each([
    ['operators', 'operator', 'enrol'],
    ['operators', 'owner', null],
    ['everyone', 'owner', 'enrol'],
  ] as const)('of %s: a person who is %s', async (who, role, needed) => {
    const server = await startServer({ config: `${TEST_CONFIG}\nsign_in: { second_factor: ${who} }\n` })
    try {
      const account = await openAccount(server)
      const person = await signUp(server, { email: 'ann@walk.example', role, account: account.id })
      expect((await person.call('GET /session')).second_factor).toBe(needed)
      expect((await person.send('GET /keys')).status).toBe(needed === null ? 200 : 403)
      if (role === 'operator')
        expect((await person.send('GET /operate/accounts')).error?.code).toBe('second_factor_needed')
    } finally {
      await server.close()
    }
  })
})
