import { expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

it('invites people by email or account, and prints nothing but the link as data', async () => {
  const invitation = {
    email: 'a@b.c',
    role: 'owner',
    resets: false,
    link: 'http://h/console/setup?code=X',
    code: 'X',
  }
  const { emitted, asked, run } = commandLine({ operations: { 'people.invite': done(invitation) } })
  expect(await run('people invite a@b.c')).toBe(0)
  expect(await run('people invite acct_1 --role operator')).toBe(0)
  expect(await run('people invite a@b.c --account acct_1 --reset')).toBe(0)
  expect(asked.map(({ args }) => args)).toEqual([
    { role: 'owner', email: 'a@b.c' },
    { role: 'operator', account: 'acct_1' },
    { role: 'owner', email: 'a@b.c', account: 'acct_1', resets: true },
  ])
  expect(emitted.out).toBe('http://h/console/setup?code=X\n'.repeat(3))
  expect(await run('people invite a@b.c --role owner --json')).toBe(0)
  expect(emitted.out).toContain(JSON.stringify(invitation))
  expect(await run('people invite a@b.c --role boss')).toBe(2)
})

it('lists people, disables and enables them', async () => {
  const ann = { id: 'usr_1', email: 'a@b.c', role: 'operator', account: null, created_at: '2026-11-22T00:00:00.000Z' }
  const people = [
    { ...ann, disabled_at: null },
    { ...ann, email: '\u001b[31mx@b.c', account: 'acct_1', disabled_at: ann.created_at },
  ]
  const operations = {
    'people.list': done({ items: people, next: 'k' }),
    'people.disable': done(ann),
    'people.enable': done(ann),
  }
  const { emitted, asked, run } = commandLine({ operations })
  expect(await run('people list')).toBe(0)
  expect(emitted.out).toMatch(/usr_1 +a@b.c +operator +- +active +2026-11-22/)
  expect(emitted.out).not.toContain('\u001b')
  expect(emitted.out).toMatch(/acct_1 +disabled/)
  expect(await run('people list acct_1 --after j --limit 2')).toBe(0)
  expect(emitted.err).toContain('millrace people list acct_1 --limit 2 --after k')
  expect(await run('people disable a@b.c')).toBe(0)
  expect(await run('people enable usr_1')).toBe(0)
  expect(asked.map(({ name, args }) => [name, args])).toEqual([
    ['people.list', { limit: 50 }],
    ['people.list', { account: 'acct_1', after: 'j', limit: 2 }],
    ['people.disable', { person: 'a@b.c' }],
    ['people.enable', { person: 'usr_1' }],
  ])
  const empty = commandLine({ operations: { 'people.list': done({ items: [], next: null }) } })
  expect(await empty.run('people list')).toBe(0)
  expect(empty.emitted).toMatchObject({ out: '', err: expect.stringContaining('No person has signed up yet') })
})
