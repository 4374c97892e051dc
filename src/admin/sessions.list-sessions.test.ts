import { expect, it } from 'vitest'
import { given, openTestPeople, PASSWORD } from '../../test/fixtures/admin/people.ts'
import { listSessions } from './sessions.ts'
import { signIn } from './sign-in.ts'

it('sessions are listed newest first, with their origin and the current one', async () => {
  const people = await openTestPeople()
  const ann = await people.make('ann@example.com', 'owner')
  await people.make('ben@example.com', 'owner')
  people.pass(1000)
  const agent = `\u001b[31m${'x'.repeat(300)}`
  const other = given(
    await signIn(people.services, { email: 'ann@example.com', password: PASSWORD }, { agent, address: undefined }),
  )
  const { items } = given(await listSessions(people.services, ann.session))
  expect(items).toEqual([
    {
      id: other.session.id,
      current: false,
      agent: ` [31m${'x'.repeat(195)}`,
      address: '',
      means: 'password',
      created_at: '2026-11-22T00:00:01.000Z',
      seen_at: '2026-11-22T00:00:01.000Z',
      expires_at: '2026-11-29T00:00:01.000Z',
    },
    expect.objectContaining({ id: ann.session.id, current: true, agent: 'Browser 1.0', address: '203.0.113.7' }),
  ])
  await people.close()
})
