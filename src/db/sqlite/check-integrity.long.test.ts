import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SqlStore } from '../sql-store.ts'
import { checkIntegrity } from './check-integrity.ts'
import { isDamage } from './failure.ts'
import { openSqlite } from './open-sqlite.ts'

const PAGE = 4096
const [INTERIOR_TABLE, LEAF_TABLE, LEAF_INDEX] = [5, 13, 10]

let folder: string
let sound: Buffer
const roots: Record<string, number> = {}

/** Tables with and without row numbers, indexes of two columns, long values on pages of their own, and pages that are free. */
async function fill(file: SqlStore): Promise<void> {
  const list = Array.from({ length: 3000 }, (_, at) => at)
  await file.atomic([
    {
      sql: 'CREATE TABLE t (row INTEGER PRIMARY KEY, name TEXT NOT NULL, n INTEGER NOT NULL, body BLOB) STRICT',
      rows: [[]],
    },
    { sql: 'CREATE UNIQUE INDEX t_by_name ON t (name)', rows: [[]] },
    { sql: 'CREATE INDEX t_by_n ON t (n)', rows: [[]] },
    { sql: 'CREATE TABLE w (key TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID', rows: [[]] },
    { sql: 'CREATE TABLE gone (row INTEGER PRIMARY KEY, body BLOB) STRICT', rows: [[]] },
    {
      sql: 'INSERT INTO t VALUES (?, ?, ?, ?)',
      rows: list.map((at) => [at + 1, `name of ${at}`, at % 97, at % 100 === 0 ? Buffer.alloc(20_000, at) : null]),
    },
    { sql: 'INSERT INTO w VALUES (?, ?)', rows: list.map((at) => [`key ${at}`, at]) },
    { sql: 'INSERT INTO gone VALUES (?, ?)', rows: list.slice(0, 100).map((at) => [at, Buffer.alloc(3000, 1)]) },
  ])
  await file.atomic([{ sql: 'DROP TABLE gone', rows: [[]] }])
  for (const row of await file.all('SELECT name, rootpage FROM sqlite_master', [])) {
    roots[String(row.name)] = Number(row.rootpage)
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-damage-'))
  const path = join(folder, 'sound.db')
  const file = await openSqlite({ path })
  await fill(file)
  await file.close()
  sound = readFileSync(path)
})
afterAll(() => rmSync(folder, { recursive: true }))

const pageOf = (bytes: Buffer, page: number) => bytes.subarray((page - 1) * PAGE, page * PAGE)

/** The first leaf under a root. */
function leafOf(bytes: Buffer, root: number): number {
  const page = pageOf(bytes, root)
  const kind = page[0]!
  if (kind === LEAF_TABLE || kind === LEAF_INDEX) return root
  const first = page.readUInt16BE(12)
  return leafOf(bytes, page.readUInt32BE(first))
}
const table = (bytes: Buffer) => leafOf(bytes, roots.t!)
const index = (bytes: Buffer) => leafOf(bytes, roots.t_by_name!)
/** Where the cell of a leaf begins. */
const cellOf = (page: Buffer, at: number) => page.readUInt16BE(8 + 2 * at)
const freeTrunk = (bytes: Buffer) => bytes.readUInt32BE(32)

const KINDS: Readonly<Record<string, (bytes: Buffer) => Buffer | undefined>> = {
  'the first word of the file': (bytes) => void bytes.write('s', 0),
  'the size of a page': (bytes) => void bytes.writeUInt16BE(12_345, 16),
  'the count of free pages': (bytes) => void bytes.writeUInt32BE(bytes.readUInt32BE(36) + 3, 36),
  'where the free pages begin': (bytes) => void bytes.writeUInt32BE(0x7fff_ffff, 32),
  'a free page that is in use': (bytes) => void pageOf(bytes, freeTrunk(bytes)).writeUInt32BE(roots.t!, 8),
  'the next list of free pages': (bytes) => void pageOf(bytes, freeTrunk(bytes)).writeUInt32BE(freeTrunk(bytes), 0),
  'the kind of a leaf of a table': (bytes) => void pageOf(bytes, table(bytes)).writeUInt8(99),
  'the kind of a leaf of an index': (bytes) => void pageOf(bytes, index(bytes)).writeUInt8(LEAF_TABLE),
  'the kind of an interior page': (bytes) => void pageOf(bytes, roots.t!).writeUInt8(LEAF_INDEX),
  'the count of cells': (bytes) => void pageOf(bytes, table(bytes)).writeUInt16BE(3, 3),
  'where a cell stands': (bytes) => void pageOf(bytes, table(bytes)).writeUInt16BE(5, 8),
  'where the free room begins': (bytes) => void pageOf(bytes, table(bytes)).writeUInt16BE(4090, 1),
  'a page of a table that is all zeros': (bytes) => void pageOf(bytes, table(bytes)).fill(0),
  'a page of an index that is all zeros': (bytes) => void pageOf(bytes, index(bytes)).fill(0),
  'a page of noise': (bytes) => void pageOf(bytes, table(bytes)).fill('noise'),
  'two pages that are swapped': (bytes) => {
    const [one, two] = [pageOf(bytes, table(bytes)), pageOf(bytes, leafOf(bytes, roots.w!))]
    const kept = Buffer.from(one)
    two.copy(one)
    kept.copy(two)
    return undefined
  },
  'a file without its last pages': (bytes) => bytes.subarray(0, -3 * PAGE),
  'a file that ends inside a page': (bytes) => bytes.subarray(0, 40 * PAGE + 100),
  'a row that was changed without its index': (bytes) => {
    const page = pageOf(bytes, table(bytes))
    page.write('N', page.indexOf('name of'))
    return undefined
  },
  'an entry of an index that names another row': (bytes) => {
    const page = pageOf(bytes, index(bytes))
    // In the room of a cell, not of one that was moved elsewhere.
    const at = page.indexOf('name of', cellOf(page, 4))
    page.write('Name', at)
    return undefined
  },
  'a number that was changed without its index': (bytes) => {
    const page = pageOf(bytes, table(bytes))
    page[page.indexOf('name of 5') + 'name of 5'.length]! ^= 1
    return undefined
  },
  'a row number out of order': (bytes) => {
    const page = pageOf(bytes, table(bytes))
    page[cellOf(page, 3) + 1] = 1
    return undefined
  },
  'the pages of a long value': (bytes) => {
    const at = bytes.indexOf(Buffer.alloc(500, 100))
    bytes.writeUInt32BE(roots.t!, Math.floor(at / PAGE) * PAGE)
    return undefined
  },
  'a text that is no text': (bytes) => {
    const page = pageOf(bytes, table(bytes))
    const leaf = pageOf(bytes, index(bytes))
    for (const each of [page, leaf]) each[each.indexOf('name of 1') + 2] = 0xff
    return undefined
  },
  'a text that is of another type': (bytes) => {
    const page = pageOf(bytes, table(bytes))
    // Length and row take a byte each; then the head: its size, the row, the name.
    page[cellOf(page, 5) + 4]! -= 1
    return undefined
  },
  'the root of a table': (bytes) => {
    const at = bytes.subarray(0, PAGE).indexOf('CREATE TABLE t (')
    bytes[at - 1] = 1
    return undefined
  },
}

/** What is found, or that the file could not even be opened. */
async function findingsOf(bytes: Buffer): Promise<readonly string[]> {
  const path = join(folder, 'damaged.db')
  rmSync(path, { force: true })
  writeFileSync(path, bytes)
  let file: SqlStore | undefined
  try {
    file = await openSqlite({ path })
    const report = await checkIntegrity(file, path)
    return report.kind === 'checked' ? report.findings : ['given up']
  } catch (error) {
    expect(isDamage(error), String(error)).toBe(true)
    return [`not opened: ${(error as Error).message}`]
  } finally {
    await file?.close().catch(() => {})
    for (const log of ['-wal', '-journal']) rmSync(`${path}${log}`, { force: true })
  }
}

describe('the check of a database file', () => {
  it('finds nothing in a sound one', async () => {
    expect(await findingsOf(Buffer.from(sound))).toEqual([])
    expect(pageOf(sound, roots.t!)[0]).toBe(INTERIOR_TABLE)
  })

  it.each(Object.keys(KINDS))('finds damage: %s', async (kind) => {
    const bytes = Buffer.from(sound)
    const damaged = KINDS[kind]!(bytes) ?? bytes
    expect(damaged.equals(sound), 'nothing was damaged').toBe(false)
    expect(await findingsOf(damaged)).not.toEqual([])
  })

  it('sees what is only in the write-ahead log yet, and lets others write meanwhile', async () => {
    const path = join(folder, 'busy.db')
    copyFileSync(join(folder, 'sound.db'), path)
    const file = await openSqlite({ path })
    await file.atomic([{ sql: "UPDATE t SET name = CAST(x'ff' AS TEXT) WHERE row = 7", rows: [[]] }])
    let isDone = false
    const checking = checkIntegrity(file, path).finally(() => {
      isDone = true
    })
    let writes = 0
    while (!isDone) {
      await file.atomic([{ sql: 'UPDATE t SET n = n + 1 WHERE row = 9', rows: [[]] }])
      writes += 1
    }
    expect(await checking).toEqual({ kind: 'checked', findings: ['1 texts in t.name are not UTF-8'] })
    expect(writes).toBeGreaterThan(3)
    expect(await file.all('PRAGMA wal_autocheckpoint', [])).toEqual([{ wal_autocheckpoint: 1000 }])
    await file.close()
  })
})

it('a text that is not UTF-8 fails its query and does not end the process', async () => {
  const path = join(folder, 'text.db')
  const file = await openSqlite({ path })
  await file.atomic([
    { sql: 'CREATE TABLE t (row INTEGER PRIMARY KEY, name TEXT NOT NULL, body BLOB) STRICT', rows: [[]] },
    {
      sql: "INSERT INTO t VALUES (1, 'plain', x'ff'), (2, 'fünf ✓', NULL), (3, CAST(x'66ff' AS TEXT), NULL)",
      rows: [[]],
    },
  ])
  const names = (where: string) =>
    file.all(`SELECT row AS row, name AS name, body FROM t WHERE ${where} ORDER BY row DESC`, [])
  expect(await names('row < 3')).toEqual([
    { row: 2, name: 'fünf ✓', body: null },
    { row: 1, name: 'plain', body: new Uint8Array([255]) },
  ])
  // Node's own SQLite reads such a text with a sign in place of what it cannot read.
  const broken = await names('row = 3').catch((error: unknown) => error)
  if (file.driver.startsWith('libsql')) expect(isDamage(broken)).toBe(true)
  else expect(broken).toEqual([{ row: 3, name: 'f\ufffd', body: null }])
  expect(await names('row = 1')).toHaveLength(1)
  await file.close()
})
