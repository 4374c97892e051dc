import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTestTerminal } from '../../test/fixtures/cli/terminal.ts'
import type { CliServices } from '../cli/cli-services.ts'
import { createProgram } from '../cli/create-program.ts'
import { runMain } from './run-main.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-no-data-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function run(line: string) {
  const terminal = createTestTerminal()
  const process = { faults: { take: () => () => {} }, endServer() {} }
  const context = { environment: { HOME: folder }, cwd: folder, program: 'millrace', terminal, ...process }
  const exit = await runMain(context, line.split(' '))
  return { exit, ...terminal.emitted }
}

/** A line for each command that needs a ledger. */
const NEEDS_LEDGER = [
  ...['accounts create --email a@b.c', 'accounts list', 'accounts show a', 'accounts suspend a', 'accounts activate a'],
  ...['credit', 'refund', 'adjust'].map((word) => `wallet ${word} a 5 --reason r --ref r`),
  ...['wallet show a', 'wallet entries a', 'wallet wishes'],
  ...['keys create --account a --kind wallet --name n', 'keys list', 'keys show k', 'keys revoke k --yes'],
  ...['keys disable k', 'keys enable k', 'keys rename k n', 'keys caps k --day 5', 'keys change k --name n'],
  ...['keys rotate k --grace 0', 'codes create 5', 'codes list', 'codes withdraw c', 'codes redeem c --account a'],
  ...['plans list', 'plans assign a p', 'plans end a', 'plans show a'],
  ...['payments list', 'payments reconcile'],
  ...['people invite a@b.c', 'people list', 'people disable a@b.c', 'people enable a@b.c', 'people unlink a@b.c'],
  'people remove-factors a@b.c',
  ...['people show a@b.c', 'people caps a@b.c --day 1', 'people raise a@b.c day 2 --until 1h'],
  ...['teams create n --account a', 'teams list a', 'teams show t', 'teams change t --name n'],
  ...['teams raise t day 2 --until 1h', 'keys raise k day 2 --until 1h', 'accounts new-key-caps a --day 1'],
  ...['managed list', 'managed retire model m', 'managed price m --call-off --from 1h', 'managed history model m'],
  'managed export',
  ...['notices list', 'notices low-balance a 5', 'webhooks list', 'webhooks add https://a.b', 'webhooks rotate w'],
  ...['webhooks enable w', 'webhooks disable w', 'webhooks remove w', 'webhooks test w', 'webhooks resend w d'],
  ...['webhooks deliveries w', 'mail test --to a@b.c'],
  ...[
    'route explain m',
    'models',
    'catalog',
    'trace req_1',
    'usage',
    'overview',
    'invoice a',
    'logs --follow',
    'top --once',
  ],
  ...[
    'accounts export',
    'admin-keys create --name n --scopes usage:read',
    'admin-keys list',
    'admin-keys revoke adm_x',
  ],
  ...['db clock', 'db verify', 'db backup --to b', 'db move --to postgres://h/d'],
]

/** These need no ledger, make one, or read their file first. `status` has a test of its own. */
const OTHERS = [
  'serve',
  'check',
  'init',
  'upstreams list',
  'upstreams test',
  'db restore',
  'status',
  'doctor',
  'gauge',
  'apply',
  'accounts import',
  'managed set',
  'managed preview',
]

const leavesOf = (command: Command, words: readonly string[] = []): string[] =>
  command.commands.length === 0
    ? [words.join(' ')]
    : command.commands
        .filter((each) => each.name() !== 'help')
        .flatMap((each) => leavesOf(each, [...words, each.name()]))

describe('a data folder that does not exist', () => {
  it.each(NEEDS_LEDGER)('is refused by: %s', async (line) => {
    const { exit, out, err } = await run(`${line} --data ${join(folder, 'mistyped')} --json`)
    const { error } = JSON.parse(out)
    expect(exit).toBe(1)
    expect(error).toMatchObject({ exit_code: 1 })
    expect(error.message).toContain('mistyped')
    expect(error.message).toContain('--data')
    expect(err).toBe('')
    expect(existsSync(join(folder, 'mistyped'))).toBe(false)
  })

  it('is refused by every command that needs a ledger', () => {
    const { program } = createProgram({ terminal: createTestTerminal() } as unknown as CliServices, { quiet: true })
    const covered = [...NEEDS_LEDGER, ...OTHERS]
    const missing = leavesOf(program).filter((leaf) => !covered.some((line) => `${line} `.startsWith(`${leaf} `)))
    expect(missing).toEqual([])
  })

  it.each(['', ' --json'])('is where status exits with 3%s', async (flag) => {
    const { exit, out } = await run(`status --data ${join(folder, 'mistyped')}${flag}`)
    expect(exit).toBe(3)
    expect(out).toMatch(flag === '' ? /Not running/ : /"running":false/)
  })
})

it('status exits with 3 when nothing runs, also with workers and with PostgreSQL', async () => {
  const config = join(folder, 'millrace.yaml')
  const storage = 'storage: {database: "postgres://user:secret@127.0.0.1:1/none"}'
  writeFileSync(config, `${storage}\nserver: {workers: 2}\nkey_ring: {secret_key: "${'k'.repeat(40)}"}\n`)
  const { exit, out } = await run(`status --config ${config} --data ${folder} --json`)
  expect(JSON.parse(out)).toMatchObject({ running: false })
  expect(exit).toBe(3)
})

describe('--json', () => {
  it.each([
    ['an unknown command', 'acounts list', 2],
    ['an unknown command of a family', 'accounts lst', 2],
    ['an unknown option', 'status --nope', 2],
    ['a missing option', 'accounts create', 2],
    ['a missing argument', 'accounts show', 2],
    ['a value that cannot be', 'serve --port x', 2],
    ['a family without a command', 'accounts', 2],
    ['an invalid configuration', 'accounts list --config bad.yaml', 2],
    ['an invalid configuration of a server', 'serve --config bad.yaml', 2],
    ['an invalid configuration of a restore', 'db restore --from . --config bad.yaml', 2],
    ['a folder that is no backup', 'db restore --from . --data new', 1],
    ['a configuration that is not there', 'status --config none.yaml', 2],
    ['a failure that was not expected', 'accounts list --data garbled', 1],
    ['a failure of a server', 'serve --data garbled', 1],
  ])('says as an object: %s', async (_, line, code) => {
    writeFileSync(join(folder, 'bad.yaml'), 'server: {port: many}\n')
    const garbled = join(folder, 'garbled')
    mkdirSync(garbled)
    writeFileSync(join(garbled, 'keyring.json'), 'garbage')
    const { exit, out, err } = await run(`${line} --json`)
    expect(JSON.parse(out)).toEqual({ error: { message: expect.stringMatching(/\S/), exit_code: code } })
    expect(exit).toBe(code)
    expect(err).toBe('')
  })
})
