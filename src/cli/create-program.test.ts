import { describe, expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

describe('the command line', () => {
  it.each(['', '--port 4700', '--data d -c f.yaml', 'serve'])('starts the server with %j', async (line) => {
    const { served, run } = commandLine()
    expect(await run(line)).toBe(0)
    expect(served).toHaveLength(1)
  })

  it('hands the options of the server over', async () => {
    const { served, run } = commandLine()
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
      const { asked, emitted, run } = commandLine({ operations: { 'accounts.list': done({ items: [], next: null }) } })
      expect(await run(line)).toBe(0)
      expect(asked[0]).toMatchObject({ name: 'accounts.list', data: 'd' })
      expect(JSON.parse(emitted.out)).toEqual({ items: [], next: null })
    }
  })

  it('suggests the nearest command and exits with 2', async () => {
    for (const [line, word] of [
      ['acounts list', 'accounts'],
      ['keys creat', 'create'],
      ['stats', 'status'],
    ] as const) {
      const { emitted, run } = commandLine()
      expect(await run(line)).toBe(2)
      expect(emitted.err).toContain(word)
      expect(emitted.out).toBe('')
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
    const { asked, served, run } = commandLine()
    expect(await run(line)).toBe(2)
    expect([...asked, ...served]).toEqual([])
  })

  it('helps on stdout', async () => {
    for (const line of ['--help', '-h', 'help', 'keys --help', 'help keys', 'wallet credit -h']) {
      const { emitted, run, served } = commandLine()
      expect(await run(line)).toBe(0)
      expect(emitted.out).toContain('Usage: millrace')
      expect(served).toEqual([])
    }
  })

  it('says its version, with --json also what it stands on', async () => {
    const { emitted, run } = commandLine()
    expect(await run('-V')).toBe(0)
    expect(emitted.out).toBe('1.2.3\n')
    const second = commandLine()
    await second.run('--version --json')
    expect(JSON.parse(second.emitted.out)).toEqual({
      millrace: '1.2.3',
      node: '20.20.2',
      driver: 'libsql 3',
      schema: '0001',
    })
  })
})

describe('a command', () => {
  it('exits with 1 when refused, and with the given code when the operation did not run', async () => {
    const refused = commandLine({ operations: { 'wallet.show': { kind: 'refused', message: 'No such account.' } } })
    expect(await refused.run('wallet show x')).toBe(1)
    expect(refused.emitted).toEqual({ out: '', err: 'error: No such account.\n' })
    const locked = commandLine({ operations: { 'wallet.show': { kind: 'unreachable', exit: 4, message: 'Locked.' } } })
    expect(await locked.run('wallet show x --json')).toBe(4)
    expect([JSON.parse(locked.emitted.out), locked.emitted.err]).toEqual([
      { error: { message: 'Locked.', exit_code: 4 } },
      '',
    ])
  })

  it('exits with 1 when the books do not hold', async () => {
    const report = {
      ok: false,
      violations: 2,
      checks: [{ name: 'sums', violations: 2 }],
      frozen: ['acct_1'],
      damage: [],
      accounts: 1,
      receipts: 1,
      transfers: 1,
    }
    const { emitted, run } = commandLine({ operations: { 'db.verify': done(report) } })
    expect(await run('db verify --json')).toBe(1)
    expect(JSON.parse(emitted.out)).toEqual(report)
  })

  it('reports usage errors as JSON with --json', async () => {
    for (const line of ['wallet show --json', '--json keys creat', 'wallet show x --nonsense --json']) {
      const { emitted, run } = commandLine()
      expect(await run(line)).toBe(2)
      expect([JSON.parse(emitted.out), emitted.err]).toMatchObject([
        { error: { exit_code: 2, message: expect.any(String) } },
        '',
      ])
    }
  })

  it('exits with 3 for a status without a server', async () => {
    const { emitted, run } = commandLine({ operations: { status: done({ running: false, data: '/d' }) } })
    expect(await run('status')).toBe(3)
    expect(emitted.out).toBe('Not running.\n')
  })

  it('shows on one line why a reload was rejected', async () => {
    const value = {
      running: true,
      reload_refused: 'a.yaml:1:1  wrong\n   Did you mean b?',
      url: 'http://a',
      clock: { state: 'together' },
    }
    const { emitted, run } = commandLine({ operations: { status: done(value) } })
    await run('status')
    expect(emitted.out).toContain('the file on disk was rejected: a.yaml:1:1  wrong; Did you mean b?\n')
  })

  it('asks whether an empty data folder is the right one', async () => {
    const value = { running: false, data: '/d', has_ledger: false }
    const { emitted, run } = commandLine({ operations: { status: done(value) } })
    await run('status')
    expect(emitted.err).toContain('Data folder: /d, which has no Millrace data: is it the right one?')
  })

  it('prints commands ready to paste, with the options of this one', async () => {
    const operations = {
      'accounts.create': done({ id: 'acct_1', email: 'a@b.c' }),
      'keys.show': { kind: 'refused', message: 'There is no key. See: millrace keys list' },
    } as const
    const { emitted, run } = commandLine({ operations, program: 'node /x/main.js' })
    await run("accounts create --email a@b.c --data it's --config c.yaml")
    expect(emitted.err).toContain(`  node /x/main.js --config c.yaml --data 'it'\\''s' wallet credit a@b.c 10.00 `)
    await run('keys show key_1')
    expect(emitted.err).toContain('See: node /x/main.js keys list\n')
  })

  it('reports configuration errors on stderr, and exits with 2', async () => {
    const { emitted, run } = commandLine()
    expect(await run('check --config bad.yaml')).toBe(2)
    expect(emitted).toEqual({ out: '', err: 'bad.yaml:1:1  wrong\n' })
    const json = commandLine()
    expect(await json.run('check --config bad.yaml --json')).toBe(2)
    expect(JSON.parse(json.emitted.out)).toEqual({ ok: false })
  })

  it('writes a configuration after a confirmation at the terminal', async () => {
    for (const answers of [['n'], ['No '], []]) {
      const { emitted, run } = commandLine({ answers })
      expect(await run('init --force')).toBe(1)
      expect(emitted).toEqual({ out: '', err: 'Write millrace.yaml? [Y/n] error: Nothing was written.\n' })
    }
    for (const answers of [[''], ['y']]) {
      const { emitted, run } = commandLine({ answers })
      expect(await run('init own.yaml --force')).toBe(0)
      expect(emitted.out).toBe('Wrote own.yaml\n')
    }
  })

  it('replaces a configuration only with --force', async () => {
    const { emitted, run } = commandLine()
    expect(await run('init')).toBe(1)
    expect(emitted.err).toContain('--force')
    expect(await run('init --force --yes')).toBe(0)
  })
})
