import { expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

it('says codes once, lists them without their text, and who waits for funds', async () => {
  const code = {
    id: 'code_1',
    shown: 'MR-AB...YZ',
    amount: '10.00',
    state: 'open',
    note: 'May',
    created_at: '2026-11-22T',
  }
  const listed = { ...code, expires_at: null, redeemed_by: null, redeemed_at: null }
  const request = { account: 'acct_1', email: 'a@b.c', amount: '5.00', note: 'please', at: 't1' }
  const { asked, emitted, run } = commandLine({
    operations: {
      'codes.create': done({ items: [1, 2].map((n) => ({ code, secret: `MR-${n}` })) }),
      'codes.list': done({ items: [listed], next: 'code_1' }),
      'codes.withdraw': done({ ...listed, state: 'withdrawn' }),
      'wallet.wishes': done({ items: [request], next: null }),
    },
  })
  await run('codes create 10.00 --count 2 --note May --expires 90d')
  expect(asked[0]?.args).toEqual({ amount: '10.00', count: 2, note: 'May', expires: '90d' })
  expect(emitted.out).toBe('MR-1\nMR-2\n')
  expect(emitted.err).toMatch(/2 codes of 10\.00 USD/)
  await run('codes create 1')
  expect(asked[1]?.args).toEqual({ amount: '1', count: 1, note: '' })
  await run('codes list')
  expect(emitted.out).toMatch(/code_1 +MR-AB\.\.\.YZ +10\.00 +open +May +2026-11-22 +never/)
  expect(emitted.err).toContain('codes list --after code_1')
  await run('codes withdraw code_1')
  expect(emitted.out).toContain('code_1 (MR-AB...YZ) is withdrawn')
  await run('wallet wishes')
  expect(emitted.out).toMatch(/a@b\.c +5\.00 +t1 +please/)
})

it('redeems a code for an account', async () => {
  const wallet = { balance: '10.00', held: '1.00', available: '9.00' }
  const redeemed = { amount: '10.00', email: 'a@b.c', wallet }
  const { asked, emitted, run } = commandLine({ operations: { 'codes.redeem': done(redeemed) } })
  expect(await run('codes redeem MR-1 --account a@b.c')).toBe(0)
  expect(asked[0]?.args).toEqual({ code: 'MR-1', account: 'a@b.c' })
  expect(emitted.out).toContain('Credited 10.00 USD to a@b.c.')
})
