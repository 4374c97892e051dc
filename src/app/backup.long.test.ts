import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestTerminal } from '../../test/fixtures/cli/terminal.ts'
import { runMain } from './run-main.ts'

let folder: string
let place: string
let kept: string
let backups = 0

async function run(line: string, environment: Record<string, string> = {}) {
  const terminal = createTestTerminal()
  const process = { faults: { take: () => () => {} }, endServer() {} }
  const context = {
    environment: { HOME: folder, ...environment },
    cwd: place,
    program: 'millrace',
    terminal,
    ...process,
  }
  const exit = await runMain(context, [...line.split(' '), '--json'])
  return { exit, answer: JSON.parse(terminal.emitted.out), err: terminal.emitted.err }
}

/** A backup that tests may damage, of a ledger with one account and one credit. */
async function backUp(flags = '') {
  const to = join(folder, `backup-${++backups}`)
  const { exit, answer } = await run(`db backup --data ${join(folder, 'data')} --to ${to}${flags}`)
  expect(exit, JSON.stringify(answer)).toBe(0)
  return { to, report: answer }
}

/** For tests that damage it. */
function copyOfBackup(): string {
  const to = join(place, 'backup')
  cpSync(kept, to, { recursive: true })
  return to
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-backup-'))
  place = folder
  mkdirSync(join(folder, 'data'))
  await run(`accounts create --email a@b.c --data ${join(folder, 'data')}`)
  await run(`wallet credit a@b.c 5 --reason r --ref r --data ${join(folder, 'data')}`)
  kept = (await backUp()).to
})
afterAll(() => rmSync(folder, { recursive: true }))
beforeEach(() => {
  place = mkdtempSync(join(folder, 'place-'))
})

describe('db backup', () => {
  it('writes what a restored server needs, readable for its owner alone', async () => {
    const { to, report } = await backUp()
    expect(readdirSync(to).sort()).toEqual([
      'backup.json',
      'content.db',
      'keyring.json',
      'ledger.db',
      'settles.journal',
    ])
    expect(statSync(to).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(to)) expect(statSync(join(to, name)).mode & 0o077, name).toBe(0)
    expect(report).toMatchObject({
      folder: to,
      key_ring: 'file',
      counts: { accounts: 1, transfers: 1, open_requests: 0 },
    })
    const manifest = JSON.parse(readFileSync(join(to, 'backup.json'), 'utf8'))
    expect(manifest).toMatchObject({ format: 1, id: report.id, source: { data: join(folder, 'data') } })
    expect(manifest.files.map(({ name }: { name: string }) => name)).toEqual([
      ...['ledger.db', 'content.db', 'settles.journal', 'keyring.json'],
    ])
    expect(JSON.stringify(manifest)).not.toContain(
      JSON.parse(readFileSync(join(to, 'keyring.json'), 'utf8')).keys[0].secret,
    )
  })

  it('is told in the audit log, also in that of the copy', async () => {
    const before = (await run(`db verify --data ${join(folder, 'data')}`)).answer.audited
    const { report } = await backUp()
    expect(report.counts.audit_entries).toBe(before + 1)
  })

  it.each([
    ['inside the data folder', () => join(folder, 'data', 'backup'), 'inside the data folder'],
    ['below a folder that does not exist', () => join(folder, 'unmounted', 'backup'), 'does not exist'],
    ['where a folder with files is', () => join(folder, 'data'), 'is not empty'],
    ['where a file is', () => join(folder, 'data', 'ledger.db'), 'is a file'],
  ])('refuses a target %s', async (_, to, message) => {
    const { exit, answer } = await run(`db backup --data ${join(folder, 'data')} --to ${to()}`)
    expect(exit).toBe(1)
    expect(answer.error.message).toContain(message)
  })

  it('leaves nothing that looks like a backup when the files cannot be copied', async () => {
    const damaged = join(place, 'damaged')
    const to = copyOfBackup()
    await run(`db restore --data ${damaged} --from ${to}`)
    rmSync(join(damaged, 'keyring.json'))
    mkdirSync(join(damaged, 'keyring.json'))
    const { exit } = await run(`db backup --data ${damaged} --to ${join(place, 'new')}`)
    expect(exit).toBe(1)
    expect(readdirSync(place).sort()).toEqual(['backup', 'damaged'])
  })

  it('says with PostgreSQL what to do instead', async () => {
    writeFileSync(join(place, 'millrace.yaml'), 'storage: {database: "postgres://u:p@127.0.0.1:1/d"}\n')
    const { exit, answer } = await run('db backup --to new --config millrace.yaml')
    expect(exit).toBe(1)
    expect(answer.error.message).toContain('pg_basebackup')
  })
})

describe.skipIf(process.getuid?.() !== 0)('as root, for a service of another user', () => {
  const owners = (at: string) => new Set(['.', ...readdirSync(at)].map((name) => statSync(join(at, name)).uid))

  it('makes a backup and a data folder that this user can read', async () => {
    const to = copyOfBackup()
    chownSync(place, 4242, 4242)
    expect((await run(`db restore --data restored --from ${to}`)).exit).toBe(0)
    expect(owners(join(place, 'restored'))).toEqual(new Set([4242]))
    expect((await run(`db backup --data restored --to ${join(folder, 'of-other-user')}`)).exit).toBe(0)
    expect(owners(join(folder, 'of-other-user'))).toEqual(new Set([4242]))
  })
})

it.skipIf(process.getuid?.() === 0)('says that a backup may not be read', async () => {
  const to = copyOfBackup()
  chmodSync(join(to, 'backup.json'), 0o000)
  expect((await run(`db restore --data restored --from ${to}`)).answer.error.message).toContain('EACCES')
})

describe('db restore', () => {
  it('gives a ledger that balances, and is told in its audit log', async () => {
    const { to, report } = await backUp()
    const { exit, answer } = await run(`db restore --data restored --from ${to}`)
    expect(exit).toBe(0)
    expect(answer).toMatchObject({ id: report.id, taken_at: report.taken_at, warnings: [] })
    const verified = await run('db verify --data restored')
    expect(verified.answer).toMatchObject({
      ok: true,
      accounts: 1,
      transfers: 1,
      audited: report.counts.audit_entries + 1,
    })
    const wallet = await run('wallet show a@b.c --data restored')
    expect(wallet.answer).toMatchObject({ balance: '5.00' })
  })

  it('warns when the same backup was restored before', async () => {
    const to = copyOfBackup()
    await run(`db restore --data first --from ${to}`)
    const { answer } = await run(`db restore --data second --from ${to}`)
    expect(answer.warnings).toEqual([expect.stringContaining(join(place, 'first'))])
  })

  it('overwrites nothing', async () => {
    const to = copyOfBackup()
    await run(`db restore --data restored --from ${to}`)
    const before = readFileSync(join(place, 'restored', 'ledger.db'))
    const { exit, answer } = await run(`db restore --data restored --from ${to}`)
    expect(exit).toBe(1)
    expect(answer.error.message).toContain('overwrites nothing')
    expect(readFileSync(join(place, 'restored', 'ledger.db')).equals(before)).toBe(true)
  })

  it('overwrites nothing that a server has created while the files were copied', async () => {
    const to = copyOfBackup()
    const terminal = createTestTerminal()
    const created = join(place, 'restored', 'content.db')
    const context = {
      ...{
        environment: { HOME: folder },
        cwd: place,
        program: 'millrace',
        faults: { take: () => () => {} },
        endServer() {},
      },
      terminal: {
        ...terminal,
        err(text: string) {
          terminal.err(text)
          if (text.startsWith('Recording')) writeFileSync(created, 'of a server')
        },
      },
    }
    expect(await runMain(context, ['db', 'restore', '--data', 'restored', '--from', to])).toBe(1)
    expect(terminal.emitted.err).toContain('overwrites nothing')
    expect(readFileSync(created, 'utf8')).toBe('of a server')
    expect(readdirSync(join(place, 'restored'))).toEqual(['content.db'])
  })

  it.each([
    ['a changed byte', (to: string) => appendFileSync(join(to, 'content.db'), 'x'), 'content.db is not what it was'],
    [
      'a file that is cut off',
      (to: string) => truncateSync(join(to, 'ledger.db'), 4096),
      'ledger.db is not what it was',
    ],
    ['a file that is missing', (to: string) => rmSync(join(to, 'keyring.json')), 'keyring.json is missing'],
    ['no manifest', (to: string) => rmSync(join(to, 'backup.json')), 'it has no backup.json'],
    ['half a manifest', (to: string) => truncateSync(join(to, 'backup.json'), 40), 'is not the manifest'],
  ])('refuses a backup with %s, and leaves no ledger', async (_, damage, message) => {
    const to = copyOfBackup()
    damage(to)
    const { exit, answer } = await run(`db restore --data restored --from ${to}`)
    expect(exit).toBe(1)
    expect(answer.error.message).toContain(message)
    const left = existsSync(join(place, 'restored')) ? readdirSync(join(place, 'restored')) : []
    expect(left).toEqual([])
  })

  it('needs the key ring that is kept apart, and says so', async () => {
    const { to, report } = await backUp(' --without-key-ring')
    expect(report.key_ring).toBe('apart')
    expect(existsSync(join(to, 'keyring.json'))).toBe(false)
    const { answer } = await run(`db restore --data restored --from ${to}`)
    expect(answer.next[0]).toContain('keyring.json')
    expect((await run('accounts list --data restored')).answer.error.message).toContain('keyring.json is missing')
  })

  it('refuses where MILLRACE_SECRET_KEY could not read it', async () => {
    const to = copyOfBackup()
    const { exit, answer } = await run(`db restore --data restored --from ${to}`, {
      MILLRACE_SECRET_KEY: 'x'.repeat(40),
    })
    expect(exit).toBe(1)
    expect(answer.error.message).toContain('Unset it')
  })

  it('of a server with MILLRACE_SECRET_KEY needs the same secret', async () => {
    const secret = { MILLRACE_SECRET_KEY: 'a secret of more than thirty-two characters'.replaceAll(' ', '-') }
    mkdirSync(join(place, 'other'))
    await run('accounts create --email a@b.c --data other', secret)
    const { answer } = await run('db backup --data other --to kept', secret)
    expect(answer.key_ring).toBe('environment')
    expect((await run('db restore --data restored --from kept')).answer.error.message).toContain('is not set here')
    expect((await run('db restore --data restored --from kept', secret)).exit).toBe(0)
    expect((await run('db verify --data restored', secret)).answer).toMatchObject({ ok: true, accounts: 1 })
  })
})
