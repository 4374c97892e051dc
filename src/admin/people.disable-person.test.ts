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

const disable = (person: string, actor = 'ann@example.com') =>
  disablePerson({ people: people.services, forgetAccount: () => {} }, { person }, actor)
const enable = (person: string) =>
  enablePerson({ people: people.services, forgetAccount: () => {} }, { person }, 'ann@example.com')
const enter = (email: string) => signIn(people.services, { email, password: PASSWORD }, HERE)
const find = ({ secret }: SignedIn) => people.services.sessions.find(secret)

describe('a disabled person', () => {
  it('loses every session, and can sign in after being enabled', async () => {
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

  it('has no valid link, and gets none', async () => {
    const reset = { role: 'owner', email: 'ben@example.com', resets: true } as const
    const { code } = given(await invitePerson(people.services, reset, 'operator'))
    given(await disable('ben@example.com'))
    expect(refusalOf(await readInvite(people.services, code)).reason).toBe('invite_not_valid')
    expect(refusalOf(await invitePerson(people.services, reset, 'operator')).reason).toBe('person_disabled')
  })

  it('loses the links they created; links of others stay valid', async () => {
    await people.make('cyd@example.com', 'operator')
    const invite = (email: string, actor: string) =>
      invitePerson(people.services, { role: 'operator', email }, actor).then(given)
    const [back, other] = [
      await invite('back@example.com', 'cyd@example.com'),
      await invite('new@example.com', 'ann@example.com'),
    ]
    const reset = given(
      await invitePerson(people.services, { role: 'owner', email: 'ben@example.com', resets: true }, 'cyd@example.com'),
    )
    given(await disable('cyd@example.com'))
    expect(refusalOf(await readInvite(people.services, back.code)).reason).toBe('invite_not_valid')
    expect(refusalOf(await readInvite(people.services, reset.code)).reason).toBe('invite_not_valid')
    given(await readInvite(people.services, other.code))
    // As a request that was under way.
    const late = await invitePerson(people.services, { role: 'operator', email: 'late@example.com' }, 'cyd@example.com')
    expect(refusalOf(late).reason).toBe('person_disabled')
    expect(await people.rows("SELECT * FROM invites WHERE email = 'late@example.com'")).toEqual([])
  })

  it('may be disabled again without effect', async () => {
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

  it('must exist', async () => {
    for (const named of ['usr_none', 'unknown@example.com']) {
      expect(refusalOf(await disable(named)).reason).toBe('person_not_found')
      expect(refusalOf(await enable(named)).reason).toBe('person_not_found')
    }
  })
})

describe('the last operator', () => {
  it('can be disabled only at the command line', async () => {
    expect(refusalOf(await disable('ann@example.com')).reason).toBe('last_operator')
    expect(await find(ann)).toBeDefined()
    given(await disable('ann@example.com', 'operator'))
    expect(await find(ann)).toBeUndefined()
  })

  it('remains when two operators disable each other concurrently', async () => {
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
