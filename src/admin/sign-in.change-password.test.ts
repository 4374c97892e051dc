import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { invitePerson, readInvite, signUp } from './invitations.ts'
import type { SignedIn, SignInServices } from './sessions.ts'
import { changePassword, signIn } from './sign-in.ts'

const NEXT = 'another long password'
const body = { current: PASSWORD, next: NEXT }

let people: TestPeople
let ann: SignedIn
beforeEach(async () => {
  people = await openTestPeople()
  ann = await people.make('ann@example.com', 'owner')
})
afterEach(() => people.close())

const change = (by = ann) => changePassword(people.services, by.session, body, HERE)
const enter = async (password: string) => signIn(people.services, { email: 'ann@example.com', password }, HERE)
const find = ({ secret }: SignedIn) => people.services.sessions.find(secret)

describe('a new password', () => {
  it('ends every other session, and gives this one a new secret', async () => {
    const other = given(await enter(PASSWORD))
    const ben = await people.make('ben@example.com', 'owner')
    people.pass(60_000)
    const renewed = given(await change())
    expect(renewed.secret).not.toBe(ann.secret)
    expect(renewed.session).toMatchObject({ id: ann.session.id, confirmedAt: ann.session.confirmedAt + 60_000 })
    expect(renewed.session.expiresAt).toBe(ann.session.expiresAt)
    expect([await find(other), await find(ann)]).toEqual([undefined, undefined])
    expect(await find(renewed)).toEqual(renewed.session)
    expect(await find(ben)).toBeDefined()
    expect(refusalOf(await enter(PASSWORD)).reason).toBe('wrong_password')
    given(await enter(NEXT))
  })

  it('voids links for a new password', async () => {
    const reset = { role: 'owner', email: 'ann@example.com', resets: true } as const
    const { code } = given(await invitePerson(people.services, reset, 'operator'))
    given(await change())
    expect(refusalOf(await readInvite(people.services, code)).reason).toBe('invite_not_valid')
  })

  it('needs the old one, and only so many tries', async () => {
    const guess = { current: 'a wrong password', next: NEXT }
    for (let tries = 0; tries < 5; tries++) {
      const outcome = await changePassword(people.services, ann.session, guess, HERE)
      expect(refusalOf(outcome).reason).toBe('wrong_password')
    }
    expect(refusalOf(await change())).toEqual({
      kind: 'refused',
      reason: 'too_many_tries',
      message: 'Too many tries. Wait 15 minutes.',
    })
    const last = `SELECT actor, action, target FROM audit ORDER BY seq DESC LIMIT 1`
    expect(await people.rows(last)).toEqual([
      { actor: 'ann@example.com', action: 'confirm_refused', target: ann.session.id },
    ])
  })

  it('ends every session even if the answer is lost', async () => {
    const other = given(await enter(PASSWORD))
    expect(await find(other)).toBeDefined()
    const unheard: SignInServices = {
      ...people.services,
      audit: {
        ...people.services.audit,
        async record(...act) {
          await people.services.audit.record(...act)
          throw new Error('no answer')
        },
      },
    }
    await expect(changePassword(unheard, ann.session, body, HERE)).rejects.toThrow('no answer')
    expect([await find(other), await find(ann)]).toEqual([undefined, undefined])
    const again = given(await enter(NEXT))
    const reset = { role: 'owner', email: 'ann@example.com', resets: true } as const
    const { code } = given(await invitePerson(people.services, reset, 'operator'))
    await expect(signUp(unheard, { code, password: PASSWORD }, HERE)).rejects.toThrow('no answer')
    expect(await find(again)).toBeUndefined()
  })

  it('is one when two sessions change it at the same moment', async () => {
    const other = given(await enter(PASSWORD))
    const outcomes = await Promise.all([change(ann), change(other)])
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['done', 'refused'])
    expect(await people.rows('SELECT count(*) AS n FROM sessions')).toEqual([{ n: 1 }])
  })

  it('is one when one session changes it twice at the same moment', async () => {
    const other = { current: PASSWORD, next: 'a third long password' }
    const outcomes = await Promise.all([change(), changePassword(people.services, ann.session, other, HERE)])
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['done', 'refused'])
  })

  it('is not set when there is no time to compute it', async () => {
    const busy = { ...people.services, passwords: { ...people.services.passwords, hash: async () => 'busy' as const } }
    expect(refusalOf(await changePassword(busy, ann.session, body, HERE)).reason).toBe('busy')
    expect(await find(ann)).toBeDefined()
    given(await enter(PASSWORD))
  })
})
