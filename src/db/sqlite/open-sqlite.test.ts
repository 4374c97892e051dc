import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SqlFailure, type SqlStore, type SqlValue, UnexpectedChanges } from '../sql-store.ts'
import { DatabaseLocked } from './failure.ts'
import { createWorkerChannel, openSqlite } from './open-sqlite.ts'

let folder: string
let path: string
let file: SqlStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-sqlite-'))
  path = join(folder, 'test.db')
  file = await openSqlite({ path })
  await file.atomic([
    {
      sql: 'CREATE TABLE wallets (row INTEGER PRIMARY KEY, posted_nano INTEGER NOT NULL CHECK (posted_nano >= 0)) STRICT',
      rows: [[]],
    },
    {
      sql: 'INSERT INTO wallets VALUES (?, ?)',
      rows: [
        [1, 100n],
        [2, 200n],
      ],
    },
  ])
})

afterEach(async () => {
  await file.close()
  rmSync(folder, { recursive: true })
})

const balances = async () =>
  (await file.all('SELECT posted_nano FROM wallets ORDER BY row', [])).map((row) => row.posted_nano)
const MOVE = 'UPDATE wallets SET posted_nano = posted_nano + ? WHERE row = ?'

describe('an atomic list', () => {
  it('is done as a whole and says how many rows each statement changed', async () => {
    const changes = await file.atomic([
      {
        sql: MOVE,
        rows: [
          [-50n, 1],
          [50n, 2],
        ],
        expectChanges: 1,
      },
      { sql: 'UPDATE wallets SET posted_nano = posted_nano', rows: [[]] },
      { sql: MOVE, rows: [] },
    ])
    expect(changes).toEqual([2, 2, 0])
    expect(await balances()).toEqual([50n, 250n])
  })

  it('is undone as a whole when a constraint refuses one of its rows', async () => {
    const refused = file.atomic([
      { sql: MOVE, rows: [[50n, 2]] },
      {
        sql: MOVE,
        rows: [
          [1n, 1],
          [-102n, 1],
        ],
      },
    ])
    await expect(refused).rejects.toMatchObject({
      name: 'SqlFailure',
      code: 'SQLITE_CONSTRAINT_CHECK',
      statement: 1,
    })
    await expect(refused).rejects.toBeInstanceOf(SqlFailure)
    expect(await balances()).toEqual([100n, 200n])
  })

  it('is undone as a whole when a statement does not change what it must', async () => {
    const refused = file.atomic([
      {
        sql: MOVE,
        rows: [
          [50n, 2],
          [1n, 3],
        ],
        expectChanges: 1,
      },
    ])
    await expect(refused).rejects.toBeInstanceOf(UnexpectedChanges)
    await expect(refused).rejects.toThrow(/Statement 0 changed 0 rows instead of 1/)
    expect(await balances()).toEqual([100n, 200n])
  })

  it('takes several rows in one run where it may, and each of them counts', async () => {
    const rows = Array.from({ length: 39 }, (_, n) => [n + 3, BigInt(n)])
    const each = '(?, ?)'
    const insert = {
      sql: `INSERT INTO wallets VALUES ${each}`,
      several: { sql: `INSERT INTO wallets VALUES ${each}`, each },
    }
    expect(await file.atomic([{ ...insert, rows, expectChanges: 1 }])).toEqual([39])
    expect(await balances()).toEqual([100n, 200n, ...rows.map(([, posted]) => posted)])

    const several = {
      sql: `WITH batch (more, row) AS (VALUES ${each})
        UPDATE wallets SET posted_nano = posted_nano + more FROM batch WHERE wallets.row = batch.row`,
      each,
    }
    const move = (moves: SqlValue[][]) => file.atomic([{ sql: MOVE, several, rows: moves, expectChanges: 1 }])
    expect(await move(rows.map(([row]) => [1000n, row!]))).toEqual([39])
    expect((await balances()).slice(2)).toEqual(rows.map(([, posted]) => BigInt(posted!) + 1000n))

    const before = await balances()
    const missing = [...rows.slice(0, 4).map(([row]) => [1n, row!]), ...rows.slice(0, 3).map(([row]) => [1n, row!])]
    await expect(move([...missing, [1n, 99]])).rejects.toThrow(/Statement 0 changed 4 rows instead of 8/)
    await expect(move(rows.map(([row]) => [row === 20 ? -2000n : 1n, row!]))).rejects.toMatchObject({
      code: 'SQLITE_CONSTRAINT_CHECK',
      statement: 0,
    })
    const shifted = [[1n, 3, 1n], [4], [1n, 5], [1n, 6]]
    await expect(move(shifted)).rejects.toThrow(/3 parameters expected, 1 given/)
    expect(await balances()).toEqual(before)
  })

  it('is undone when its values are not such as can be stored, and the next one works', async () => {
    const rows = [
      [1n, 1],
      [true, 1],
    ] as unknown as SqlValue[][]
    await expect(file.atomic([{ sql: MOVE, rows }])).rejects.toThrow(/boolean/)
    await expect(file.atomic([{ sql: MOVE, rows: [[1n, 1], [1n]] }])).rejects.toThrow(/2 parameters expected/)
    await expect(file.atomic([{ sql: MOVE, rows: [[() => 1, 1]] as unknown as SqlValue[][] }])).rejects.toThrow(
      /cannot be sent/,
    )
    expect(await balances()).toEqual([100n, 200n])
    expect(await file.atomic([{ sql: MOVE, rows: [[1n, 1]] }])).toEqual([1])
  })

  it('never lets a read see half of it', async () => {
    const reads: Promise<unknown>[] = []
    for (let n = 0; n < 50; n++) {
      reads.push(file.all('SELECT sum(posted_nano) AS sum_nano FROM wallets', []))
      void file.atomic([
        { sql: MOVE, rows: [[-1n, 1]] },
        { sql: MOVE, rows: [[1n, 2]] },
      ])
    }
    for (const rows of await Promise.all(reads)) expect(rows).toEqual([{ sum_nano: 300n }])
    expect(await balances()).toEqual([50n, 250n])
  })
})

describe('the file', () => {
  it('is still there after closing, alone and with everything in it', async () => {
    await Promise.all([file.atomic([{ sql: MOVE, rows: [[5n, 1]] }]), file.close(), file.close()])
    expect(readdirSync(folder)).toEqual(['test.db'])
    await expect(file.all('SELECT 1 AS one', [])).rejects.toThrow(/is closed/)
    file = await openSqlite({ path, synchronous: 'normal' })
    expect(await balances()).toEqual([105n, 200n])
  })

  it('can be read by its owner alone', () => {
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('is refused to a second opener of this process, who does not disturb the first', async () => {
    await expect(openSqlite({ path })).rejects.toBeInstanceOf(DatabaseLocked)
    expect(await balances()).toEqual([100n, 200n])
    await expect(openSqlite({ path })).rejects.toThrow(/in use by another process/)
  })

  it('is refused to another process as long as it is open', async () => {
    expect(await openInChild('close')).toBe('DatabaseLocked')
    await file.close()
    expect(await openInChild('close')).toBe('opened')
    file = await openSqlite({ path })
  })

  it('does not keep an idle process alive', async () => {
    await file.close()
    expect(await openInChild('leave')).toBe('opened')
    file = await openSqlite({ path })
    expect(await balances()).toEqual([100n, 200n])
  })

  it('has everything that was acknowledged when the process is killed, and nothing by halves', async () => {
    await file.close()
    let acknowledged = ''
    const child = spawn(process.execPath, ['--input-type=module', '--eval', writerScript()])
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      acknowledged += text
      if (acknowledged.length > 200) child.kill('SIGKILL')
    })
    await once(child, 'close')
    file = await openSqlite({ path })
    const [first, second] = (await balances()) as [bigint, bigint]
    const lines = acknowledged.split('\n').length - 1
    expect(second - 200n).toBe(first - 100n)
    expect(first - 100n).toBeGreaterThanOrEqual(BigInt(lines))
    expect(await file.all('PRAGMA integrity_check', [])).toEqual([{ integrity_check: 'ok' }])
  })

  it('is named when it is no database', async () => {
    const other = join(folder, 'notes.txt')
    writeFileSync(other, 'Dear diary, '.repeat(1000))
    await expect(openSqlite({ path: other })).rejects.toMatchObject({ code: 'SQLITE_NOTADB' })
    await expect(openSqlite({ path: join(folder, 'nowhere', 'test.db') })).rejects.toThrow()
  })
})

const IMPORT = `const { openSqlite } = await import(${JSON.stringify(new URL('../../../dist/db/sqlite/open-sqlite.js', import.meta.url))})`

/** Moves money for ever, and says each time that it is done. */
const writerScript = () => `
  ${IMPORT}
  const file = await openSqlite({ path: ${JSON.stringify(path)} })
  for (;;) {
    await file.atomic([{ sql: ${JSON.stringify(MOVE)}, rows: [[1n, 1]] }, { sql: ${JSON.stringify(MOVE)}, rows: [[1n, 2]] }])
    process.stdout.write('done\\n')
  }`

/** Runs the built module, as a second server would. */
async function openInChild(then: 'close' | 'leave'): Promise<string> {
  const script = `
    ${IMPORT}
    try {
      const file = await openSqlite({ path: ${JSON.stringify(path)} })
      await file.all('SELECT 1 AS one', [])
      console.log('opened')
      if (${then === 'close'}) await file.close()
    } catch (error) {
      console.log(error.name)
    }`
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  expect(stderr).toBe('')
  return stdout.trim()
}

describe('a thread that dies', () => {
  const channelTo = (body: string) =>
    createWorkerChannel(
      new Worker(`const { parentPort } = require('node:worker_threads'); ${body}`, { eval: true }),
      path,
    )

  it('fails every open request, and every later one', async () => {
    const channel = channelTo(`
      parentPort.postMessage({ id: 0, kind: 'done', value: 'a driver' })
      parentPort.on('message', ({ id }) => { if (id === 3) throw new Error('out of order') })`)
    expect(await channel.opened).toBe('a driver')
    const sent = [1, 2, 3, 4].map(() => channel.ask({ kind: 'all', sql: 'SELECT 1', parameters: [] }))
    for (const result of await Promise.allSettled(sent)) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { message: `The thread of the database ${path} has ended` },
      })
      expect((result as PromiseRejectedResult).reason.cause.message).toBe('out of order')
    }
    await expect(channel.ask({ kind: 'close' })).rejects.toThrow(/has ended/)
    await channel.close()
  })

  it('is reported unless the file was closed, and closing afterwards does not fail', async () => {
    const deaths: string[] = []
    const open = async (name: string) => {
      let worker: Worker | undefined
      const keep = (made: Worker) => {
        worker = made
      }
      process.once('worker', keep)
      const opened = await openSqlite({ path: join(folder, name), onDeath: ({ message }) => deaths.push(message) })
      return { opened, worker: worker! }
    }
    const closed = await open('closed.db')
    await closed.opened.close()
    const killed = await open('killed.db')
    await killed.worker.terminate()
    await killed.opened.close()
    await expect(killed.opened.all('SELECT 1', [])).rejects.toThrow(/is closed/)
    expect(deaths).toEqual([`The thread of the database ${join(folder, 'killed.db')} has ended`])
  })

  it('before it has opened its file is an error of opening', async () => {
    await expect(channelTo('process.exit(7)').opened).rejects.toMatchObject({ cause: { message: 'exit code 7' } })
  })
})
