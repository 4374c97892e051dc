import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { given, HERE, openTestPeople, PASSWORD, refusalOf, type TestPeople } from '../../test/fixtures/admin/people.ts'
import { inviteFirstPerson, invitePerson, readInvite, signUp } from './invitations.ts'

let people: TestPeople
beforeEach(async () => {
  people = await openTestPeople()
})
afterEach(() => people.close())

type Order = Parameters<typeof invitePerson>[1]
const invite = (order: Order) => invitePerson(people.deps, order, 'operator')

describe('an invitation', () => {
  it('is a link that is good for a week, and says what it is for', async () => {
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
    expect(given(await readInvite(people.deps, made.code.toLowerCase()))).toEqual(read)
    people.pass(7 * 86_400_000 - 1)
    expect(given(await readInvite(people.deps, made.code))).toEqual(read)
    people.pass(1)
    expect(refusalOf(await readInvite(people.deps, made.code)).reason).toBe('invite_not_valid')
  })

  it('is stored as a digest, and its code is nowhere in the file', async () => {
    await people.makeAccount('ann@example.com')
    const { code } = given(await invite({ role: 'owner', email: 'ann@example.com' }))
    const rows = JSON.stringify([await people.rows('SELECT * FROM invites'), await people.rows('SELECT * FROM audit')])
    expect(rows, 'what is there can be seen').toContain('ann@example.com')
    expect(rows).not.toContain(code)
    expect(rows).not.toContain(code.replaceAll('-', ''))
  })

  it('takes the place of an older one for the same e-mail that nobody has used', async () => {
    await people.makeAccount('ann@example.com')
    const one = given(await invite({ role: 'owner', email: 'ann@example.com' }))
    const two = given(await invite({ role: 'owner', email: 'ann@example.com' }))
    expect(refusalOf(await readInvite(people.deps, one.code)).reason).toBe('invite_not_valid')
    expect(given(await readInvite(people.deps, two.code)).email).toBe('ann@example.com')
  })

  it('lets a second person into an account', async () => {
    const id = await people.makeAccount('team@example.com')
    const { code } = given(await invite({ role: 'owner', account: id, email: 'ben@example.com' }))
    const { session } = given(await signUp(people.deps, { code, password: PASSWORD }, HERE))
    expect(session).toMatchObject({ person: { email: 'ben@example.com', role: 'owner' }, account: { id } })
  })

  it.each([
    ['an owner without an account', { role: 'owner', email: 'new@example.com' }, 'account_not_found'],
    ['an account that is not there', { role: 'operator', account: 'acct_none' }, 'account_not_found'],
    ['an operator without a name', { role: 'operator' }, 'email_missing'],
    ['somebody who is here', { role: 'operator', email: 'ann@example.com' }, 'person_exists'],
    ['a new password for nobody', { role: 'owner', email: 'new@example.com', resets: true }, 'person_not_found'],
    ['a new password without an e-mail', { role: 'owner', resets: true }, 'email_missing'],
  ] as const)('is refused for %s', async (_, order, reason) => {
    await people.make('ann@example.com', 'owner')
    expect(refusalOf(await invite(order)).reason).toBe(reason)
  })

  it('is refused for an account that is closed', async () => {
    await people.makeAccount('ann@example.com')
    await people.rows(`UPDATE accounts SET status = 'closed' RETURNING row`)
    const order = { role: 'owner', email: 'ann@example.com' } as const
    expect(refusalOf(await invite(order)).reason).toBe('account_closed')
  })

  it('is in the audit trail of its account', async () => {
    await people.makeAccount('ann@example.com')
    await invite({ role: 'owner', email: 'ann@example.com' })
    expect(await people.rows('SELECT actor, action, account, detail FROM audit')).toEqual([
      { actor: 'operator', action: 'invited', account: 1, detail: 'ann@example.com as owner' },
    ])
  })
})

describe('the invitation for whoever comes first', () => {
  it('is good for a quarter of an hour, and the next start makes another', async () => {
    const one = (await inviteFirstPerson(people.deps))!
    expect(one).toMatchObject({ email: null, role: 'operator', account: null, expires_at: '2026-11-22T00:15:00.000Z' })
    const two = (await inviteFirstPerson(people.deps))!
    expect(refusalOf(await readInvite(people.deps, one.code)).reason).toBe('invite_not_valid')
    people.pass(15 * 60_000 - 1)
    expect(given(await readInvite(people.deps, two.code))).toMatchObject({ email: null, role: 'operator' })
    people.pass(1)
    expect(refusalOf(await readInvite(people.deps, two.code)).reason).toBe('invite_not_valid')
  })

  it('is void as soon as anybody has signed up, in whatever way', async () => {
    const { code } = (await inviteFirstPerson(people.deps))!
    await people.make('ann@example.com', 'operator')
    expect(refusalOf(await readInvite(people.deps, code)).reason).toBe('invite_not_valid')
    const body = { code, email: 'late@example.com', password: PASSWORD }
    expect(refusalOf(await signUp(people.deps, body, HERE)).reason).toBe('invite_not_valid')
    expect(await inviteFirstPerson(people.deps)).toBeUndefined()
  })
})

it('a link says what it is for until it is used, and of all that open nothing the same is said', async () => {
  await people.makeAccount('ann@example.com')
  const { code, expires_at } = given(
    await invitePerson(people.deps, { role: 'owner', email: 'ann@example.com' }, 'operator'),
  )
  const read = { email: 'ann@example.com', role: 'owner', resets: false, expires_at }
  expect(given(await readInvite(people.deps, code))).toEqual(read)
  expect(given(await readInvite(people.deps, code))).toEqual(read)
  given(await signUp(people.deps, { code, password: PASSWORD }, HERE))
  const said = new Set<string>()
  for (const none of [code, '', 'x'.repeat(10_000), '0000-0000-0000-0000-0000-0000', `${code}0`]) {
    said.add(JSON.stringify(refusalOf(await readInvite(people.deps, none))))
  }
  expect(said.size).toBe(1)
})
