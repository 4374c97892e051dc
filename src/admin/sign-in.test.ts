import * as argon2 from '@node-rs/argon2'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { invitePerson, signUp } from './invitations.ts'
import { disablePerson } from './people.ts'
import { signIn } from './sign-in.ts'

let people: TestPeople
beforeEach(async () => {
  people = await openTestPeople()
  await people.make('ann@example.com', 'owner')
})
afterEach(() => people.close())

const enter = (email: string, password = PASSWORD, client = HERE) =>
  signIn(people.services, { email, password }, client)
const wrong = (email: string, client = HERE) => enter(email, 'a wrong password', client)
const audits = () => people.rows(`SELECT actor, action, target, account, detail FROM audit WHERE seq > 2 ORDER BY seq`)

describe('signing in', () => {
  it('opens a session under a new secret each time, however the email is spelt', async () => {
    const one = given(await enter('ann@example.com'))
    const two = given(await enter(' ANN@example.com '))
    expect(one.secret).not.toBe(two.secret)
    expect(one.session.person).toMatchObject({ email: 'ann@example.com', role: 'owner' })
    expect(one.session).toMatchObject({ confirmedAt: Date.UTC(2026, 10, 22), account: { email: 'ann@example.com' } })
    expect(one.session.expiresAt - one.session.createdAt).toBe(7 * 86_400_000)
    const rows = JSON.stringify([await people.rows('SELECT * FROM sessions'), await people.rows('SELECT * FROM audit')])
    expect(rows).not.toContain(one.secret)
  })

  it('gives the same answer, after the same work, to a wrong password, an unknown email and a disabled person', async () => {
    const { code } = given(
      await invitePerson(people.services, { role: 'operator', email: 'ben@example.com' }, 'operator'),
    )
    given(await signUp(people.services, { code, password: PASSWORD }, HERE))
    given(
      await disablePerson(
        { people: people.services, forgetAccount: () => {} },
        { person: 'ben@example.com' },
        'operator',
      ),
    )
    const emitted = []
    for (const email of ['ann@example.com', 'unknown@example.com', 'ben@example.com', '', 'no email']) {
      const before = people.hashes()
      const outcome = email === 'ben@example.com' ? await enter(email) : await wrong(email)
      emitted.push({ ...refusalOf(outcome), hashes: people.hashes() - before })
    }
    const answer = { kind: 'refused', reason: 'wrong_password', message: 'The email or the password is wrong.' }
    expect(emitted).toEqual(Array(5).fill({ ...answer, hashes: 1 }))
  })

  it('is refused for a person disabled during the check', async () => {
    const { check } = people.services.passwords
    const slow = {
      ...people.services.passwords,
      check: async (...call: Parameters<typeof check>) => {
        const answer = await check(...call)
        await disablePerson(
          { people: people.services, forgetAccount: () => {} },
          { person: 'ann@example.com' },
          'operator',
        )
        return answer
      },
    }
    const body = { email: 'ann@example.com', password: PASSWORD }
    expect(refusalOf(await signIn({ ...people.services, passwords: slow }, body, HERE)).reason).toBe('wrong_password')
    expect(await people.rows('SELECT * FROM sessions')).toEqual([])
  })

  it('keeps the fifty newest sessions of a person', async () => {
    const first = given(await enter('ann@example.com'))
    const quick = {
      ...people.services,
      passwords: { ...people.services.passwords, check: async () => 'right' as const },
    }
    const body = { email: 'ann@example.com', password: PASSWORD }
    for (let times = 0; times < 50; times++) given(await signIn(quick, body, HERE))
    expect(await people.rows('SELECT count(*) AS n FROM sessions')).toEqual([{ n: 50 }])
    expect(await people.services.sessions.find(first.secret)).toBeUndefined()
  })

  it('renews hashes with old parameters', async () => {
    const weak = await argon2.hash(PASSWORD, { memoryCost: 4096, timeCost: 1, parallelism: 1 })
    await people.services.db.updateTable('people').set({ password: weak }).execute()
    given(await enter('ann@example.com'))
    const [row] = await people.rows('SELECT password FROM people')
    expect(row!.password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    const before = people.hashes()
    given(await enter('ann@example.com'))
    expect(people.hashes() - before).toBe(1)
  })
})

describe('too many tries', () => {
  it.each(['ann@example.com', 'unknown@example.com'])('of %s are refused without a hash', async (email) => {
    for (let tries = 0; tries < 5; tries++) expect(refusalOf(await wrong(email)).reason).toBe('wrong_password')
    const before = people.hashes()
    const locked = {
      kind: 'refused',
      reason: 'too_many_tries',
      message: 'Too many tries. Wait 15 minutes, or use a device or a network that has signed in before.',
    }
    expect(refusalOf(await enter(email))).toEqual(locked)
    expect(people.hashes()).toBe(before)
    people.pass(179_000)
    expect(refusalOf(await enter(email))).toEqual(locked)
    people.pass(1000)
    expect((await enter(email)).kind).toBe(email === 'ann@example.com' ? 'done' : 'refused')
    expect(people.hashes()).toBe(before + 1)
  })

  it('at the same moment are no more than one after the other', async () => {
    const before = people.hashes()
    const reasons = (await Promise.all(Array.from({ length: 30 }, () => wrong('ann@example.com')))).map(
      (outcome) => refusalOf(outcome).reason,
    )
    expect(reasons.filter((reason) => reason === 'wrong_password')).toHaveLength(5)
    expect(people.hashes() - before).toBe(5)
  })

  it('are forgotten after a right password', async () => {
    for (let times = 0; times < 3; times++) {
      for (let tries = 0; tries < 4; tries++) await wrong('ann@example.com')
      given(await enter('ann@example.com'))
    }
  })

  it('from one address wait for every email, but not from another', async () => {
    const there = { ...HERE, address: '198.51.100.4' }
    for (let tries = 0; tries < 20; tries++) await wrong(`user${tries}@example.com`, there)
    expect(refusalOf(await enter('ann@example.com', PASSWORD, there)).reason).toBe('too_many_tries')
    given(await enter('ann@example.com', PASSWORD, { ...HERE, address: '198.51.100.5' }))
    given(await enter('ann@example.com'))
  })

  it('are in the audit log once, without unknown emails', async () => {
    for (let tries = 0; tries < 9; tries++) await wrong('ann@example.com')
    for (let tries = 0; tries < 9; tries++) await wrong('my-password@hunter2')
    const [person] = await people.rows('SELECT id FROM people')
    expect(await audits()).toEqual([
      {
        actor: 'ann@example.com',
        action: 'sign_in_refused',
        target: person!.id,
        account: 1,
        detail: 'too many tries for one email, from 203.0.113.7',
      },
      {
        actor: 'system',
        action: 'sign_in_refused',
        target: null,
        account: null,
        detail: 'too many tries for one email, from 203.0.113.7, for an unknown email',
      },
    ])
  })

  it('of strangers, from wherever they come, lock out no browser that has signed in before', async () => {
    const [person] = await people.services.db.selectFrom('people').selectAll().execute()
    const deviceTokens = people.services.devices.remember(undefined, person!)
    const quick = {
      ...people.services,
      passwords: { ...people.services.passwords, check: async () => 'wrong' as const },
    }
    const guess = { email: 'ann@example.com', password: 'a wrong password' }
    for (let stranger = 0; stranger < 1000; stranger++) {
      const address = `10.0.${stranger >> 8}.${stranger & 255}`
      for (let tries = 0; tries < 12; tries++) await signIn(quick, guess, { ...HERE, address })
    }
    const far = { ...HERE, address: '10.0.0.1' }
    expect(refusalOf(await enter('ann@example.com', PASSWORD, far)).reason).toBe('too_many_tries')
    given(await enter('ann@example.com', PASSWORD, { ...far, deviceTokens }))
    given(await enter('ann@example.com'))
    expect((await audits()).filter(({ action }) => action === 'sign_in_refused').length).toBeLessThanOrEqual(4)
  })

  it('are not counted when the server is too busy to look', async () => {
    const busy = { ...people.services, passwords: { ...people.services.passwords, check: async () => 'busy' as const } }
    const body = { email: 'ann@example.com', password: PASSWORD }
    for (let tries = 0; tries < 30; tries++) {
      expect(refusalOf(await signIn(busy, body, HERE))).toMatchObject({ reason: 'busy', retryAfterSeconds: 2 })
    }
    given(await enter('ann@example.com'))
  })
})
