import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { get } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

describe('GET /v1/key shows a key only itself', () => {
  const server = useServer()

  it('nothing of other keys and accounts', async () => {
    const [mine, theirs] = [await openAccount(server()), await openAccount(server(), { credit: '123.45' })]
    const sibling = await mine.createKey({ name: 'sibling' })
    const text = JSON.stringify((await get(server(), mine, '/key')).json)
    for (const secret of [theirs.id, theirs.email, '123.45', sibling.id, 'sibling', mine.key, sibling.shown]) {
      expect(text).not.toContain(secret)
    }
  })

  it('nothing to a revoked key', async () => {
    const account = await openAccount(server())
    const made = await account.createKey()
    await server().operate('keys.revoke', { key: made.id })
    expectProblem(await get(server(), made, '/key'), 'invalid_api_key')
  })
})
