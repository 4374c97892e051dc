import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { chat, get } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

describe('POST /v1/chat/completions enforces access', () => {
  const server = useServer()

  it('charges only the account of the key', async () => {
    const [mine, theirs] = [await openAccount(server()), await openAccount(server())]
    const before = await theirs.wallet()
    await chat(server(), mine)
    expect(await theirs.wallet()).toEqual(before)
    expect(await theirs.receipts()).toEqual([])
    expect((await mine.wallet()).balance).toBeLessThan(before.balance)
  })

  it('refuses an account with an empty wallet while another is served', async () => {
    const [empty, rich] = [await openAccount(server(), { credit: '0' }), await openAccount(server())]
    const [refused, served] = await Promise.all([chat(server(), empty), chat(server(), rich)])
    expectProblem(refused, 'insufficient_balance')
    expect(served.status).toBe(200)
  })

  it('never charges a builder key to the wallet, and says so', async () => {
    const account = await openAccount(server())
    const before = await account.wallet()
    const builder = await account.createKey({ kind: 'builder' })
    expectProblem(await chat(server(), builder), 'subscription_inactive')
    expect(await account.wallet()).toEqual(before)
  })

  it('gives the same error for a model of another kind, a model off its list and an unknown model', async () => {
    const account = await openAccount(server())
    const narrow = await account.createKey({ models: ['swift'] })
    const builder = await account.createKey({ kind: 'builder' })
    const emitted = async (who: { key: string }, model: string) => {
      const answer = await chat(server(), who, { model })
      expectProblem(answer, 'model_not_found', { param: 'model' })
      return answer.json.error.message.replaceAll(model, '…')
    }
    expect(await emitted(narrow, 'calm')).toBe(await emitted(narrow, 'nowhere'))
    expect(await emitted(account, 'builder-only')).toBe(await emitted(account, 'nowhere'))
    expect(await emitted(builder, 'wallet-only')).toBe(await emitted(builder, 'nowhere'))
    expect(await emitted(account, 'unpriced')).toBe(await emitted(account, 'nowhere'))
  })

  it('does not reveal a model through an effort error', async () => {
    const account = await openAccount(server())
    const narrow = await account.createKey({ models: ['swift'] })
    expectProblem(await chat(server(), narrow, { model: 'calm-low', reasoning_effort: 'high' }), 'model_not_found')
    expectProblem(
      await chat(server(), narrow, { model: 'vendor/slashed', reasoning_effort: 'high' }),
      'model_not_found',
    )
  })

  it('refuses disabled, revoked and expired keys', async () => {
    const account = await openAccount(server())
    const disabled = await account.createKey()
    const revoked = await account.createKey()
    const expired = await account.createKey({ expires: '1m' })
    await server().operate('keys.disable', { key: disabled.id })
    await server().operate('keys.revoke', { key: revoked.id })
    server().advance(60_000)
    for (const who of [disabled, revoked, expired]) {
      expectProblem(await chat(server(), who), 'invalid_api_key')
      expectProblem(await get(server(), who, '/models'), 'invalid_api_key')
      expectProblem(await get(server(), who, '/key'), 'invalid_api_key')
    }
  })
})
