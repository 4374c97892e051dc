import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { get } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

describe('GET /v1/key tells a key of itself only', () => {
  const server = useServer()

  it('and nothing of the other keys and accounts', async () => {
    const [mine, theirs] = [await openAccount(server()), await openAccount(server(), { credit: '123.45' })]
    const sibling = await mine.createKey({ name: 'sibling' })
    const text = JSON.stringify((await get(server(), mine, '/key')).json)
    for (const secret of [theirs.id, theirs.email, '123.45', sibling.id, 'sibling', mine.key, sibling.shown]) {
      expect(text).not.toContain(secret)
    }
  })

  it('and not to a key that is revoked', async () => {
    const account = await openAccount(server())
    const made = await account.createKey()
    await server().operate('keys.revoke', { key: made.id })
    expectProblem(await get(server(), made, '/key'), 'invalid_api_key')
  })
})
