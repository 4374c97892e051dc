import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SqlFailure, type SqlValue } from '../sql-store.ts'
import { openDriver, type SqliteDriver } from './connection.ts'
import { DatabaseLocked } from './failure.ts'

let folder: string
let driver: SqliteDriver

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-driver-'))
  driver = openDriver({ path: join(folder, 'test.db'), synchronous: 'full' })
})

afterEach(() => {
  driver.close()
  rmSync(folder, { recursive: true })
})

const pragma = (name: string) => Object.values(driver.all(`PRAGMA ${name}`, [])[0] ?? {})[0]

describe('how the file is opened', () => {
  it('is exclusive, durable and keeps its foreign keys', () => {
    expect(pragma('locking_mode')).toBe('exclusive')
    expect(pragma('journal_mode')).toBe('wal')
    expect(pragma('synchronous')).toBe(2)
    expect(pragma('foreign_keys')).toBe(1)
    expect(driver.name).toMatch(/^(libsql|node:sqlite) 3\.\d+\.\d+$/)
  })

  it('refuses a second connection of the same process', () => {
    expect(() => openDriver({ path: join(folder, 'test.db'), synchronous: 'full' })).toThrow(DatabaseLocked)
    driver.run('CREATE TABLE still_mine (x INTEGER) STRICT', [])
  })

  it('lets go of the file when it is closed, although statements were prepared', () => {
    driver.all('SELECT 1 AS one', [])
    driver.close()
    driver = openDriver({ path: join(folder, 'test.db'), synchronous: 'normal' })
    expect(pragma('synchronous')).toBe(1)
  })

  it('says what it is when the file is no database', () => {
    expect(() => openDriver({ path: folder, synchronous: 'full' })).toThrow(SqlFailure)
  })
})

describe('values', () => {
  const echo = (value: unknown, name = 'x') =>
    driver.all(`SELECT v AS ${name}, typeof(v) AS type FROM (SELECT ?1 AS v)`, [value as SqlValue])

  it('stores whole numbers as integers and reads them back as numbers', () => {
    for (const value of [0, 1, -1, 2 ** 40, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
      expect(echo(value)).toEqual([{ x: value, type: 'integer' }])
    }
  })

  it('reads a column that ends in _nano as bigint, to the ends of 64 bits', () => {
    for (const value of [0n, 5n, 2n ** 63n - 1n, -(2n ** 63n)]) {
      expect(echo(value, 'charge_nano')).toEqual([{ charge_nano: value, type: 'integer' }])
    }
  })

  it('throws rather than reads an integer that a number cannot hold', () => {
    expect(() => echo(2n ** 53n)).toThrow(/x is 9007199254740992/)
  })

  it('keeps null, fractions, texts and bytes apart', () => {
    const bytes = Buffer.from('a pool slice').subarray(2, 6)
    expect(echo(null)).toEqual([{ x: null, type: 'null' }])
    expect(echo(1.5)).toEqual([{ x: 1.5, type: 'real' }])
    expect(echo('')).toEqual([{ x: '', type: 'text' }])
    expect(echo('grün 🌊')).toEqual([{ x: 'grün 🌊', type: 'text' }])
    const [row] = echo(bytes)
    expect(row?.x).toBeInstanceOf(Uint8Array)
    expect(Buffer.from(row?.x as Uint8Array)).toEqual(bytes)
    // However the nothing came about: bytes that have come from another thread have no memory of their own.
    for (const nothing of [new Uint8Array(), Buffer.alloc(0), structuredClone(Buffer.allocUnsafe(0))]) {
      expect(echo(nothing)[0]?.type).toBe('blob')
    }
  })

  it('refuses what the two libraries would store differently, or die of', () => {
    for (const value of [
      undefined,
      true,
      {},
      [],
      Number.NaN,
      Number.POSITIVE_INFINITY,
      2 ** 60,
      'cut\0off',
      2n ** 63n,
    ]) {
      expect(() => echo(value)).toThrow()
    }
    expect(echo(1)).toHaveLength(1)
  })

  it('refuses too few and too many parameters, which libsql would fill with old values', () => {
    driver.run('CREATE TABLE pairs (a INTEGER, b TEXT) STRICT', [])
    const sql = "INSERT INTO pairs VALUES (?, ? || '?') -- why?"
    expect(driver.run(sql, [1, 'one'])).toBe(1)
    expect(() => driver.run(sql, [2])).toThrow(/2 parameters expected, 1 given/)
    expect(() => driver.run(sql, [2, 'two', 3])).toThrow(/2 parameters expected, 3 given/)
    expect(driver.all('SELECT * FROM pairs', [])).toEqual([{ a: 1, b: 'one?' }])
  })
})

describe('statements', () => {
  beforeEach(() =>
    driver.run('CREATE TABLE rows (id INTEGER PRIMARY KEY, n INTEGER CHECK (n > 0), u TEXT UNIQUE) STRICT', []),
  )

  it('count what they changed', () => {
    expect(driver.run('INSERT INTO rows VALUES (1, 1, ?), (2, 2, ?)', ['a', 'b'])).toBe(2)
    expect(driver.run('UPDATE rows SET n = 5', [])).toBe(2)
    expect(driver.run('UPDATE rows SET n = 5 WHERE id = ?', [77])).toBe(0)
  })

  it('name the constraint that refused, the same on every Node', () => {
    const codeOf = (work: () => unknown) => {
      try {
        work()
      } catch (error) {
        return (error as SqlFailure).code
      }
      return 'nothing'
    }
    driver.run("INSERT INTO rows VALUES (1, 1, 'a')", [])
    expect(codeOf(() => driver.run("INSERT INTO rows VALUES (1, 1, 'b')", []))).toBe('SQLITE_CONSTRAINT_PRIMARYKEY')
    expect(codeOf(() => driver.run("INSERT INTO rows VALUES (2, 1, 'a')", []))).toBe('SQLITE_CONSTRAINT_UNIQUE')
    expect(codeOf(() => driver.run("INSERT INTO rows VALUES (2, 0, 'c')", []))).toBe('SQLITE_CONSTRAINT_CHECK')
    expect(codeOf(() => driver.run("INSERT INTO rows VALUES (2, 1.5, 'c')", []))).toBe('SQLITE_CONSTRAINT_DATATYPE')
    expect(codeOf(() => driver.run('SELEC', []))).toBe('SQLITE_1')
    expect(driver.run("INSERT INTO rows VALUES (2, 2, 'b')", [])).toBe(1)
  })

  it('that return rows are run to their end all the same', () => {
    const sql = 'INSERT INTO rows VALUES (?, 1, NULL), (?, 1, NULL) RETURNING id'
    expect(driver.all(sql, [8, 9])).toEqual([{ id: 8 }, { id: 9 }])
    driver.run('BEGIN IMMEDIATE', [])
    expect(driver.run(sql, [10, 11])).toBe(2)
    driver.run('COMMIT', [])
    expect(driver.all('SELECT count(*) AS n FROM rows', [])).toEqual([{ n: 4 }])
  })

  it('stay few in memory for any number of SQL texts', () => {
    for (let n = 0; n < 1000; n++) expect(driver.all(`SELECT ${n} AS n`, [])).toEqual([{ n }])
  })
})
