import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { get } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

describe('GET /v1/models hides what a key may not call', () => {
  const server = useServer()

  const idsFor = async (who: { key: string }): Promise<string[]> =>
    (await get(server(), who, '/models')).json.data.map((entry: { id: string }) => entry.id)

  it('keeps wallet and builder models apart', async () => {
    const account = await openAccount(server())
    const builder = await account.createKey({ kind: 'builder' })
    expect(await idsFor(account)).toContain('wallet-only')
    expect(await idsFor(account)).not.toContain('builder-only')
    expect(await idsFor(builder)).toContain('builder-only')
    expect(await idsFor(builder)).not.toContain('wallet-only')
    expectProblem(await get(server(), account, '/models/builder-only'), 'model_not_found')
    expectProblem(await get(server(), builder, '/models/wallet-only'), 'model_not_found')
  })

  it('shows a key its own list', async () => {
    const account = await openAccount(server())
    const narrow = await account.createKey({ models: ['swift-low', 'vendor/*'] })
    expect(await idsFor(narrow)).toEqual(['swift-low', 'vendor/slashed'])
    expect((await idsFor(account)).length).toBeGreaterThan(2)
  })

  it('answers the same for hidden and unknown models', async () => {
    const account = await openAccount(server())
    const narrow = await account.createKey({ models: ['swift'] })
    const emitted = async (id: string) =>
      (await get(server(), narrow, `/models/${id}`)).json.error.message.replaceAll(id, '…')
    expect(await emitted('calm')).toBe(await emitted('nowhere'))
  })
})
