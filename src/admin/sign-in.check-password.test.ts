import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import type { SignedIn } from './sessions.ts'
import { confirmPassword, signIn } from './sign-in.ts'

let people: TestPeople
let ann: SignedIn
beforeEach(async () => {
  people = await openTestPeople()
  ann = await people.make('ann@example.com', 'owner')
})
afterEach(() => people.close())

const enter = async (password: string) => signIn(people.services, { email: 'ann@example.com', password }, HERE)

describe('giving the password again', () => {
  const confirm = (password: string) => confirmPassword(people.services, ann.session, { password }, HERE)

  it('is remembered with the session', async () => {
    people.pass(3_600_000)
    expect(given(await confirm(PASSWORD))).toEqual({ confirmed_at: '2026-11-22T01:00:00.000Z' })
    expect((await people.services.sessions.find(ann.secret))?.confirmedAt).toBe(ann.session.confirmedAt + 3_600_000)
  })

  it('is not locked out by strangers at the sign-in, and does not lock out the sign-in', async () => {
    for (let tries = 0; tries < 6; tries++) await enter('a wrong password')
    given(await confirm(PASSWORD))
    for (let tries = 0; tries < 6; tries++) await confirm('a wrong password')
    expect(refusalOf(await confirm(PASSWORD)).reason).toBe('too_many_tries')
    people.pass(15 * 60_000)
    for (let tries = 0; tries < 6; tries++) await confirm('a wrong password')
    given(await enter(PASSWORD))
  })

  it('is refused for a disabled person', async () => {
    await people.rows('UPDATE people SET disabled_at = 1 RETURNING row')
    expect(refusalOf(await confirm(PASSWORD)).reason).toBe('wrong_password')
  })
})
