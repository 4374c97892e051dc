import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { type Answer, chat, get } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

const HOUR_MS = 3_600_000

describe('the lifecycle of a key', () => {
  const server = useServer()

  it('is shown once when created, and only its prefix and suffix afterwards', async () => {
    const account = await openAccount(server())
    const { key, id, shown } = await account.createKey({ name: 'first' })
    expect(key).toMatch(/^mr_wallet_[0-9A-Za-z]{40,}$/)
    const { items: keys } = await server().operate('keys.list', { account: account.id })
    expect(keys.find((listed) => listed.id === id)).toMatchObject({ name: 'first', state: 'active', shown })
    expect(JSON.stringify(keys)).not.toContain(key)
    expect(shown.length).toBeLessThan(key.length / 2)
    const dump = await server().app.operations.db.selectFrom('keys').selectAll().execute()
    expect(JSON.stringify(dump)).not.toContain(key.slice(10, 30))
  })

  it.each(['wallet', 'builder'] as const)('shows its kind %s in its prefix', async (kind) => {
    const account = await openAccount(server())
    const made = await account.createKey({ kind, name: 'mine' })
    expect(made.key.startsWith(`mr_${kind}_`)).toBe(true)
    const { json } = await get(server(), made, '/key')
    expect(json).toMatchObject({ object: 'key', id: made.id, account: account.id, kind, name: 'mine', models: null })
  })

  it('is disabled, enabled and revoked with immediate effect', async () => {
    const account = await openAccount(server())
    const made = await account.createKey()
    const sendTurn = () => chat(server(), made)
    const change = (what: 'disable' | 'enable' | 'revoke') => server().operate(`keys.${what}`, { key: made.id })
    expect((await sendTurn()).status).toBe(200)
    await change('disable')
    expectProblem(await sendTurn(), 'invalid_api_key', { message: /disabled/ })
    expectProblem(await get(server(), made, '/models'), 'invalid_api_key')
    await change('enable')
    expect((await sendTurn()).status).toBe(200)
    await change('revoke')
    expectProblem(await sendTurn(), 'invalid_api_key', { message: /revoked/ })
    expect(await server().attempt('keys.enable', { key: made.id })).toMatchObject({ reason: 'key_revoked' })
    expectProblem(await sendTurn(), 'invalid_api_key')
    expect((await chat(server(), account)).status).toBe(200)
  })

  it('changes for requests in progress', async () => {
    const account = await openAccount(server())
    const made = await account.createKey()
    const answers: Answer[] = []
    let revoked = false
    const requesting = Array.from({ length: 4 }, async () => {
      for (let after = 0; after < 3; ) {
        const receivedAfter = revoked
        const answer = await get(server(), made, '/models')
        if (!receivedAfter) continue
        answers.push(answer)
        after += 1
      }
    })
    await server().operate('keys.revoke', { key: made.id })
    revoked = true
    await Promise.all(requesting)
    expect(answers).toHaveLength(12)
    for (const answer of answers) expectProblem(answer, 'invalid_api_key')
  })

  it('lets running turns finish when revoked', async () => {
    const account = await openAccount(server())
    const made = await account.createKey()
    const answer = chat(server(), made, { model: 'calm', messages: [{ role: 'user', content: 'count to 12' }] })
    while ((await account.receipts()).length === 0) await new Promise((resolve) => setImmediate(resolve))
    await server().operate('keys.revoke', { key: made.id })
    expect((await answer).status).toBe(200)
    expectProblem(await chat(server(), made), 'invalid_api_key')
  })

  it('expires exactly on time', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ expires: '2h' })
    expect((await chat(server(), made)).status).toBe(200)
    server().advance(HOUR_MS)
    expect((await chat(server(), made)).status).toBe(200)
    server().advance(HOUR_MS)
    expectProblem(await chat(server(), made), 'invalid_api_key', { message: /expired/ })
    const { items: keys } = await server().operate('keys.list', { account: account.id })
    expect(keys.find((listed) => listed.id === made.id)?.state).toBe('expired')
  })

  it('is renamed without affecting requests', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ name: 'before' })
    await chat(server(), made)
    await server().operate('keys.rename', { key: made.id, name: 'after' })
    expect((await get(server(), made, '/key')).json).toMatchObject({ id: made.id, name: 'after' })
  })

  it.each([
    { models: ['swift'], may: ['swift', 'swift-low', 'swift-high'], mayNot: ['calm', 'calm-low', 'vendor/slashed'] },
    { models: ['swift-low'], may: ['swift-low'], mayNot: ['swift', 'swift-high'] },
    { models: ['vendor/*'], may: ['vendor/slashed'], mayNot: ['swift'] },
    { models: ['*i*'], may: ['swift', 'swift-medium', 'paid', 'trap-high'], mayNot: ['calm', 'calm-high'] },
    { models: ['*'], may: ['swift', 'calm-high', 'wallet-only'], mayNot: ['builder-only', 'unpriced'] },
  ])('with the list $models allows $may and not $mayNot', async ({ models, may, mayNot }) => {
    const account = await openAccount(server())
    const made = await account.createKey({ models })
    const { json } = await get(server(), made, '/models')
    const ids = json.data.map((entry: { id: string }) => entry.id)
    expect(ids).toEqual(expect.arrayContaining(may))
    for (const model of may) expect((await chat(server(), made, { model, max_tokens: 5 })).status, model).toBe(200)
    for (const model of mayNot) {
      expect(ids).not.toContain(model)
      expectProblem(await chat(server(), made, { model }), 'model_not_found', { param: 'model' })
    }
  })

  it('cannot be created for an unknown model', async () => {
    const account = await openAccount(server())
    const changeRequest = { account: account.id, kind: 'wallet', name: 'x', models: ['swift', 'swfit'] }
    expect(await server().attempt('keys.create', changeRequest)).toMatchObject({
      reason: 'model_not_found',
      message: /swfit/,
    })
  })
})
