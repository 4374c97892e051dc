import { expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { SoftwareAuthenticator } from '../../test/support/software-authenticator.ts'
import type { AccountRow } from '../model/ids.ts'
import { listAudit, listWholeAudit, verifyAudit } from './audit.ts'
import { inviteFirstPerson, invitePerson, signUp } from './invitations.ts'
import {
  challengeToConfirm,
  challengeToRegister,
  challengeToSignIn,
  confirmByPasskey,
  registerPasskey,
  removePasskey,
  renamePasskey,
  signInByPasskey,
} from './passkeys.ts'
import { disablePerson, enablePerson, listPeople } from './people.ts'
import { beginTotp, confirmTotp, removeFactors, removeTotp, renewRecoveryCodes } from './second-factors.ts'
import { createSignInServices, endSession, listSessions, type SignedIn, signOut, sweepPeople } from './sessions.ts'
import { changePassword, confirmPassword, signIn } from './sign-in.ts'

async function liveThroughEverything({ services, makeAccount, make }: TestPeople): Promise<void> {
  await makeAccount('you@localhost')
  const { code } = (await inviteFirstPerson(services))!
  const ann = given(await signUp(services, { code, email: 'ann@example.com', password: PASSWORD }, HERE))
  const ben = await make('ben@example.com', 'owner')
  const body = { email: 'ann@example.com', password: PASSWORD }
  const second = given(await signIn(services, body, HERE))
  given(await confirmPassword(services, ann.session, { password: PASSWORD }, HERE))
  given(await listSessions(services, ann.session))
  given(await endSession(services, ann.session, second.session.id))
  given(await changePassword(services, ann.session, { current: PASSWORD, next: 'another long one' }, HERE))
  await signOut(services, ben.session)
  const reset = given(
    await invitePerson(services, { role: 'owner', email: 'ben@example.com', resets: true }, 'operator'),
  )
  given(await signUp(services, { code: reset.code, password: PASSWORD }, HERE))
  given(
    await disablePerson(
      { people: services, forgetAccount: () => {} },
      { person: 'ben@example.com' },
      'ann@example.com',
    ),
  )
  given(
    await enablePerson(
      { people: services, forgetAccount: () => {} },
      { person: ben.session.person.id },
      'ann@example.com',
    ),
  )
  given(await listPeople(services, { limit: 50 }))
  given(await listPeople(services, { account: 'ann@example.com', limit: 50 }))
  given(
    await listWholeAudit(services, {
      limit: 50,
      actor: 'Ann',
      action: 'signed_in',
      from: '2026-01-01',
      to: '2026-12-01',
    }),
  )
  given(await listAudit(services, { account: 1 as AccountRow, after: '99', limit: 50 }))
  await liveWithFactors(services, given(await signIn(services, { ...body, password: 'another long one' }, HERE)))
  await verifyAudit(services)
  await sweepPeople(services)
}

async function liveWithFactors(services: TestPeople['services'], { session }: SignedIn): Promise<void> {
  const site = { origin: 'https://llm.example.com' }
  const device = new SoftwareAuthenticator(site.origin)
  const { secret } = given(await beginTotp(services, session))
  expect(secret).toHaveLength(32)
  expect((await confirmTotp(services, session, '000000')).kind).toBe('refused')
  const sent = device.register(given(await challengeToRegister(services, session, site)))
  const { factors, codes } = given(await registerPasskey(services, session, site, { name: 'laptop', ...sent }))
  given(await signInByPasskey(services, site, device.sign(given(challengeToSignIn(services, site))), HERE))
  const toConfirm = given(await challengeToConfirm(services, session, site))
  given(await confirmByPasskey(services, session, site, device.sign(toConfirm)))
  const body = { email: session.person.email, password: 'another long one', code: codes![0] }
  given(await signIn(services, body, HERE))
  given(await renewRecoveryCodes(services, session))
  given(await renamePasskey(services, session, factors.passkeys[0]!.id, 'old laptop'))
  expect((await removeTotp(services, session)).kind).toBe('refused')
  given(await removePasskey(services, session, factors.passkeys[0]!.id))
  const again = device.register(given(await challengeToRegister(services, session, site)))
  given(await registerPasskey(services, session, site, { name: 'phone', ...again }))
  const place = { people: services, forgetAccount: () => {} }
  given(await removeFactors(place, { person: session.person.id }, 'operator'))
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
  const { db, file, clock, random, consoleUrl, invitationMail, totpSeals } = people.services
  const other = (fill: number) =>
    createSignInServices({
      ...{ db, file, clock, random, consoleUrl, secret: Buffer.alloc(32, fill), totpSeals },
      onFailure: () => {},
      lockouts: { keep: () => {}, drop: () => {} },
      invitationMail,
    })
  expect(await other(7).sessions.find(ann.secret)).toBeDefined()
  expect(await other(8).sessions.find(ann.secret)).toBeUndefined()
  await people.close()
})
