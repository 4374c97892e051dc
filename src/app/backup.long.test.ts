import { spawnSync } from 'node:child_process'
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
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestTerminal } from '../../test/fixtures/cli/terminal.ts'
import { DIST } from '../../test/program/program.mjs'
import { openSqlite } from '../db/sqlite/open-sqlite.ts'
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
    ['below a file', () => join(folder, 'data', 'ledger.db', 'backup'), 'is a file'],
    ['inside another backup', () => join(kept, 'backup'), 'is a backup'],
    ['where a folder is, such as the mount point of a disk', () => place, 'one inside it'],
    ['where a file is', () => join(folder, 'data', 'ledger.db'), 'is a file'],
    [
      'where a symbolic link is',
      () => {
        symlinkSync(join(place, 'nowhere'), join(place, 'link'))
        return join(place, 'link')
      },
      'is a symbolic link',
    ],
    ['whose name is too long', () => join(place, 'x'.repeat(300)), 'its name is too long'],
  ])('refuses a target %s', async (_, to, message) => {
    const { exit, answer } = await run(`db backup --data ${join(folder, 'data')} --to ${to()}`)
    expect(exit).toBe(1)
    expect(answer.error.message).toContain(message)
  })

  it('is not opened as a data folder, which would change it', async () => {
    const to = copyOfBackup()
    const credit = 'wallet credit a@b.c 5 --reason r --ref s'
    for (const line of [
      'db verify',
      credit,
      'db backup --to again',
      'db move --to postgres://127.0.0.1:1/d',
      'serve',
    ]) {
      const { exit, answer } = await run(`${line} --data ${to}`)
      expect(exit, line).toBe(1)
      expect(answer.error.message).toContain(`${to} is a backup`)
    }
    expect((await run(`db restore --data restored --from ${to}`)).exit).toBe(0)
  })

  it.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
    'is refused before it begins when its disk has no room',
    async () => {
      // There is no room on the disk of the kernel.
      const { exit, answer } = await run(`db backup --data ${join(folder, 'data')} --to /proc/backup`)
      expect(exit).toBe(1)
      expect(answer.error.message).toMatch(/The disk of \/proc has 0 MiB left, and \d+ MiB are needed/)
    },
  )

  it('deletes what killed commands of this machine have left, and nothing else', async () => {
    const { pid } = spawnSync(process.execPath, ['--version'])
    const leave = (name: string, file = 'ledger.db') => {
      mkdirSync(join(place, name))
      writeFileSync(join(place, name, file), '')
    }
    const id = '0123456789ab'
    const kept = [
      `alive.partial-${hostname()}-${process.ppid}-${id}`,
      `elsewhere.partial-other-${hostname()}-${pid}-${id}`,
      `of-a-person.partial-${hostname()}-${pid}-${id}`,
      `not-ours.partial-${id}`,
    ]
    for (const name of kept) leave(name, name.startsWith('of-a-person') ? 'diary.txt' : 'ledger.db')
    leave(`killed.partial-${hostname()}-${pid}-${id}`)
    leave(`killed-in-a-container.partial-${hostname()}-${process.pid}-${id}`)
    writeFileSync(join(place, `file.partial-${hostname()}-${pid}-${id}`), '')
    const { exit } = await run(`db backup --data ${join(folder, 'data')} --to new/`)
    expect(exit).toBe(0)
    expect(readdirSync(place).sort()).toEqual([...kept, `file.partial-${hostname()}-${pid}-${id}`, 'new'].sort())
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

it.runIf(process.getuid?.() === 0)('says what another user may not read or write', () => {
  const open = join(place, 'open')
  mkdirSync(open, { mode: 0o777 })
  chmodSync(open, 0o777)
  chmodSync(place, 0o755)
  chmodSync(folder, 0o755)
  chmodSync(join(folder, 'data'), 0o700)
  for (const [words, message] of [
    [['db', 'backup', '--data', join(folder, 'data'), '--to', join(open, 'new')], 'data may not be read by this user'],
    [['db', 'backup', '--data', join(folder, 'data'), '--to', join(place, 'new')], 'this user may not write there'],
    [['db', 'restore', '--data', join(open, 'new'), '--from', kept], 'may not be read by this user (EACCES)'],
  ] as const) {
    const { stdout } = spawnSync(process.execPath, [join(DIST, 'app', 'main.js'), ...words, '--json'], {
      ...{ uid: 4242, gid: 4242, cwd: open, env: { HOME: open }, encoding: 'utf8' },
    })
    expect(JSON.parse(stdout).error).toMatchObject({ message: expect.stringContaining(message), exit_code: 1 })
  }
  expect(readdirSync(open)).toEqual([])
})

it.skipIf(process.getuid?.() === 0)('says that a backup may not be read', async () => {
  const to = copyOfBackup()
  chmodSync(join(to, 'backup.json'), 0o000)
  expect((await run(`db restore --data restored --from ${to}`)).answer.error.message).toContain('EACCES')
})

/** Takes a file out of the manifest. */
function listLess(to: string, name: string): void {
  const path = join(to, 'backup.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  manifest.files = manifest.files.filter((file: { name: string }) => file.name !== name)
  writeFileSync(path, JSON.stringify(manifest))
}

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
    ['a file that is missing', (to: string) => rmSync(join(to, 'content.db')), 'content.db is missing. Take another'],
    [
      'a key ring that is missing',
      (to: string) => rmSync(join(to, 'keyring.json')),
      'keyring.json is missing. Nothing starts without the key ring',
    ],
    [
      'a folder in the place of a file',
      (to: string) => {
        rmSync(join(to, 'content.db'))
        mkdirSync(join(to, 'content.db'))
      },
      'content.db is not what it was',
    ],
    [
      'a changed byte and the same size',
      (to: string) => {
        const bytes = readFileSync(join(to, 'ledger.db'))
        bytes[5000]! ^= 1
        writeFileSync(join(to, 'ledger.db'), bytes)
      },
      'ledger.db is not what it was',
    ],
    ['a manifest without ledger.db', (to: string) => listLess(to, 'ledger.db'), 'does not list ledger.db'],
    ['a manifest without its key ring', (to: string) => listLess(to, 'keyring.json'), 'does not list keyring.json'],
    ['no manifest', (to: string) => rmSync(join(to, 'backup.json')), 'it has no backup.json'],
    ['half a manifest', (to: string) => truncateSync(join(to, 'backup.json'), 40), 'is not the manifest'],
  ])('refuses a backup with %s, and leaves no ledger', async (_, damage, message) => {
    const to = copyOfBackup()
    damage(to)
    const { exit, answer } = await run(`db restore --data restored --from ${to}`)
    expect(exit).toBe(1)
    expect(answer.error.message).toContain(message)
    expect(existsSync(join(place, 'restored'))).toBe(false)
  })

  it('needs the key ring that is kept apart, and says so', async () => {
    const { to, report } = await backUp(' --without-key-ring')
    expect(report.key_ring).toBe('apart')
    expect(existsSync(join(to, 'keyring.json'))).toBe(false)
    const { answer } = await run(`db restore --data restored --from ${to}`)
    expect(answer.warnings).toEqual([expect.stringMatching(/keyring\.json is missing\. Nothing starts without it/)])
    expect(answer.next[0]).toContain(`The server had it in ${join(folder, 'data')}`)
    expect(answer.next.at(-1)).toMatch(/^Once the key ring is there: /)
    expect((await run('accounts list --data restored')).answer.error.message).toContain('keyring.json is missing')
  })

  it('takes a key ring that is there already, if it is that of the backup', async () => {
    const { to } = await backUp(' --without-key-ring')
    const ring = join(folder, 'data', 'keyring.json')
    for (const [data, from] of [
      ['whole', kept],
      ['apart', to],
    ] as const) {
      mkdirSync(join(place, data))
      cpSync(ring, join(place, data, 'keyring.json'))
      const { exit, answer } = await run(`db restore --data ${data} --from ${from}`)
      expect(exit, JSON.stringify(answer)).toBe(0)
      expect(answer.warnings.filter((warning: string) => warning.includes('key ring'))).toEqual([])
      expect(answer.next.at(-1)).toMatch(/^Then: /)
      expect((await run(`db verify --data ${data}`)).answer).toMatchObject({ ok: true, accounts: 1 })
    }
  })

  it('takes the key ring that is there in place of one that the backup has lost', async () => {
    const from = copyOfBackup()
    mkdirSync(join(place, 'restored'))
    cpSync(join(from, 'keyring.json'), join(place, 'restored', 'keyring.json'))
    rmSync(join(from, 'keyring.json'))
    expect((await run(`db restore --data restored --from ${from}`)).exit).toBe(0)
    expect((await run('db verify --data restored')).answer).toMatchObject({ ok: true, accounts: 1 })
  })

  it('refuses beside another key ring, which stays as it is', async () => {
    const { to } = await backUp(' --without-key-ring')
    mkdirSync(join(place, 'other'))
    await run('accounts create --email a@b.c --data other')
    mkdirSync(join(place, 'restored'))
    const path = join(place, 'restored', 'keyring.json')
    cpSync(join(place, 'other', 'keyring.json'), path)
    const before = readFileSync(path, 'utf8')
    for (const [from, message] of [
      [kept, 'Move it away'],
      [to, 'does not have the key that the ledger of this backup was begun with'],
    ] as const) {
      const { exit, answer } = await run(`db restore --data restored --from ${from}`)
      expect(exit).toBe(1)
      expect(answer.error.message).toContain(message)
      expect(readdirSync(join(place, 'restored'))).toEqual(['keyring.json'])
      expect(readFileSync(path, 'utf8')).toBe(before)
    }
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

describe('db restore that does not come to its end', { timeout: 240_000 }, () => {
  const KILLER = fileURLToPath(new URL('../../test/support/kill-at-call.mjs', import.meta.url))
  const left = () => (existsSync(join(place, 'restored')) ? readdirSync(join(place, 'restored')) : [])

  it('is repeated after a kill at each step, with one entry in the audit log', async () => {
    const { counts } = JSON.parse(readFileSync(join(kept, 'backup.json'), 'utf8'))
    const seen = new Set<string>()
    for (let step = 1; ; step++) {
      place = mkdtempSync(join(folder, 'killed-'))
      const from = copyOfBackup()
      const line = ['db', 'restore', '--data', 'restored', '--from', from]
      const child = spawnSync(process.execPath, ['--import', KILLER, join(DIST, 'app', 'main.js'), ...line], {
        ...{ cwd: place, env: { HOME: place, KILL_AT: String(step) } },
      })
      if (child.signal === null) {
        expect(child.status).toBe(0)
        break
      }
      const isPlaced = left().includes('ledger.db')
      const names = left().sort().join(' ')
      // Nothing starts on a part of it.
      if (names.includes('ledger.db.restoring') && !isPlaced && !seen.has(names))
        expect((await run('accounts create --email b@b.c --data restored')).answer.error.message).toContain(
          'db restore',
        )
      seen.add(names)
      const again = await run(`db restore --data restored --from ${from}`)
      if (isPlaced) expect(again.answer.error.message, `step ${step}`).toContain('has a ledger already')
      else expect(again.exit, `step ${step}: ${JSON.stringify(again.answer)}`).toBe(0)
      expect(left().sort()).toEqual(['content.db', 'keyring.json', 'ledger.db', 'settles.journal'])
      expect((await run('db verify --data restored')).answer, `step ${step}`).toMatchObject({
        ...{ ok: true, accounts: 1, audited: counts.audit_entries + 1 },
      })
    }
    // It was killed with each number of files in place.
    for (const placed of [['keyring.json'], ['keyring.json', 'settles.journal'], ['keyring.json', 'content.db']])
      expect([...seen].some((names) => placed.every((name) => names.split(' ').includes(name)))).toBe(true)
  })

  it('leaves nothing when it is refused between two files', async () => {
    mkdirSync(join(place, 'restored'))
    // Not seen by a look at what it points to.
    symlinkSync('nowhere', join(place, 'restored', 'content.db'))
    const { exit, answer } = await run(`db restore --data restored --from ${kept}`)
    expect(exit).toBe(1)
    expect(answer.error.message).toContain('overwrites nothing')
    expect(left()).toEqual(['content.db'])
  })

  it('does not take the log that a killed restore of another backup has left', async () => {
    mkdirSync(join(place, 'restored'))
    const path = join(place, 'other.db')
    const other = await openSqlite({ path })
    await other.atomic([{ sql: 'CREATE TABLE other (id INTEGER PRIMARY KEY) STRICT', rows: [[]] }])
    for (const companion of ['', '-wal'])
      cpSync(`${path}${companion}`, join(place, 'restored', `ledger.db.restoring${companion}`))
    await other.close()
    expect((await run(`db restore --data restored --from ${kept}`)).exit).toBe(0)
    expect((await run('db verify --data restored')).answer).toMatchObject({ ok: true, accounts: 1 })
  })

  it('waits for no other restore into the same folder, and leaves it alone', async () => {
    mkdirSync(join(place, 'restored'))
    const lock = await openSqlite({ path: join(place, 'restored', 'lock.restoring') })
    writeFileSync(join(place, 'restored', 'ledger.db.restoring'), 'of the other')
    const { exit, answer } = await run(`db restore --data restored --from ${kept}`)
    expect(exit).toBe(4)
    expect(answer.error.message).toContain('Another restore')
    expect(readFileSync(join(place, 'restored', 'ledger.db.restoring'), 'utf8')).toBe('of the other')
    await lock.close()
  })
})
