import { describe, expect, it } from 'vitest'
import { useOperatorLedger } from '../../test/fixtures/admin/operations.ts'
import { OPERATIONS } from './operations.ts'

const { must, run } = useOperatorLedger()

describe('runOperation', () => {
  it('refuses unknown names and arguments', async () => {
    expect(await run('toString', {})).toMatchObject({ kind: 'refused', reason: 'unknown_operation' })
    expect(await run('accounts.create', { email: 'a@b.c', admin: true })).toMatchObject({ reason: 'invalid_arguments' })
    expect(await run('accounts.list', null)).toMatchObject({ reason: 'invalid_arguments' })
    for (const name of Object.keys(OPERATIONS)) expect((await run(name, 5)).kind).toBe('refused')
  })

  it('explains an invalid argument', async () => {
    expect(await run('accounts.create', { email: 'nonsense' })).toMatchObject({
      message: 'email: must be an email address, such as name@example.com',
    })
  })

  it('lists the models with their prices', async () => {
    const { models } = await must('models.list', {})
    expect(models[0]).toMatchObject({
      id: 'demo',
      efforts: ['low', 'high'],
      price: { version: 1, input: '1.00', output: '2.50', tiers: [{ above_input_tokens: 500, input: '2.00' }] },
      lanes: [{ id: 'demo/demo', upstream: 'demo' }],
    })
  })
})
