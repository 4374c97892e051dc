import { describe, expect, it } from 'vitest'
import type { CliDeps, OperatorAnswer, ServeOptions } from './cli-deps.ts'
import { runCli } from './run-cli.ts'

interface Answers {
  readonly [operation: string]: OperatorAnswer<unknown>
}

/** The command line over parts that write down what they are asked. */
function fixture(options: { operations?: Answers; answers?: string[]; json?: boolean } = {}) {
  const said = { out: '', err: '' }
  const asked: { name: string; args: unknown; config: string | undefined; data: string | undefined }[] = []
  const served: ServeOptions[] = []
  const questions = [...(options.answers ?? [])]
  const deps: CliDeps = {
    terminal: {
      out: (text) => {
        said.out += text
      },
      err: (text) => {
        said.err += text
      },
      colours: { out: false, err: false },
      interactive: options.answers !== undefined,
      attended: false,
      ask: async () => questions.shift(),
    },
    operator: {
      // The fixture cannot know which value belongs to which name.
      call: async (place, name, args) => {
        asked.push({ name, args, ...place })
        return (options.operations?.[name] ?? { kind: 'done', value: {} }) as never
      },
    },
    serve: async (flags) => {
      served.push(flags)
      return 0
    },
    checkConfig: (place) =>
      place.config === 'bad.yaml'
        ? { ok: false, lines: ['bad.yaml:1:1  wrong'], json: { ok: false } }
        : { ok: true, lines: ['good'], json: { ok: true } },
    upstreams: { list: () => ({ kind: 'done', value: [] }), test: async () => ({ kind: 'done', value: [] }) },
    writeTemplate: async (path, mode) => ({ kind: mode.overwrite ? 'written' : 'exists', path }),
    versions: { millrace: '1.2.3', node: '20.20.2', driver: 'libsql 3', schema: '0001' },
  }
  return { said, asked, served, run: (line: string) => runCli(deps, line === '' ? [] : line.split(' ')) }
}

const done = (value: unknown) => ({ kind: 'done', value }) as const
const key = { id: 'key_1', name: 'ci', kind: 'wallet', email: 'a@b.c' }

describe('the command line', () => {
  it.each(['', '--port 4700', '--data d -c f.yaml', 'serve'])('starts the server with %j', async (line) => {
    const { served, run } = fixture()
    expect(await run(line)).toBe(0)
    expect(served).toHaveLength(1)
  })

  it('hands the options of the server over', async () => {
    const { served, run } = fixture()
    await run('serve --config f.yaml --host 0.0.0.0 --port 0 --data d')
    expect(served[0]).toMatchObject({ config: 'f.yaml', host: '0.0.0.0', port: 0, data: 'd', console: undefined })
    await run('serve --no-console')
    expect(served[1]).toMatchObject({ console: 'false' })
  })

  it('takes the global options anywhere', async () => {
    for (const line of [
      '--data d --json accounts list',
      'accounts list --json --data d',
      'accounts --json list --data=d',
    ]) {
      const { asked, said, run } = fixture({ operations: { 'accounts.list': done({ items: [], next: null }) } })
      expect(await run(line)).toBe(0)
      expect(asked[0]).toMatchObject({ name: 'accounts.list', data: 'd' })
      expect(JSON.parse(said.out)).toEqual({ items: [], next: null })
    }
  })

  it('suggests the nearest command and exits with 2', async () => {
    for (const [line, word] of [
      ['acounts list', 'accounts'],
      ['keys creat', 'create'],
      ['stats', 'status'],
    ] as const) {
      const { said, run } = fixture()
      expect(await run(line)).toBe(2)
      expect(said.err).toContain(word)
      expect(said.out).toBe('')
    }
  })

  it.each([
    'accounts create',
    'accounts list --nope',
    'accounts',
    'wallet credit a@b.c 5',
    'keys create --account a --kind gold --name n',
    'serve --port 70000',
    'serve --port x',
    'status extra',
    'keys create --account a --kind wallet --name n --concurrent 0',
  ])('exits with 2 for %j', async (line) => {
    const { asked, served, run } = fixture()
    expect(await run(line)).toBe(2)
    expect([...asked, ...served]).toEqual([])
  })

  it('helps on stdout', async () => {
    for (const line of ['--help', '-h', 'help', 'keys --help', 'help keys', 'wallet credit -h']) {
      const { said, run, served } = fixture()
      expect(await run(line)).toBe(0)
      expect(said.out).toContain('Usage: millrace')
      expect(served).toEqual([])
    }
  })

  it('says its version, with --json also what it stands on', async () => {
    const { said, run } = fixture()
    expect(await run('-V')).toBe(0)
    expect(said.out).toBe('1.2.3\n')
    const second = fixture()
    await second.run('--version --json')
    expect(JSON.parse(second.said.out)).toEqual({
      millrace: '1.2.3',
      node: '20.20.2',
      driver: 'libsql 3',
      schema: '0001',
    })
  })
})

describe('answers', () => {
  it('put data on stdout and everything else on stderr', async () => {
    const { said, run } = fixture({ operations: { 'keys.create': done({ ...key, key: 'mr_wallet_x' }) } })
    expect(await run('keys create --account a@b.c --kind wallet --name ci --models a,b')).toBe(0)
    expect(said.out).toBe('mr_wallet_x\n')
    expect(said.err).toContain('only time')
  })

  it('pass the arguments of a key on', async () => {
    const { asked, run } = fixture({ operations: { 'keys.create': done({ ...key, key: 'x' }) } })
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

  it('say a new secret once, and how long the former one works', async () => {
    const former = { shown: 'mr_wallet_abcd...wxyz', until: 't1' }
    const rotated = { ...key, key: 'mr_wallet_x', former }
    const { asked, said, run } = fixture({ operations: { 'keys.rotate': done(rotated) } })
    expect(await run('keys rotate key_1 --grace 24h')).toBe(0)
    expect(asked[0]?.args).toEqual({ key: 'key_1', grace: '24h' })
    expect([said.out, said.err.includes('only time')]).toEqual(['mr_wallet_x\n', true])
    expect(said.err).toContain('mr_wallet_abcd...wxyz) works until t1')
    const json = fixture({ operations: { 'keys.rotate': done(rotated) } })
    await json.run('keys rotate key_1 --grace 0 --json')
    expect(JSON.parse(json.said.out)).toEqual(rotated)
    expect(await fixture().run('keys rotate key_1')).toBe(2)
  })

  it('change the terms of a key that are named', async () => {
    const changed = { ...key, caps: { day: '5.00' }, models: null }
    const { asked, said, run } = fixture({ operations: { 'keys.change': done(changed) } })
    await run(
      'keys change key_1 --name n --models all --expires never --cap-day 5.00 --cap-month none --concurrent none',
    )
    expect(asked[0]?.args).toEqual({
      ...{ key: 'key_1', name: 'n', models: null, expires: null },
      ...{ caps: { day: '5.00', month: null }, limits: { concurrent: null } },
    })
    expect(said.out).toContain('all models and spend 5.00 USD a day')
    await run('keys change key_1 --models a,b* --tokens-per-minute 9')
    expect(asked[1]?.args).toEqual({ key: 'key_1', models: ['a', 'b*'], limits: { tokens_per_minute: 9 } })
    for (const line of ['keys change key_1', 'keys change key_1 --concurrent 0']) expect(await run(line)).toBe(2)
    expect(asked).toHaveLength(2)
  })

  it('say codes once, list them without their text, and who waits for funds', async () => {
    const code = {
      id: 'code_1',
      shown: 'MR-AB...YZ',
      amount: '10.00',
      state: 'open',
      note: 'May',
      created_at: '2026-11-22T',
    }
    const listed = { ...code, expires_at: null, redeemed_by: null, redeemed_at: null }
    const wish = { account: 'acct_1', email: 'a@b.c', amount: '5.00', note: 'please', at: 't1' }
    const { asked, said, run } = fixture({
      operations: {
        'codes.create': done({ items: [1, 2].map((n) => ({ code, secret: `MR-${n}` })) }),
        'codes.list': done({ items: [listed], next: 'code_1' }),
        'codes.withdraw': done({ ...listed, state: 'withdrawn' }),
        'wallet.wishes': done({ items: [wish], next: null }),
      },
    })
    await run('codes create 10.00 --count 2 --note May --expires 90d')
    expect(asked[0]?.args).toEqual({ amount: '10.00', count: 2, note: 'May', expires: '90d' })
    expect(said.out).toBe('MR-1\nMR-2\n')
    expect(said.err).toMatch(/2 codes of 10\.00 USD/)
    await run('codes create 1')
    expect(asked[1]?.args).toEqual({ amount: '1', count: 1, note: '' })
    await run('codes list')
    expect(said.out).toMatch(/code_1 +MR-AB\.\.\.YZ +10\.00 +open +May +2026-11-22 +never/)
    expect(said.err).toContain('codes list --after code_1')
    await run('codes withdraw code_1')
    expect(said.out).toContain('code_1 (MR-AB...YZ) is withdrawn')
    await run('wallet wishes')
    expect(said.out).toMatch(/a@b\.c +5\.00 +t1 +please/)
  })

  it('put an account on a plan, and show its windows, opened or not', async () => {
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
    const { asked, said, run } = fixture({ operations: { 'plans.assign': done(shown), 'plans.show': done(shown) } })
    expect(await run('plans assign a@b.c pro --until 30d')).toBe(0)
    expect(asked[0]?.args).toEqual({ account: 'a@b.c', plan: 'pro', until: '30d' })
    expect(said.out).toMatch(/5h +5\.00 +1\.00 +0\.00 +4\.00 +t1 +t2/)
    expect(said.out).toMatch(/month +5\.00 +0\.00 +0\.00 +5\.00 +not opened yet/)
    expect(said.out).toMatch(/until +it is ended/)
    const json = fixture({ operations: { 'plans.assign': done(shown) } })
    expect(await json.run('plans assign a@b.c pro --json')).toBe(0)
    expect(JSON.parse(json.said.out)).toEqual(shown)
  })

  it('tell where a request would go, who is left alone, and what is not known without a server', async () => {
    const lane = { priority: 1, weight: 3, first_percent: 0, aside: null, cannot: [] }
    const lanes = [
      { ...lane, id: 'a/m', first_percent: 75, cannot: ['n', 'stop'] },
      { ...lane, id: 'b/m', aside: { reason: 'failing', seconds_left: 17 } },
      { ...lane, id: 'c/m', aside: { reason: 'locked-out', seconds_left: 0 } },
    ]
    const view = { model: 'm', effort: null, has_price: true, server_runs: false, lanes }
    const { asked, said, run } = fixture({ operations: { 'route.explain': done(view) } })
    expect(await run('route explain m')).toBe(0)
    expect(asked[0]?.args).toEqual({ model: 'm' })
    expect(said.out).toMatch(/a\/m +1 +3 +75 % +is asked +n stop\n/)
    expect(said.out).toMatch(/b\/m +1 +3 +0 % +has failed; left alone for 17 s\n/)
    expect(said.out).toMatch(/c\/m .* refuses the credential; the next request tries it\n/)
    expect(said.err).toMatch(/No server runs here/)
    const nobody = { ...view, server_runs: true, has_price: false, lanes: lanes.slice(1) }
    const alone = fixture({ operations: { 'route.explain': done(nobody) } })
    await alone.run('route explain m')
    expect(alone.said.err).toMatch(/no price[\s\S]*No lane is asked now/)
    expect(alone.said.err).not.toMatch(/No server/)
  })

  it('set spend caps, and take them away with none', async () => {
    const { asked, said, run } = fixture({ operations: { 'keys.caps': done({ ...key, caps: { day: '5.00' } }) } })
    expect(await run('keys caps key_1 --day 5.00 --month none')).toBe(0)
    expect(asked[0]?.args).toEqual({ key: 'key_1', day: '5.00', month: null })
    expect(said.out).toContain('may spend 5.00 USD a day.')
    const nothing = fixture()
    expect(await nothing.run('keys caps key_1')).toBe(2)
    expect(nothing.asked).toEqual([])
  })

  it('exit with 1 when refused, and with the given code when nobody could be asked', async () => {
    const refused = fixture({ operations: { 'wallet.show': { kind: 'refused', message: 'No such account.' } } })
    expect(await refused.run('wallet show x')).toBe(1)
    expect(refused.said).toEqual({ out: '', err: 'error: No such account.\n' })
    const locked = fixture({ operations: { 'wallet.show': { kind: 'unreachable', exit: 4, message: 'Locked.' } } })
    expect(await locked.run('wallet show x --json')).toBe(4)
    expect(locked.said.out).toBe('')
  })

  it('invite people by e-mail or account, and print nothing but the link as data', async () => {
    const invitation = {
      email: 'a@b.c',
      role: 'owner',
      resets: false,
      link: 'http://h/console/setup?code=X',
      code: 'X',
    }
    const { said, asked, run } = fixture({ operations: { 'people.invite': done(invitation) } })
    expect(await run('people invite a@b.c')).toBe(0)
    expect(await run('people invite acct_1 --role operator')).toBe(0)
    expect(await run('people invite a@b.c --account acct_1 --reset')).toBe(0)
    expect(asked.map(({ args }) => args)).toEqual([
      { role: 'owner', email: 'a@b.c' },
      { role: 'operator', account: 'acct_1' },
      { role: 'owner', email: 'a@b.c', account: 'acct_1', resets: true },
    ])
    expect(said.out).toBe('http://h/console/setup?code=X\n'.repeat(3))
    expect(await run('people invite a@b.c --role owner --json')).toBe(0)
    expect(said.out).toContain(JSON.stringify(invitation))
    expect(await run('people invite a@b.c --role boss')).toBe(2)
  })

  it('list people, disable and enable them', async () => {
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
    const { said, asked, run } = fixture({ operations })
    expect(await run('people list')).toBe(0)
    expect(said.out).toMatch(/usr_1 +a@b.c +operator +- +active +2026-11-22/)
    expect(said.out).not.toContain('\u001b')
    expect(said.out).toMatch(/acct_1 +disabled/)
    expect(await run('people list acct_1 --after j --limit 2')).toBe(0)
    expect(said.err).toContain('millrace people list acct_1 --limit 2 --after k')
    expect(await run('people disable a@b.c')).toBe(0)
    expect(await run('people enable usr_1')).toBe(0)
    expect(asked.map(({ name, args }) => [name, args])).toEqual([
      ['people.list', { limit: 50 }],
      ['people.list', { account: 'acct_1', after: 'j', limit: 2 }],
      ['people.disable', { person: 'a@b.c' }],
      ['people.enable', { person: 'usr_1' }],
    ])
    const nobody = fixture({ operations: { 'people.list': done({ items: [], next: null }) } })
    expect(await nobody.run('people list')).toBe(0)
    expect(nobody.said).toMatchObject({ out: '', err: expect.stringContaining('Nobody has signed up yet') })
  })

  it.each([
    ['people list', 'Nobody has signed up yet'],
    ['people list acct_1', 'Nobody signs in for that account'],
    ['people list --after k', 'There are no more.\n'],
    ['keys list', 'No keys yet'],
    ['keys list --account a@b.c', 'That account has no keys. To make one:  millrace keys create --account a@b.c '],
    ['keys list --after key_1', 'There are no more.\n'],
    ['accounts list --search x', 'No account has that'],
  ])('say of %s why nothing is in it', async (line, told) => {
    const nothing = done({ items: [], next: null })
    const { said, run } = fixture({
      operations: { 'people.list': nothing, 'keys.list': nothing, 'accounts.list': nothing },
    })
    expect(await run(line)).toBe(0)
    expect(said.out).toBe('')
    expect(said.err.startsWith(told)).toBe(true)
  })

  it('list accounts, keys and entries page by page, and say how to go on', async () => {
    const account = {
      ...{ id: 'acct_1', email: 'a@b.c', status: 'active', created_at: '2026-11-22T', plan: null, keys: 3, people: 0 },
      wallet: { balance: '5.00', held: '0.00', available: '5.00' },
    }
    const listed = { ...key, shown: 'mr_…', state: 'active', models: null, caps: {}, expires_at: null }
    const entry = { at: 't1', kind: 'credit', amount: '5.00', ref: 'r1', reason: 'paid' }
    const { asked, said, run } = fixture({
      operations: {
        'accounts.list': done({ items: [account], next: 'a1' }),
        'keys.list': done({ items: [listed], next: 'key_1' }),
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
    expect(said.out).toMatch(/acct_1 +a@b\.c +active +5\.00 +- +3 +2026-11-22/)
    expect(said.out).toMatch(/key_1 +ci +wallet/)
    expect(said.err.match(/millrace .*/g)).toEqual([
      'millrace accounts list --search a@ --limit 1 --after a1',
      'millrace keys list --account a@b.c --after key_1',
      'millrace wallet entries a@b.c --after e1',
    ])
  })

  it('exit with 1 when the books do not hold', async () => {
    const report = {
      ok: false,
      violations: 2,
      checks: [{ name: 'sums', violations: 2 }],
      frozen: ['acct_1'],
      accounts: 1,
      receipts: 1,
      transfers: 1,
    }
    const { said, run } = fixture({ operations: { 'db.verify': done(report) } })
    expect(await run('db verify --json')).toBe(1)
    expect(JSON.parse(said.out)).toEqual(report)
  })

  it('show a status without a server as no failure', async () => {
    const { said, run } = fixture({ operations: { status: done({ running: false, data: '/d' }) } })
    expect(await run('status')).toBe(0)
    expect(said.out).toBe('Not running.\n')
  })

  it('show a request as a person reads it', async () => {
    const trace = {
      id: 'req_1',
      account: { id: 'acct_1', email: 'a@b.c' },
      key: { id: 'key_1', name: 'ci' },
      kind: 'wallet',
      model: 'demo',
      state: 'settled',
      outcome: 'completed',
      opened_at: 't0',
      closed_at: 't1',
      first_byte_ms: 3,
      total_ms: 9,
      lane: 'demo/demo',
      tokens: { uncached_input: 5, cached_input: 2, cache_write: 0, output: 4, reasoning: 1, estimated: true },
      compaction: { tokens_before: 48_210, tokens_after: 2034 },
      price_version: 2,
      price: { input: '1.00', cached_input: '0.10', cache_write: '1.00', output: '5.00', per_request: '0.00' },
      paid_by: {
        kind: 'plan',
        plan: 'pro',
        windows: [{ name: '5h', start: 't0', end: 't2' }],
        caps: [{ name: 'day', start: 't0', end: 't2' }],
      },
      tier: 0,
      output_cap: 10,
      hold: '0.01',
      cost: '0.001',
      charge: '0.001',
      shortfall: '0.00',
      attempts: [{ lane: 'demo/demo', outcome: 'completed', status: 200, ms: 8 }],
    }
    const { said, run } = fixture({ operations: { 'requests.trace': done(trace) } })
    expect(await run('trace req_1')).toBe(0)
    expect(said.out).toContain('7 in (2 from the cache, 0 into it), 4 out (1 of them reasoning), estimated')
    expect(said.out).toMatch(/^compacted +48,210 → 2,034 tokens$/m)
    expect(said.out).toContain('0.001 USD')
    expect(said.out).not.toContain('shortfall')
    expect(said.out).toContain('1.00 in, 0.10 cached, 1.00 written, 5.00 out (version 2)')
    expect(said.out).toContain("plan pro, windows 5h from t0; counted against the key's cap of a day")
    expect(said.out).toContain('tried      outcome    status  ms')
    const other = fixture({ operations: { 'requests.trace': done({ ...trace, compaction: null }) } })
    await other.run('trace req_1')
    expect(other.said.out).not.toContain('compacted')
  })

  it('say on stderr what is wrong with a configuration, and exit with 2', async () => {
    const { said, run } = fixture()
    expect(await run('check --config bad.yaml')).toBe(2)
    expect(said).toEqual({ out: '', err: 'bad.yaml:1:1  wrong\n' })
    const json = fixture()
    expect(await json.run('check --config bad.yaml --json')).toBe(2)
    expect(JSON.parse(json.said.out)).toEqual({ ok: false })
  })
})

describe('what cannot be undone', () => {
  const operations = { 'keys.show': done(key), 'keys.revoke': done(key) }
  const acts = (asked: readonly { name: string }[]) => asked.map(({ name }) => name)

  it('asks for the name on a terminal', async () => {
    const right = fixture({ operations, answers: ['ci'] })
    expect(await right.run('keys revoke key_1')).toBe(0)
    expect(acts(right.asked)).toEqual(['keys.show', 'keys.revoke'])
    for (const answers of [['no'], []]) {
      const wrong = fixture({ operations, answers })
      expect(await wrong.run('keys revoke key_1')).toBe(1)
      expect(acts(wrong.asked)).toEqual(['keys.show'])
    }
  })

  it('needs --yes where nobody can be asked', async () => {
    const { asked, run } = fixture({ operations })
    expect(await run('keys revoke key_1')).toBe(2)
    expect(acts(asked)).toEqual(['keys.show'])
    expect(await run('keys revoke key_1 --yes --json')).toBe(0)
    expect(acts(asked).at(-1)).toBe('keys.revoke')
  })

  it('does not replace a configuration unless it is forced to', async () => {
    const { said, run } = fixture()
    expect(await run('init')).toBe(1)
    expect(said.err).toContain('--force')
    expect(await run('init --force --yes')).toBe(0)
  })
})
