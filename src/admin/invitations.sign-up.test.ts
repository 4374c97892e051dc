import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { signUp as signUpBody } from '../contract/people.ts'
import { email } from '../contract/values.ts'
import { verifyAudit } from './audit.ts'
import { inviteFirstPerson, invitePerson, signUp } from './invitations.ts'
import { signIn } from './sign-in.ts'

let people: TestPeople
beforeEach(async () => {
  people = await openTestPeople()
})
afterEach(async () => {
  expect(await verifyAudit(people.services)).toMatchObject({ violations: 0 })
  await people.close()
})

const take = (code: string, emitted?: string, password = PASSWORD) =>
  signUp(people.services, { code, password, ...(emitted !== undefined && { email: email.parse(emitted) }) }, HERE)
const first = async () => (await inviteFirstPerson(people.services))!.code

/** Each has found the link open before any of them uses it. */
function bothAtOnce(bodies: readonly { readonly code: string; readonly password: string }[]) {
  const { passwords } = people.services
  let missing = bodies.length
  let open = () => {}
  const allAreHere = new Promise<void>((resolve) => {
    open = resolve
  })
  const hash = async (password: string) => {
    missing -= 1
    if (missing === 0) open()
    await allAreHere
    return passwords.hash(password)
  }
  const services = { ...people.services, passwords: { ...passwords, hash } }
  return Promise.all(bodies.map((body) => signUp(services, body, HERE)))
}

const count = async (table: string) => (await people.rows(`SELECT count(*) AS n FROM ${table}`))[0]!.n

describe('the first person', () => {
  it('gets the account of the first run, and is signed in as an operator', async () => {
    const account = await people.makeAccount('you@localhost')
    const { secret, session } = given(await take(await first(), ' Ann@Example.com '))
    expect(session).toMatchObject({
      person: { email: 'ann@example.com', role: 'operator' },
      account: { id: account, email: 'ann@example.com', status: 'active' },
    })
    expect(session.person.id).toMatch(/^usr_[0-9a-z]{26}$/)
    expect(session.id).toMatch(/^ses_[0-9a-z]{26}$/)
    expect(await people.services.sessions.find(secret)).toEqual(session)
    expect(await count('accounts')).toBe(1)
  })

  it('gets a new account with a wallet if there is none', async () => {
    const { session } = given(await take(await first(), 'ann@example.com'))
    expect(session.account).toMatchObject({ email: 'ann@example.com', status: 'active' })
    expect(await people.rows(`SELECT subject FROM buckets WHERE account = 1`)).toEqual([{ subject: 'wallet' }])
  })

  it('gets the existing account of that email', async () => {
    await people.makeAccount('you@localhost')
    const account = await people.makeAccount('ann@example.com')
    const { session } = given(await take(await first(), 'ann@example.com'))
    expect(session.account?.id).toBe(account)
    expect(await people.rows('SELECT email FROM accounts ORDER BY row')).toEqual([
      { email: 'you@localhost' },
      { email: 'ann@example.com' },
    ])
  })

  it('gets an account when invited by email; the next operator does not', async () => {
    const one = await people.make('ann@example.com', 'operator')
    const two = await people.make('ben@example.com', 'operator')
    expect(one.session.account?.email).toBe('ann@example.com')
    expect(two.session.account).toBeUndefined()
  })

  it('has to enter an email', async () => {
    const code = await first()
    expect(refusalOf(await take(code)).reason).toBe('email_missing')
    for (const none of ['', 'ann', 'a b@example.com']) {
      expect(signUpBody.safeParse({ code, password: PASSWORD, email: none }).success).toBe(false)
    }
    expect(people.hashes()).toBe(0)
    given(await take(code, 'ann@example.com'))
  })

  it('is only one of several concurrent sign-ups', async () => {
    await people.makeAccount('you@localhost')
    const code = await first()
    const outcomes = await Promise.all(Array.from({ length: 8 }, (_, index) => take(code, `user${index}@example.com`)))
    expect(outcomes.filter(({ kind }) => kind === 'done')).toHaveLength(1)
    const others = outcomes.filter(({ kind }) => kind === 'refused').map((outcome) => refusalOf(outcome).reason)
    expect(others).toEqual(Array(7).fill('invite_not_valid'))
    expect([await count('people'), await count('sessions'), await count('accounts')]).toEqual([1, 1, 1])
  })

  it('is only one of two with a link each', async () => {
    const links = [await first(), await first()]
    const [one, two] = await Promise.all(links.map((code, index) => take(code, `user${index}@example.com`)))
    expect([one!.kind, two!.kind].sort()).toEqual(['done', 'refused'])
    expect(await count('people')).toBe(1)
  })
})

describe('a link', () => {
  const invite = async (email: string) => {
    await people.makeAccount(email)
    return given(await invitePerson(people.services, { role: 'owner', email }, 'operator')).code
  }

  it('creates one person, once', async () => {
    const code = await invite('ann@example.com')
    given(await take(code))
    expect(refusalOf(await take(code)).reason).toBe('invite_not_valid')
    const again = await Promise.all([take(code), take(code)])
    expect(again.map((outcome) => refusalOf(outcome).reason)).toEqual(['invite_not_valid', 'invite_not_valid'])
    expect(await count('people')).toBe(1)
  })

  it('creates the invited person, not the email of the body', async () => {
    const code = await invite('ann@example.com')
    const { session } = given(await take(code, 'thief@example.com'))
    expect(session.person.email).toBe('ann@example.com')
  })

  it('that is invalid costs no hash', async () => {
    for (const code of ['', 'x', '0000-0000-0000-0000-0000-0000', 'Z'.repeat(1000)]) {
      expect(refusalOf(await take(code, 'ann@example.com')).reason).toBe('invite_not_valid')
    }
    expect(people.hashes()).toBe(0)
  })

  it('stays valid when the server is busy', async () => {
    const code = await invite('ann@example.com')
    const busy = { ...people.services, passwords: { ...people.services.passwords, hash: async () => 'busy' as const } }
    const refusal = refusalOf(await signUp(busy, { code, password: PASSWORD }, HERE))
    expect(refusal).toMatchObject({ reason: 'busy', retryAfterSeconds: 2 })
    given(await take(code))
  })

  it('stays valid when the email was taken meanwhile', async () => {
    const code = await invite('ann@example.com')
    const second = await invite('ben@example.com')
    given(await take(second))
    await people.rows(`UPDATE people SET email = 'ann@example.com' RETURNING row`)
    expect(refusalOf(await take(code)).reason).toBe('person_exists')
    expect(await people.rows(`SELECT used_at FROM invites WHERE email = 'ann@example.com'`)).toEqual([
      { used_at: null },
    ])
    expect([await count('people'), await count('sessions')]).toEqual([1, 1])
  })
})

describe('a link for a new password', () => {
  const NEXT = 'another long password'
  const reset = async () =>
    given(await invitePerson(people.services, { role: 'operator', email: 'ann@example.com', resets: true }, 'operator'))

  it('ends all sessions and replaces the old password', async () => {
    const before = await people.make('ann@example.com', 'owner')
    expect(await people.services.sessions.find(before.secret)).toBeDefined()
    const made = await reset()
    expect(made).toMatchObject({ resets: true, role: 'owner', email: 'ann@example.com' })
    const after = given(await take(made.code, undefined, NEXT))
    expect(after.session.person).toEqual(before.session.person)
    expect(await people.services.sessions.find(before.secret)).toBeUndefined()
    expect(await count('sessions')).toBe(1)
    const signed = (password: string) => signIn(people.services, { email: 'ann@example.com', password }, HERE)
    expect(refusalOf(await signed(PASSWORD)).reason).toBe('wrong_password')
    given(await signed(NEXT))
  })

  it('sets one password for two concurrent requests', async () => {
    await people.make('ann@example.com', 'owner')
    const { code } = await reset()
    const outcomes = await bothAtOnce([NEXT, 'a third long password'].map((password) => ({ code, password })))
    expect(outcomes.map((outcome) => (outcome.kind === 'refused' ? outcome.reason : 'done')).toSorted()).toEqual([
      'done',
      'invite_not_valid',
    ])
    expect(await count('sessions')).toBe(1)
    // The second request may end the session of the first, which is then refused as well: the audit log decides.
    expect(await people.rows(`SELECT action FROM audit WHERE action = 'password_reset'`)).toHaveLength(1)
  })

  it('allows sign-in after a lockout', async () => {
    await people.make('ann@example.com', 'owner')
    const signed = (password: string) => signIn(people.services, { email: 'ann@example.com', password }, HERE)
    for (let tries = 0; tries < 6; tries++) await signed('forgotten password')
    expect(refusalOf(await signed(PASSWORD)).reason).toBe('too_many_tries')
    given(await take((await reset()).code, undefined, NEXT))
    given(await signed(NEXT))
  })

  it('is void after its person was disabled', async () => {
    await people.make('ann@example.com', 'owner')
    const { code } = await reset()
    await people.rows('UPDATE people SET disabled_at = 5 RETURNING row')
    expect(refusalOf(await take(code, undefined, NEXT)).reason).toBe('invite_not_valid')
    expect(await people.rows('SELECT disabled_at FROM people')).toEqual([{ disabled_at: 5 }])
  })
})
