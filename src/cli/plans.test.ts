import { expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

it('assigns a plan, and shows its windows, opened or not', async () => {
  const amounts = { limit: '5.00', used: '1.00', held: '0.00', left: '4.00' }
  const shown = {
    account: 'acct_1',
    email: 'a@b.c',
    state: 'active',
    plan: 'pro',
    since: 't0',
    until: null,
    billing_day: 31,
    windows: [
      { name: '5h', opened: true, start: 't1', end: 't2', ...amounts },
      { name: 'month', opened: false, start: null, end: null, ...amounts, used: '0.00', left: '5.00' },
    ],
  }
  const { asked, emitted, run } = commandLine({
    operations: { 'plans.assign': done(shown), 'plans.show': done(shown) },
  })
  expect(await run('plans assign a@b.c pro --until 30d')).toBe(0)
  expect(asked[0]?.args).toEqual({ account: 'a@b.c', plan: 'pro', until: '30d' })
  expect(emitted.out).toMatch(/5h +5\.00 +1\.00 +0\.00 +4\.00 +t1 +t2/)
  expect(emitted.out).toMatch(/month +5\.00 +0\.00 +0\.00 +5\.00 +not opened yet/)
  expect(emitted.out).toMatch(/until +no end date/)
  const json = commandLine({ operations: { 'plans.assign': done(shown) } })
  expect(await json.run('plans assign a@b.c pro --json')).toBe(0)
  expect(JSON.parse(json.emitted.out)).toEqual(shown)
})

const none = {
  account: 'acct_1',
  email: 'a@b.c',
  state: 'none',
  plan: null,
  since: null,
  until: null,
  billing_day: null,
}

it('shows an account without a plan, and one whose plan has ended', async () => {
  const ended = { ...none, state: 'ended', plan: 'pro', since: 't0', until: 't1', billing_day: 3, windows: [] }
  const operations = { 'plans.show': done({ ...none, windows: [] }), 'plans.end': done(ended) }
  const { asked, emitted, run } = commandLine({ operations })
  expect(await run('plans show a@b.c')).toBe(0)
  expect(emitted.out).toBe('account  a@b.c (acct_1)\nplan     no subscription\n')
  expect(await run('plans end a@b.c --at 30d')).toBe(0)
  expect(asked[1]).toMatchObject({ name: 'plans.end', args: { account: 'a@b.c', at: '30d' } })
  expect(emitted.out).toMatch(/plan +pro\nstate +ended\nsince +t0\nuntil +t1\nbilling day +3\n$/)
})

it('lists the plans of the configuration with what each opens', async () => {
  const plan = { id: 'pro', accounts: 2, windows: [{ name: '5h', allowance: '12.00' }] }
  const items = [
    { ...plan, opens: ['fast', 'slow'] },
    { ...plan, id: 'shut', opens: [] },
  ]
  const { emitted, run } = commandLine({ operations: { 'plans.list': done({ items }) } })
  expect(await run('plans list')).toBe(0)
  expect(emitted.out).toMatch(/pro +2 +12\.00 USD every 5h +fast slow\n/)
  expect(emitted.out).toMatch(/shut +2 +12\.00 USD every 5h +no model\n/)
  const empty = commandLine({ operations: { 'plans.list': done({ items: [] }) } })
  await empty.run('plans list')
  expect(empty.emitted).toEqual({ out: '', err: 'The configuration has no plans.\n' })
})
