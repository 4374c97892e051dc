import { expect, it } from 'vitest'
import { PASSWORD, signUp } from '../../support/console-session.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer({ clock: 'still' })
const QUARTER_MS = 15 * 60_000

it('a password confirmation lasts 15 minutes to the millisecond, after sign-up and after each confirmation', async () => {
  const { id } = await openAccount(server())
  const owner = await signUp(server(), { email: 'owner@walk.example', account: id })
  const make = async () => (await owner.send('POST /keys', { body: { name: 'made', kind: 'wallet' } })).error?.code
  for (const confirmed of ['by signing up', 'again']) {
    if (confirmed === 'again') await owner.call('POST /session/confirm', { body: { password: PASSWORD } })
    server().advance(QUARTER_MS - 1)
    expect(await make(), confirmed).toBeUndefined()
    server().advance(1)
    expect(await make(), confirmed).toBe('confirm_password')
  }
})
