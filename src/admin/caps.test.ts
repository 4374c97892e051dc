import { describe, expect, it } from 'vitest'
import { useOperatorLedger } from '../../test/fixtures/admin/operations.ts'
import { LEDGER_TIMES_UNCLEAR, listTimesAhead } from '../db/clock.ts'

const { fixture, callerOf, makeKey, must } = useOperatorLedger()

describe('a raise of a cap', () => {
  it.each([
    ['day', '5.00', '20.00'],
    ['week', '5.00', '20.00'],
    ['tokens_day', 5, '20'],
  ] as const)('of a key (%s) ends when the cap is changed', async (cap, amount, to) => {
    const { key, id } = await makeKey({ caps: { [cap]: amount, month: '50.00' } })
    await must('keys.raise', { key: id, cap: 'month', to: '60.00', until: '7d' })
    await must('keys.raise', { key: id, cap, to, until: '7d' })
    const raisesOf = async () =>
      (await callerOf(key)).caps.flatMap(({ name, raised }) => (raised === undefined ? [] : [name])).sort()
    expect(await raisesOf()).toEqual([cap, 'month'].sort())
    await must('keys.caps', { key: id, [cap]: cap === 'tokens_day' ? 1 : '1.00' })
    expect(await raisesOf()).toEqual(['month'])
  })

  it('is named when ledger time is set back, because its end may have been meant as a span', async () => {
    const { id, account } = await makeKey({ caps: { day: '5.00' } })
    await must('keys.raise', { key: id, cap: 'day', to: '20.00', until: '7d' })
    const from = fixture.services.clock.now()
    const unclear: unknown[] = []
    for (const table of LEDGER_TIMES_UNCLEAR)
      for await (const rows of listTimesAhead(fixture.database.file, table, { from, to: from - 1 }))
        unclear.push(...rows)
    expect(unclear).toMatchObject([{ id: account }])
  })

  it('of a team ends when the budget is removed, and does not come back with it', async () => {
    await must('accounts.create', { email: 'team@example.com' })
    const { id: team } = await must('teams.create', {
      account: 'team@example.com',
      name: 'Research',
      caps: { day: '5.00' },
    })
    await must('teams.raise', { team, cap: 'day', to: '20.00', until: '7d' })
    await must('teams.change', { team, caps: { day: null } })
    const changed = await must('teams.change', { team, caps: { day: '1.00' } })
    expect(changed.spent).toMatchObject([{ limit: '1.00', raised_until: null }])
  })
})
