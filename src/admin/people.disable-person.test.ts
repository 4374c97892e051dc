import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { invitePerson, readInvite } from './invitations.ts'
import { disablePerson, enablePerson } from './people.ts'
import type { SignedIn } from './sessions.ts'
import { signIn } from './sign-in.ts'

let people: TestPeople
let ann: SignedIn
let ben: SignedIn
beforeEach(async () => {
  people = await openTestPeople()
  ann = await people.make('ann@example.com', 'operator')
  ben = await people.make('ben@example.com', 'owner')
})
afterEach(() => people.close())

const disable = (person: string, actor = 'ann@example.com') => disablePerson(people.deps, { person }, actor)
const enable = (person: string) => enablePerson(people.deps, { person }, 'ann@example.com')
const enter = (email: string) => signIn(people.deps, { email, password: PASSWORD }, HERE)
const find = ({ secret }: SignedIn) => people.deps.sessions.find(secret)

describe('somebody who is disabled', () => {
  it('is out of every session at once, and comes in again when enabled', async () => {
    const second = given(await enter('ben@example.com'))
    expect(given(await disable('BEN@example.com'))).toMatchObject({
      id: ben.session.person.id,
      disabled_at: '2026-11-22T00:00:00.000Z',
    })
    expect([await find(ben), await find(second)]).toEqual([undefined, undefined])
    expect(refusalOf(await enter('ben@example.com')).reason).toBe('wrong_password')
    expect(given(await enable(ben.session.person.id))).toMatchObject({ disabled_at: null })
    expect(await find(ben)).toBeUndefined()
    given(await enter('ben@example.com'))
  })

  it('has no link that still opens, and gets none', async () => {
    const reset = { role: 'owner', email: 'ben@example.com', resets: true } as const
    const { code } = given(await invitePerson(people.deps, reset, 'operator'))
    given(await disable('ben@example.com'))
    expect(refusalOf(await readInvite(people.deps, code)).reason).toBe('invite_not_valid')
    expect(refusalOf(await invitePerson(people.deps, reset, 'operator')).reason).toBe('person_disabled')
  })

  it('has no link to be somebody else either, while those of others go on opening', async () => {
    await people.make('cyd@example.com', 'operator')
    const invite = (email: string, actor: string) =>
      invitePerson(people.deps, { role: 'operator', email }, actor).then(given)
    const [back, other] = [
      await invite('back@example.com', 'cyd@example.com'),
      await invite('new@example.com', 'ann@example.com'),
    ]
    const reset = given(
      await invitePerson(people.deps, { role: 'owner', email: 'ben@example.com', resets: true }, 'cyd@example.com'),
    )
    given(await disable('cyd@example.com'))
    expect(refusalOf(await readInvite(people.deps, back.code)).reason).toBe('invite_not_valid')
    expect(refusalOf(await readInvite(people.deps, reset.code)).reason).toBe('invite_not_valid')
    given(await readInvite(people.deps, other.code))
  })

  it('may be disabled again, which changes and tells nothing', async () => {
    given(await disable('ben@example.com'))
    people.pass(1000)
    expect(given(await disable('ben@example.com')).disabled_at).toBe('2026-11-22T00:00:00.000Z')
    given(await enable('ben@example.com'))
    given(await enable('ben@example.com'))
    const acts = await people.rows(`SELECT actor, action, detail FROM audit WHERE action LIKE 'person_%' ORDER BY seq`)
    expect(acts).toEqual([
      { actor: 'ann@example.com', action: 'person_disabled', detail: 'ben@example.com' },
      { actor: 'ann@example.com', action: 'person_enabled', detail: 'ben@example.com' },
    ])
  })

  it('has to be there', async () => {
    for (const named of ['usr_none', 'nobody@example.com']) {
      expect(refusalOf(await disable(named)).reason).toBe('person_not_found')
      expect(refusalOf(await enable(named)).reason).toBe('person_not_found')
    }
  })
})

describe('the last operator', () => {
  it('stays in the console, and can be disabled at the command line', async () => {
    expect(refusalOf(await disable('ann@example.com')).reason).toBe('last_operator')
    expect(await find(ann)).toBeDefined()
    given(await disable('ann@example.com', 'operator'))
    expect(await find(ann)).toBeUndefined()
  })

  it('is not one of whom another is left, and one is left when two disable each other at once', async () => {
    await people.make('cyd@example.com', 'operator')
    const outcomes = await Promise.all([
      disable('cyd@example.com', 'ann@example.com'),
      disable('ann@example.com', 'cyd@example.com'),
    ])
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['done', 'refused'])
    const left = await people.rows(`SELECT row FROM people WHERE role = 'operator' AND disabled_at IS NULL`)
    expect(left).toHaveLength(1)
  })
})
