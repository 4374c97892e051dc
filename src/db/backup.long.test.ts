import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { pause } from '../lib/async.ts'
import { applyLogs, copyOpenFiles, readLog } from './backup.ts'
import { openSqlite } from './sqlite/open-sqlite.ts'

const folders: string[] = []
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-backup-'))
  folders.push(folder)
  return folder
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const TABLE = 'CREATE TABLE steps (step INTEGER PRIMARY KEY, filler BLOB NOT NULL) STRICT'
const ADD = 'INSERT INTO steps (step, filler) VALUES (?, ?)'
const filler = Buffer.alloc(20_000, 7)

async function openTwo() {
  const from = newFolder()
  const [first, second] = await Promise.all(
    ['first.db', 'second.db'].map(async (name) => {
      const store = await openSqlite({ path: join(from, name) })
      await store.atomic([{ sql: TABLE, rows: [[]] }])
      return { name, path: join(from, name), store }
    }),
  )
  return {
    from,
    files: [first!, second!] as const,
    close: () => Promise.all([first!.store.close(), second!.store.close()]),
  }
}

const readSteps = async (folder: string, name: string) => {
  const file = await openSqlite({ path: join(folder, name) })
  try {
    const [check] = await file.all<{ integrity_check: string }>('PRAGMA integrity_check', [])
    expect(check?.integrity_check).toBe('ok')
    return (await file.all<{ step: number }>('SELECT step FROM steps ORDER BY step', [])).map(({ step }) => step)
  } finally {
    await file.close()
  }
}

it('copies two files that are written meanwhile as they are at one moment', async () => {
  const { from, files, close } = await openTwo()
  const into = newFolder()
  let step = 0
  let stopped = false
  // Each step is in the first file before it is sent to the second.
  const writing = (async () => {
    while (!stopped) {
      step += 1
      for (const { store } of files) await store.atomic([{ sql: ADD, rows: [[step, filler]] }])
    }
  })()
  while (step < 300) await pause(5)
  let atPoint = 0
  await copyOpenFiles({
    files,
    into,
    async atPoint() {
      atPoint = step
    },
  })
  const before = step
  while (step < before + 10) await pause(5)
  stopped = true
  await writing
  await close()

  const parts = { first: await applyLogs(into, 'first.db'), second: await applyLogs(into, 'second.db') }
  const [first, second] = [await readSteps(into, 'first.db'), await readSteps(into, 'second.db')]
  expect(parts.first).toBeGreaterThan(0)
  expect(first).toHaveLength(Math.max(...first))
  expect([atPoint - 1, atPoint]).toContain(first.length)
  expect([first.length - 1, first.length]).toContain(second.length)
  expect(readdirSync(into).sort()).toEqual(['first.db', 'second.db'])
  expect(readdirSync(from).sort()).toEqual(['first.db', 'second.db'])
})

/** The process that copies: the only child of this one. */
const copierPid = () => {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim()
  return children === '' ? undefined : Number(children.split(' ')[0])
}

it.skipIf(process.platform !== 'linux')(
  'writes on while the disk of the backup hangs, and gives the copy up',
  async () => {
    const { from, files, close } = await openTwo()
    const [{ store }] = files
    const into = newFolder()
    const copying = copyOpenFiles({ files, into, atPoint: async () => {}, stalledAfterMs: 1000 }).catch(
      (error: Error) => error,
    )
    while (copierPid() === undefined) await pause(1)
    process.kill(copierPid()!, 'SIGSTOP')
    for (let step = 1; step <= 5; step++) {
      await store.atomic([{ sql: ADD, rows: [[step, filler]] }])
      await store.all('PRAGMA wal_checkpoint(TRUNCATE)', [])
    }
    expect(await copying).toMatchObject({ message: expect.stringContaining('has taken nothing') })
    await store.atomic([{ sql: ADD, rows: [[6, filler]] }])
    await close()
    expect(await readSteps(from, 'first.db')).toHaveLength(6)
    expect(readdirSync(from).sort()).toEqual(['first.db', 'second.db'])
  },
)

it.skipIf(process.platform === 'win32')(
  'does not wait in the thread of a file for the disk of the backup',
  async () => {
    const { files, close } = await openTwo()
    const into = newFolder()
    // Opening it to write waits for a reader.
    execFileSync('mkfifo', [join(into, 'first.db.log-1')])
    const copying = copyOpenFiles({ files, into, atPoint: async () => {} }).catch((error: Error) => error)
    for (let step = 1; step <= 20; step++) {
      await files[0].store.atomic([{ sql: ADD, rows: [[step, filler]] }])
      await files[0].store.all('PRAGMA wal_checkpoint(TRUNCATE)', [])
    }
    expect(await copying).toMatchObject({ message: expect.stringContaining('first.db.log-1') })
    await close()
  },
)

it('gives a copy up when it is told to', async () => {
  const { from, files, close } = await openTwo()
  const stopping = new AbortController()
  const copying = copyOpenFiles({ files, into: newFolder(), atPoint: async () => {}, signal: stopping.signal })
  stopping.abort(new Error('The server stops.'))
  await expect(copying).rejects.toThrow('The server stops.')
  expect((await files[0].store.all('PRAGMA wal_autocheckpoint', []))[0]).toEqual({ wal_autocheckpoint: 1000 })
  await close()
  expect(readdirSync(from).sort()).toEqual(['first.db', 'second.db'])
})

it('archives what a checkpoint of another caller takes out of the log', async () => {
  const { files, close } = await openTwo()
  const [{ store }] = files
  const into = newFolder()
  await store.atomic([{ sql: ADD, rows: [[1, filler]] }])
  const copying = copyOpenFiles({ files, into, atPoint: async () => {} })
  for (let step = 2; step <= 20; step++) {
    await store.atomic([{ sql: ADD, rows: [[step, filler]] }])
    await store.all('PRAGMA wal_checkpoint(TRUNCATE)', [])
  }
  await copying
  await close()
  await applyLogs(into, 'first.db')
  const steps = await readSteps(into, 'first.db')
  expect(steps).toEqual(steps.map((_, index) => index + 1))
})

it('empties the log again by itself after a copy, and after one that fails', async () => {
  const { files, close } = await openTwo()
  const [{ store }] = files
  const pagesInLogMax = async () => (await store.all('PRAGMA wal_autocheckpoint', []))[0]
  await expect(
    copyOpenFiles({ files, into: newFolder(), atPoint: () => Promise.reject(new Error('no')) }),
  ).rejects.toThrow('no')
  expect(await pagesInLogMax()).toEqual({ wal_autocheckpoint: 1000 })
  const into = newFolder()
  writeFileSync(join(into, 'second.db'), 'in the way')
  await expect(copyOpenFiles({ files, into, atPoint: async () => {} })).rejects.toThrow(
    /could not be copied.*second\.db/,
  )
  expect(await pagesInLogMax()).toEqual({ wal_autocheckpoint: 1000 })
  await close()
})

it('fails when a log cannot be archived, and the file goes on', async () => {
  const { from, files, close } = await openTwo()
  const [{ store }] = files
  await store.archiveLog!({ kind: 'begin', into: join(from, 'no-such-folder', 'log-') })
  await store.atomic([{ sql: ADD, rows: [[1, filler]] }])
  await store.all('PRAGMA wal_checkpoint(TRUNCATE)', [])
  await expect(store.archiveLog!({ kind: 'cut' })).rejects.toThrow('ENOENT')
  await store.archiveLog!({ kind: 'end' })
  await store.atomic([{ sql: ADD, rows: [[2, filler]] }])
  await close()
  expect(await readSteps(from, 'first.db')).toEqual([1, 2])
})

it('archives nothing of a large write that was rolled back', async () => {
  const { from, files, close } = await openTwo()
  const [{ store }] = files
  const rows = Array.from({ length: 400 }, (_, index) => [index + 100, filler])
  // More than fits into the memory of SQLite, so that it is in the log already when the last row fails.
  const fail = () => expect(store.atomic([{ sql: ADD, rows: [...rows, [100, filler]] }])).rejects.toThrow('UNIQUE')
  await store.archiveLog!({ kind: 'begin', into: join(from, 'log-') })
  await store.atomic([{ sql: ADD, rows: [[1, filler]] }])
  await fail()
  expect(statSync(join(from, 'first.db-wal')).size).toBeGreaterThan(1024 * 1024)
  expect(await store.archiveLog!({ kind: 'cut' })).toBe(1)
  expect(readLog(readFileSync(join(from, 'log-1')), 'it').pages.length).toBeLessThan(20)
  await fail()
  expect(await store.archiveLog!({ kind: 'cut' })).toBe(1)
  expect(readdirSync(from)).not.toContain('log-2')
  await close()
  expect(await readSteps(from, 'first.db')).toEqual([1])
})

it('refuses a log with a changed byte, with a cut frame, and one that ends within a commit', async () => {
  const { files, close } = await openTwo()
  const [{ store, path }] = files
  await store.all('PRAGMA wal_checkpoint(TRUNCATE)', [])
  await store.atomic([{ sql: ADD, rows: [[1, filler]] }])
  const log = readFileSync(`${path}-wal`)
  await close()
  expect(readLog(log, 'it').pages.length).toBeGreaterThan(4)
  const changed = Buffer.from(log)
  changed[changed.length - 1]! ^= 1
  const pageBytes = log.readUInt32BE(8)
  for (const broken of [
    changed,
    log.subarray(0, -1),
    log.subarray(0, -(24 + pageBytes)),
    log.subarray(0, 20),
    Buffer.alloc(100),
  ])
    expect(() => readLog(broken, 'it')).toThrow('it is not a whole log')
})
