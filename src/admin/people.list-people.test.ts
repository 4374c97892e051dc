import { expect, it } from 'vitest'
import { openTestPeople } from '../../test/fixtures/admin/people.ts'
import { signedInView } from './people.ts'

it('the signed-in view has the person, with or without an account', async () => {
  const people = await openTestPeople()
  const { session } = await people.make('ann@example.com', 'owner')
  expect(signedInView(session)).toEqual({
    id: session.person.id,
    email: 'ann@example.com',
    role: 'owner',
    account: { id: session.account!.id, email: 'ann@example.com', status: 'active' },
  })
  const { session: operator } = await people.make('ben@example.com', 'operator')
  expect(signedInView(operator)).toMatchObject({ role: 'operator', account: null })
  await people.close()
})
