import { expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'
import { showList } from './command-context.ts'
import { styleFor } from './format.ts'

it.each([
  [50, "millrace keys list --account 'two words; it'\\''s' --after key_1"],
  [3, "millrace keys list --account 'two words; it'\\''s' --limit 3 --after key_1"],
])('prints a pasteable command for the next page, %d rows per page', (limit, command) => {
  const page = { items: ['key_2'], next: 'key_1' }
  const shown = showList(
    styleFor(false),
    page,
    { limit },
    {
      ...{ columns: ['id'], row: (id) => [id], none: 'None' },
      command: ['keys', 'list', '--account', "two words; it's"],
    },
  )
  expect(shown).toEqual({ data: 'id\nkey_2\n', note: `Next page:  ${command}\n` })
})

it.each([
  ['people list', 'No person has signed up yet'],
  ['people list acct_1', 'That account has no people'],
  ['people list --after k', 'No more rows.\n'],
  ['keys list', 'No keys yet'],
  ['keys list --account a@b.c', 'That account has no keys. To create one:  millrace keys create --account a@b.c '],
  ['keys list --after key_1', 'No more rows.\n'],
  ['accounts list --search x', 'No account has this text'],
])('explains why %s is empty', async (line, message) => {
  const nothing = done({ items: [], next: null })
  const { emitted, run } = commandLine({
    operations: { 'people.list': nothing, 'keys.list': nothing, 'accounts.list': nothing },
  })
  expect(await run(line)).toBe(0)
  expect(emitted.out).toBe('')
  expect(emitted.err.startsWith(message)).toBe(true)
})

it('lists accounts, keys and entries in pages, with the command for the next one', async () => {
  const account = {
    ...{ id: 'acct_1', email: 'a@b.c', status: 'active', created_at: '2026-11-22T', plan: null, keys: 3, people: 0 },
    wallet: { balance: '5.00', held: '0.00', available: '5.00' },
  }
  const key = {
    ...{ id: 'key_1', name: 'ci', kind: 'wallet', email: 'a@b.c', shown: 'mr_…', state: 'active' },
    ...{ models: null, caps: {}, expires_at: null },
  }
  const entry = { at: 't1', kind: 'credit', amount: '5.00', ref: 'r1', reason: 'paid' }
  const { asked, emitted, run } = commandLine({
    operations: {
      'accounts.list': done({ items: [account], next: 'a1' }),
      'keys.list': done({ items: [key], next: 'key_1' }),
      'wallet.entries': done({ items: [entry], next: 'e1' }),
    },
  })
  expect(await run('accounts list --search a@ --limit 1')).toBe(0)
  expect(await run('keys list --account a@b.c --after key_2')).toBe(0)
  expect(await run('wallet entries a@b.c')).toBe(0)
  expect(asked.map(({ args }) => args)).toEqual([
    { search: 'a@', limit: 1 },
    { account: 'a@b.c', after: 'key_2', limit: 50 },
    { account: 'a@b.c', limit: 50 },
  ])
  expect(emitted.out).toMatch(/acct_1 +a@b\.c +active +5\.00 +- +3 +2026-11-22/)
  expect(emitted.out).toMatch(/key_1 +ci +wallet/)
  expect(emitted.err.match(/millrace .*/g)).toEqual([
    'millrace accounts list --search a@ --limit 1 --after a1',
    'millrace keys list --account a@b.c --after key_1',
    'millrace wallet entries a@b.c --after e1',
  ])
})
