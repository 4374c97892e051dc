import { expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, type TestPeople } from '../../test/fixtures/admin/people.ts'
import type { AccountRow } from '../model/ids.ts'
import { listAudit, verifyAudit } from './audit.ts'
import { inviteFirstPerson, invitePerson, signUp } from './invitations.ts'
import { disablePerson, enablePerson, listPeople } from './people.ts'
import { createSignInServices, endSession, listSessions, signOut, sweepPeople } from './sessions.ts'
import { changePassword, confirmPassword, signIn } from './sign-in.ts'

async function liveThroughEverything({ services, makeAccount, make }: TestPeople): Promise<void> {
  await makeAccount('you@localhost')
  const { code } = (await inviteFirstPerson(services))!
  const ann = given(await signUp(services, { code, email: 'ann@example.com', password: PASSWORD }, HERE))
  const ben = await make('ben@example.com', 'owner')
  const body = { email: 'ann@example.com', password: PASSWORD }
  const second = given(await signIn(services, body, HERE))
  given(await confirmPassword(services, ann.session, PASSWORD, HERE))
  given(await listSessions(services, ann.session))
  given(await endSession(services, ann.session, second.session.id))
  given(await changePassword(services, ann.session, { current: PASSWORD, next: 'another long one' }, HERE))
  await signOut(services, ben.session)
  const reset = given(
    await invitePerson(services, { role: 'owner', email: 'ben@example.com', resets: true }, 'operator'),
  )
  given(await signUp(services, { code: reset.code, password: PASSWORD }, HERE))
  given(await disablePerson(services, { person: 'ben@example.com' }, 'ann@example.com'))
  given(await enablePerson(services, { person: ben.session.person.id }, 'ann@example.com'))
  given(await listPeople(services, { limit: 50 }))
  given(await listPeople(services, { account: 'ann@example.com', limit: 50 }))
  given(await listAudit(services, { limit: 50 }))
  given(await listAudit(services, { account: 1 as AccountRow, after: '99', limit: 50 }))
  await verifyAudit(services)
  await sweepPeople(services)
}

it('every statement uses an index', async () => {
  const people = await openTestPeople()
  await liveThroughEverything(people)
  expect(people.sent.size).toBeGreaterThan(30)
  for (const [sql, parameters] of people.sent) {
    const plan = await people.database.file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters)
    const steps = plan.map(({ detail }) => String(detail)).join('; ')
    expect(steps, sql).not.toMatch(/SCAN (?!CONSTANT ROW)|AUTOMATIC|TEMP B-TREE/)
  }
  await people.close()
})

it('a secret is invalid under another key ring', async () => {
  const people = await openTestPeople()
  const ann = await people.make('ann@example.com', 'owner')
  const { db, file, clock, random, consoleUrl } = people.services
  const other = (fill: number) =>
    createSignInServices({
      ...{ db, file, clock, random, consoleUrl, secret: Buffer.alloc(32, fill) },
      onFailure: () => {},
      lockouts: { keep: () => {}, drop: () => {} },
    })
  expect(await other(7).sessions.find(ann.secret)).toBeDefined()
  expect(await other(8).sessions.find(ann.secret)).toBeUndefined()
  await people.close()
})
