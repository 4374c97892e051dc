import { expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

const account = { id: 'acct_1', email: 'a@b.c' }

it('suspends and activates an account, and prints the command to undo it', async () => {
  const operations = { 'accounts.suspend': done(account), 'accounts.activate': done(account) }
  const { asked, emitted, run } = commandLine({ operations })
  expect(await run('accounts suspend a@b.c')).toBe(0)
  expect(emitted.out).toBe('Suspended a@b.c (acct_1). Its keys are rejected from now on.\n')
  expect(emitted.err).toContain('millrace accounts activate a@b.c')
  expect(await run('accounts activate acct_1')).toBe(0)
  expect(emitted.out).toContain('Activated a@b.c (acct_1).\n')
  expect(asked.map(({ name, args }) => [name, args])).toEqual([
    ['accounts.suspend', { account: 'a@b.c' }],
    ['accounts.activate', { account: 'acct_1' }],
  ])
})

it.each([
  [{ state: 'none', plan: null, until: null }, 'no subscription'],
  [{ state: 'active', plan: 'pro', until: null }, 'pro (active)'],
  [{ state: 'active', plan: 'pro', until: 't9' }, 'pro (active, until t9)'],
  [{ state: 'ended', plan: 'pro', until: 't1' }, 'pro (ended)'],
  [{ state: 'not_configured', plan: 'old', until: null }, 'old (inactive: the plan is no longer in the configuration)'],
])('shows the plan of an account: %j', async (plan, text) => {
  const wallet = { balance: '5.00', held: '1.00', available: '4.00' }
  const shown = { ...account, status: 'active', created_at: 't0', wallet, plan, active_keys: 2 }
  const { emitted, run } = commandLine({ operations: { 'accounts.show': done(shown) } })
  expect(await run('accounts show a@b.c')).toBe(0)
  expect(emitted.out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ...[
      ['id', 'acct_1'],
      ['email', 'a@b.c'],
      ['status', 'active'],
      ['since', 't0'],
    ],
    ...[
      ['balance', '5.00 USD'],
      ['held', '1.00 USD'],
      ['available', '4.00 USD'],
    ],
    ...[['plan', text], ['active keys', '2'], ['']],
  ])
})
