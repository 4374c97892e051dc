import { describe, expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

const key = { id: 'key_1', name: 'ci', kind: 'wallet', email: 'a@b.c' }

it('puts the secret of a new key on stdout and everything else on stderr', async () => {
  const { emitted, run } = commandLine({ operations: { 'keys.create': done({ ...key, key: 'mr_wallet_x' }) } })
  expect(await run('keys create --account a@b.c --kind wallet --name ci --models a,b')).toBe(0)
  expect(emitted.out).toBe('mr_wallet_x\n')
  expect(emitted.err).toContain('only once')
})

it('passes on the terms of a new key', async () => {
  const { asked, run } = commandLine({ operations: { 'keys.create': done({ ...key, key: 'x' }) } })
  await run(
    'keys create --account a --kind builder --name n --models a,b* --expires 30d --tokens-per-minute 9 --cap-day 5.00',
  )
  expect(asked[0]?.args).toEqual({
    account: 'a',
    kind: 'builder',
    name: 'n',
    models: ['a', 'b*'],
    expires: '30d',
    caps: { day: '5.00' },
    limits: { tokens_per_minute: 9 },
  })
})

it('prints a new secret once, and how long the former one works', async () => {
  const former = { shown: 'mr_wallet_abcd...wxyz', until: 't1' }
  const rotated = { ...key, key: 'mr_wallet_x', former }
  const { asked, emitted, run } = commandLine({ operations: { 'keys.rotate': done(rotated) } })
  expect(await run('keys rotate key_1 --grace 24h')).toBe(0)
  expect(asked[0]?.args).toEqual({ key: 'key_1', grace: '24h' })
  expect([emitted.out, emitted.err.includes('only once')]).toEqual(['mr_wallet_x\n', true])
  expect(emitted.err).toContain('mr_wallet_abcd...wxyz) works until t1')
  const json = commandLine({ operations: { 'keys.rotate': done(rotated) } })
  await json.run('keys rotate key_1 --grace 0 --json')
  expect(JSON.parse(json.emitted.out)).toEqual(rotated)
  expect(await commandLine().run('keys rotate key_1')).toBe(2)
})

it('changes the named terms', async () => {
  const changed = { ...key, caps: { day: '5.00' }, models: null }
  const { asked, emitted, run } = commandLine({ operations: { 'keys.change': done(changed) } })
  await run('keys change key_1 --name n --models all --expires never --cap-day 5.00 --cap-month none --concurrent none')
  expect(asked[0]?.args).toEqual({
    ...{ key: 'key_1', name: 'n', models: null, expires: null },
    ...{ caps: { day: '5.00', month: null }, limits: { concurrent: null } },
  })
  expect(emitted.out).toContain('all models and spend 5.00 USD a day')
  await run('keys change key_1 --models a,b* --tokens-per-minute 9')
  expect(asked[1]?.args).toEqual({ key: 'key_1', models: ['a', 'b*'], limits: { tokens_per_minute: 9 } })
  await run('keys change key_1 --run required')
  await run('keys change key_1 --run none')
  await run('keys change key_1 --step-down fast-coder')
  await run('keys change key_1 --run max=0.50;ends=2h')
  expect(asked.slice(2).map(({ args }) => args)).toEqual([
    ...[
      { key: 'key_1', run: 'required' },
      { key: 'key_1', run: null },
      { key: 'key_1', step_down: { to: 'fast-coder', below_percent: 0 } },
    ],
    { key: 'key_1', run: { each_conversation: { max: '0.50', ends: '2h' } } },
  ])
  for (const line of ['keys change key_1', 'keys change key_1 --concurrent 0']) expect(await run(line)).toBe(2)
  expect(asked).toHaveLength(6)
})

it('sets spend caps, and removes them with none', async () => {
  const { asked, emitted, run } = commandLine({ operations: { 'keys.caps': done({ ...key, caps: { day: '5.00' } }) } })
  expect(await run('keys caps key_1 --day 5.00 --month none')).toBe(0)
  expect(asked[0]?.args).toEqual({ key: 'key_1', day: '5.00', month: null })
  expect(emitted.out).toContain('may spend 5.00 USD a day.')
  const nothing = commandLine()
  expect(await nothing.run('keys caps key_1')).toBe(2)
  expect(nothing.asked).toEqual([])
})

it('disables, enables and renames a key', async () => {
  const operations = {
    'keys.disable': done(key),
    'keys.enable': done(key),
    'keys.rename': done({ ...key, name: 'cd' }),
  }
  const { asked, emitted, run } = commandLine({ operations })
  for (const line of ['keys disable key_1', 'keys enable key_1', 'keys rename key_1 cd'])
    expect(await run(line)).toBe(0)
  expect(asked.map(({ name, args }) => [name, args])).toEqual([
    ['keys.disable', { key: 'key_1' }],
    ['keys.enable', { key: 'key_1' }],
    ['keys.rename', { key: 'key_1', name: 'cd' }],
  ])
  expect(emitted.out).toBe('Disabled "ci" (key_1).\nEnabled "ci" (key_1).\nkey_1 is now called "cd".\n')
  expect(emitted.err).toContain('millrace keys enable key_1')
})

describe('keys show', () => {
  const bare = {
    ...{ ...key, shown: 'mr_wallet_abcd...wxyz', account: 'acct_1', state: 'active', created_at: 't0' },
    ...{ former: null, playground: false, models: null, expires_at: null, spent: [] },
  }
  const show = async (changes: object) => {
    const { emitted, run } = commandLine({ operations: { 'keys.show': done({ ...bare, ...changes }) } })
    expect(await run('keys show key_1')).toBe(0)
    return emitted.out
  }

  it('leaves out what the key does not have', async () => {
    const text = await show({})
    expect(text).toMatch(/models +all\naddresses +any\nexpires +never\ncreated +t0\n$/)
    expect(text).not.toMatch(/former|playground|cap|run/)
  })

  it('shows the former secret, the owner, the models and the spend caps', async () => {
    const amounts = { limit: '5.00', used: '1.00', held: '0.00', left: '4.00', start: 't1', end: 't2' }
    const text = await show({
      former: { shown: 'mr_wallet_old0...old9', until: 't9' },
      ...{
        playground: true,
        models: ['a', 'b*'],
        expires_at: 't8',
        run: { each_conversation: { max: '0.50' } },
        spent: [{ name: 'day', ...amounts }],
      },
    })
    expect(text).toMatch(/former key +mr_wallet_old0\.\.\.old9, until t9\nof +the console's playground\n/)
    expect(text).toMatch(/models +a,b\*\naddresses +any\nrun +max=0\.50\nexpires +t8\n/)
    expect(text).toMatch(/day +5\.00 +1\.00 +0\.00 +4\.00 +t1 +t2/)
  })
})

describe('keys revoke', () => {
  const operations = { 'keys.show': done(key), 'keys.revoke': done(key) }
  const acts = (asked: readonly { name: string }[]) => asked.map(({ name }) => name)

  it('asks for the name on a terminal', async () => {
    const right = commandLine({ operations, answers: ['ci'] })
    expect(await right.run('keys revoke key_1')).toBe(0)
    expect(acts(right.asked)).toEqual(['keys.show', 'keys.revoke'])
    for (const answers of [['no'], []]) {
      const wrong = commandLine({ operations, answers })
      expect(await wrong.run('keys revoke key_1')).toBe(1)
      expect(acts(wrong.asked)).toEqual(['keys.show'])
    }
  })

  it('needs --yes without a terminal', async () => {
    const { asked, run } = commandLine({ operations })
    expect(await run('keys revoke key_1')).toBe(2)
    expect(acts(asked)).toEqual(['keys.show'])
    expect(await run('keys revoke key_1 --yes --json')).toBe(0)
    expect(acts(asked).at(-1)).toBe('keys.revoke')
  })
})
