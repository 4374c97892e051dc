import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { inviteFirstPerson, invitePerson, readInvite, signUp } from './invitations.ts'

let people: TestPeople
beforeEach(async () => {
  people = await openTestPeople()
})
afterEach(() => people.close())

type Order = Parameters<typeof invitePerson>[1]
const invite = (order: Order) => invitePerson(people.services, order, 'operator')

describe('an invitation', () => {
  it('is a link that is valid for a week', async () => {
    const id = await people.makeAccount('ann@example.com')
    const made = given(await invite({ role: 'owner', account: id }))
    expect(made).toMatchObject({
      email: 'ann@example.com',
      role: 'owner',
      account: id,
      resets: false,
      expires_at: '2026-11-29T00:00:00.000Z',
    })
    expect(made.link).toBe(`https://example.com/console/setup?code=${made.code}`)
    const read = { email: 'ann@example.com', role: 'owner', resets: false, expires_at: made.expires_at }
    expect(given(await readInvite(people.services, made.code.toLowerCase()))).toEqual(read)
    people.pass(7 * 86_400_000 - 1)
    expect(given(await readInvite(people.services, made.code))).toEqual(read)
    people.pass(1)
    expect(refusalOf(await readInvite(people.services, made.code)).reason).toBe('invite_not_valid')
  })

  it('is stored as a digest without its code', async () => {
    await people.makeAccount('ann@example.com')
    const { code } = given(await invite({ role: 'owner', email: 'ann@example.com' }))
    const rows = JSON.stringify([await people.rows('SELECT * FROM invites'), await people.rows('SELECT * FROM audit')])
    expect(rows, 'what is there can be seen').toContain('ann@example.com')
    expect(rows).not.toContain(code)
    expect(rows).not.toContain(code.replaceAll('-', ''))
  })

  it('replaces an unused one for the same email', async () => {
    await people.makeAccount('ann@example.com')
    const one = given(await invite({ role: 'owner', email: 'ann@example.com' }))
    const two = given(await invite({ role: 'owner', email: 'ann@example.com' }))
    expect(refusalOf(await readInvite(people.services, one.code)).reason).toBe('invite_not_valid')
    expect(given(await readInvite(people.services, two.code)).email).toBe('ann@example.com')
  })

  it('may add a second person to an account', async () => {
    const id = await people.makeAccount('team@example.com')
    const { code } = given(await invite({ role: 'owner', account: id, email: 'ben@example.com' }))
    const { session } = given(await signUp(people.services, { code, password: PASSWORD }, HERE))
    expect(session).toMatchObject({ person: { email: 'ben@example.com', role: 'owner' }, account: { id } })
  })

  it.each([
    ['an owner without an account', { role: 'owner', email: 'new@example.com' }, 'account_not_found'],
    ['an unknown account', { role: 'operator', account: 'acct_none' }, 'account_not_found'],
    ['an operator without a name', { role: 'operator' }, 'email_missing'],
    ['an existing person', { role: 'operator', email: 'ann@example.com' }, 'person_exists'],
    [
      'a new password for an unknown person',
      { role: 'owner', email: 'new@example.com', resets: true },
      'person_not_found',
    ],
    ['a new password without an email', { role: 'owner', resets: true }, 'email_missing'],
  ] as const)('is refused for %s', async (_, order, reason) => {
    await people.make('ann@example.com', 'owner')
    expect(refusalOf(await invite(order)).reason).toBe(reason)
  })

  it('is refused for a closed account', async () => {
    await people.makeAccount('ann@example.com')
    await people.rows(`UPDATE accounts SET status = 'closed' RETURNING row`)
    const order = { role: 'owner', email: 'ann@example.com' } as const
    expect(refusalOf(await invite(order)).reason).toBe('account_closed')
  })

  it('is in the audit log of its account', async () => {
    await people.makeAccount('ann@example.com')
    await invite({ role: 'owner', email: 'ann@example.com' })
    expect(await people.rows('SELECT actor, action, account, detail FROM audit')).toEqual([
      { actor: 'operator', action: 'invited', account: 1, detail: 'ann@example.com as owner' },
    ])
  })
})

describe('the invitation of the first person', () => {
  it('is valid for 15 minutes, also when another start creates another', async () => {
    const one = (await inviteFirstPerson(people.services))!
    expect(one).toMatchObject({ email: null, role: 'operator', account: null, expires_at: '2026-11-22T00:15:00.000Z' })
    people.pass(1)
    const two = (await inviteFirstPerson(people.services))!
    people.pass(15 * 60_000 - 2)
    for (const { code } of [one, two])
      expect(given(await readInvite(people.services, code))).toMatchObject({ email: null, role: 'operator' })
    people.pass(1)
    expect(refusalOf(await readInvite(people.services, one.code)).reason).toBe('invite_not_valid')
    expect(given(await readInvite(people.services, two.code))).toMatchObject({ email: null, role: 'operator' })
    people.pass(1)
    expect(refusalOf(await readInvite(people.services, two.code)).reason).toBe('invite_not_valid')
  })

  it('is void after the first sign-up of any kind', async () => {
    const { code } = (await inviteFirstPerson(people.services))!
    await people.make('ann@example.com', 'operator')
    expect(refusalOf(await readInvite(people.services, code)).reason).toBe('invite_not_valid')
    const body = { code, email: 'late@example.com', password: PASSWORD }
    expect(refusalOf(await signUp(people.services, body, HERE)).reason).toBe('invite_not_valid')
    expect(await inviteFirstPerson(people.services)).toBeUndefined()
  })
})

it('a link describes its purpose until it is used, and invalid ones get one message', async () => {
  await people.makeAccount('ann@example.com')
  const { code, expires_at } = given(
    await invitePerson(people.services, { role: 'owner', email: 'ann@example.com' }, 'operator'),
  )
  const read = { email: 'ann@example.com', role: 'owner', resets: false, expires_at }
  expect(given(await readInvite(people.services, code))).toEqual(read)
  expect(given(await readInvite(people.services, code))).toEqual(read)
  given(await signUp(people.services, { code, password: PASSWORD }, HERE))
  const emitted = new Set<string>()
  for (const none of [code, '', 'x'.repeat(10_000), '0000-0000-0000-0000-0000-0000', `${code}0`]) {
    emitted.add(JSON.stringify(refusalOf(await readInvite(people.services, none))))
  }
  expect(emitted.size).toBe(1)
})
