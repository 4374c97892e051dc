import { expect, it } from 'vitest'
import { invitePerson } from './invite-person.ts'
import { given, HERE, openTestPeople, PASSWORD, refusalOf } from './people.fixture.ts'
import { readInvite } from './read-invite.ts'
import { signUp } from './sign-up.ts'

it('a link says what it is for until it is used, and of all that open nothing the same is said', async () => {
  const people = await openTestPeople()
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
  await people.close()
})
