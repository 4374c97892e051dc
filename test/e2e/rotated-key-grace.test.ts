import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { chat, get } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

const HOUR_MS = 3_600_000

describe('a key rotated with a grace period', () => {
  const server = useServer()

  it('has two secrets during the grace period and one afterwards', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ name: 'ci', caps: { day: '1.00' } })
    expect((await chat(server(), made)).status).toBe(200)
    const rotated = await server().operate('keys.rotate', { key: made.id, grace: '24h' })
    for (const secret of [made, rotated]) {
      expect((await chat(server(), secret)).status).toBe(200)
      const { json } = await get(server(), secret, '/key')
      expect(json).toMatchObject({ id: made.id, name: 'ci', caps: [{ name: 'day', limit: '1.00' }] })
    }
    server().advance(24 * HOUR_MS)
    expectProblem(await chat(server(), made), 'invalid_api_key')
    expectProblem(await get(server(), made, '/models'), 'invalid_api_key')
    expect((await chat(server(), rotated)).status).toBe(200)
  })

  it('counts both secrets against one cap', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ caps: { day: '1.00' } })
    const used = async () => Number((await get(server(), made, '/key')).json.caps[0].used)
    await chat(server(), made)
    const once = await used()
    const rotated = await server().operate('keys.rotate', { key: made.id, grace: '1h' })
    await chat(server(), rotated)
    expect([once > 0, await used()]).toEqual([true, 2 * once])
  })

  it('shares idempotency keys between both secrets', async () => {
    const account = await openAccount(server())
    const made = await account.createKey()
    const once = { headers: { 'idempotency-key': 'once' } }
    const first = await chat(server(), made, {}, once)
    const rotated = await server().operate('keys.rotate', { key: made.id, grace: '0' })
    const again = await chat(server(), rotated, {}, once)
    expect([again.status, again.json]).toEqual([200, first.json])
    expectProblem(await chat(server(), made, {}, once), 'invalid_api_key')
    expect(await account.receipts()).toHaveLength(1)
  })

  it('lets running turns finish; revoking ends both secrets', async () => {
    const account = await openAccount(server())
    const made = await account.createKey()
    const answer = chat(server(), made, { model: 'calm', messages: [{ role: 'user', content: 'count to 12' }] })
    while ((await account.receipts()).length === 0) await new Promise((resolve) => setImmediate(resolve))
    const rotated = await server().operate('keys.rotate', { key: made.id, grace: '0' })
    expect((await answer).status).toBe(200)
    expectProblem(await chat(server(), made), 'invalid_api_key')
    const third = await server().operate('keys.rotate', { key: made.id, grace: '7d' })
    await server().operate('keys.revoke', { key: made.id })
    for (const secret of [rotated, third]) {
      expectProblem(await chat(server(), secret), 'invalid_api_key', { message: /revoked/ })
    }
  })
})
