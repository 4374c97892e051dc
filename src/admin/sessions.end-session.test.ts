import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { endSession, type SignedIn, signOut, sweepPeople } from './sessions.ts'
import { signIn } from './sign-in.ts'

let people: TestPeople
let ann: SignedIn
beforeEach(async () => {
  people = await openTestPeople()
  ann = await people.make('ann@example.com', 'owner')
})
afterEach(() => people.close())

const again = async () => given(await signIn(people.services, { email: 'ann@example.com', password: PASSWORD }, HERE))
const find = ({ secret }: SignedIn) => people.services.sessions.find(secret)
const end = (id: string) => endSession(people.services, ann.session, id)

describe('sessions', () => {
  it('are ended only by their person', async () => {
    const other = await again()
    const ben = await people.make('ben@example.com', 'operator')
    expect(refusalOf(await end(ben.session.id)).reason).toBe('session_not_found')
    expect(refusalOf(await end('ses_none')).reason).toBe('session_not_found')
    expect(refusalOf(await endSession(people.services, ben.session, other.session.id)).reason).toBe('session_not_found')
    expect(await find(ben)).toBeDefined()
    expect(given(await end(other.session.id))).toEqual({ id: other.session.id })
    expect(await find(other)).toBeUndefined()
    expect(await find(ann)).toBeDefined()
    expect(refusalOf(await end(other.session.id)).reason).toBe('session_not_found')
  })

  it('end at sign-out, which may be repeated', async () => {
    await signOut(people.services, ann.session)
    expect(await find(ann)).toBeUndefined()
    await signOut(people.services, ann.session)
    const acts = await people.rows(`SELECT action, target FROM audit WHERE action = 'signed_out'`)
    expect(acts).toEqual([{ action: 'signed_out', target: ann.session.id }])
  })
})

it('the sweep deletes only expired rows', async () => {
  people.pass(11 * 3_600_000)
  const other = await again()
  people.pass(3_600_000)
  await sweepPeople(people.services)
  expect(await people.rows('SELECT id FROM sessions')).toEqual([{ id: other.session.id }])
  expect(await people.rows('SELECT count(*) AS n FROM invites')).toEqual([{ n: 1 }])
  people.pass(7 * 86_400_000)
  await sweepPeople(people.services)
  expect(await people.rows('SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM invites) AS n')).toEqual([
    { n: 0 },
  ])
})
