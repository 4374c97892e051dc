import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, cp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openApp } from '../../src/app/create-app.ts'
import { findLedgerOfKeyring } from '../../src/app/key-ring.ts'
import { createOperator } from '../../src/app/operator.ts'
import { loadSettings } from '../../src/config/load-config.ts'
import { openSettleJournal } from '../../src/db/settle-journal.ts'
import { connect } from '../../src/db/sqlite/connection.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { secureRandom } from '../../src/lib/random-id.ts'
import { expectReplay, sendTurn } from '../e2e/idempotency/keyed.ts'
import { fractionsFrom } from '../fixtures/lib/seeded-random.ts'
import { chat } from '../support/send-chat.ts'
import { respond } from '../support/send-responses.ts'
import { postgresUrl, useDatabase } from '../support/server-on-postgres.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { CONFIG, type Life, live, seen, startOnFiles } from './moves/filled-server.ts'
import { bytesOf, configOf, createPlaces, move, moved, rowsOf } from './moves/moving.ts'
import { postgres } from './postgres-ledger.ts'

const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 1_000_000_000)
const KILLS = 6
/** Tables of what no server of this test does. */
const LEFT_EMPTY = new Set(['clock_corrections'])

describe.skipIf(!postgres)('a ledger', () => {
  const places = createPlaces()
  let files: string
  let node: string
  let database: string
  let life: Life
  let before: Awaited<ReturnType<typeof seen>>

  /** A node on the moved ledger, with the key ring as the command asks for it. */
  const startNode = async (): Promise<TestServer> => {
    useDatabase(database, node)
    return startServer({ folder: node, config: CONFIG })
  }

  beforeAll(async () => {
    files = await places.folder()
    node = await places.folder()
    database = await places.database()
    const server = await startOnFiles(files)
    life = await live(server)
    before = await seen(server, life)
    await server.close()
    await copyFile(join(files, 'keyring.json'), join(node, 'keyring.json'))
  })
  afterAll(() => places.clear())

  it('moves from its folder into PostgreSQL, and the folder is not changed', async () => {
    const bytes = await bytesOf(files)
    const report = await moved(files, postgresUrl(database))
    expect(report.tables.filter(({ equal }) => !equal)).toEqual([])
    expect(report.checks.filter(({ violations }) => violations > 0)).toEqual([])
    expect(report.ok).toBe(true)
    expect(report.tables.filter(({ rows }) => rows === 0).map(({ table }) => table)).toEqual([...LEFT_EMPTY])
    expect(report.next.join()).toContain('keyring.json')
    expect(await bytesOf(files)).toBe(bytes)
  })

  it('has its contents in PostgreSQL in the days on which they expire', async () => {
    const pool = new pg.Pool({ connectionString: postgresUrl(database), max: 1 })
    const { rows } =
      await pool.query(`SELECT kind, count(*)::integer AS all, (count(*) FILTER (WHERE day = expires_at / 86400000))::integer AS placed
      FROM millrace.bodies LEFT JOIN (
        SELECT 'answers' AS kind, rowid AS id, expires_at FROM millrace.answers
        UNION ALL SELECT 'response_objects', response, expires_at FROM millrace.responses
        UNION ALL SELECT 'events', event, expires_at FROM millrace.events JOIN millrace.responses USING (response)
        UNION ALL SELECT 'items', item, max(expires_at) FROM millrace.response_items JOIN millrace.responses USING (response)
          GROUP BY item) AS heads USING (kind, id) GROUP BY kind`)
    await pool.end()
    expect(rows.map(({ kind }) => kind).sort()).toEqual(['answers', 'events', 'items', 'response_objects'])
    for (const { kind, all, placed } of rows) expect([kind, placed]).toEqual([kind, all])
  })

  it('moves back into a new folder with the same rows and its key ring', async () => {
    const back = await places.folder()
    const report = await moved(node, back, { database })
    expect(report).toMatchObject({ ok: true, from: 'postgres', to: 'sqlite' })
    const [first, last] = [rowsOf(files), rowsOf(back)]
    for (const [table, rows] of Object.entries(first)) expect(last[table], table).toEqual(rows)
    const server = await startOnFiles(back)
    expect(await seen(server, life)).toEqual(before)
    expect((await server.operate('db.verify', {})).ok).toBe(true)
    await server.close()
  })

  it('is served from PostgreSQL as before', async () => {
    const server = await startNode()
    const { wallet, builder, capped, replayed, response, code } = life
    expect(await seen(server, life)).toEqual(before)
    for (const { key, body, answer } of replayed)
      expectReplay(await sendTurn(server, { key: wallet.key, idempotencyKey: key }, body), answer)
    expect(await server.operate('wallet.show', { account: wallet.id })).toEqual(before.wallets[0])
    expect((await respond(server, wallet, { previous_response_id: response.id })).status).toBe(200)
    const headers = { authorization: `Bearer ${wallet.key}` }
    const again = await fetch(`${server.baseUrl}/responses/${response.id}?stream=true`, { headers })
    expect(await again.text()).toBe(response.stream)
    for (const key of [wallet.key, capped, builder]) expect((await chat(server, { key })).status).toBe(200)
    await server.operate('codes.redeem', { account: wallet.id, code })
    const { id } = await server.operate('accounts.create', { email: 'new@example.com' })
    await server.operate('plans.assign', { account: id, plan: 'wide' })
    const { key } = await server.operate('keys.create', { account: id, kind: 'builder', name: 'new' })
    expect((await chat(server, { key })).status).toBe(200)
    const report = await server.operate('db.verify', {})
    expect(report.checks.filter(({ violations }) => violations > 0)).toEqual([])
    const later = await seen(server, life)
    await server.close()

    const back = await places.folder()
    expect(await moved(node, back, { database })).toMatchObject({ ok: true })
    const last = await startOnFiles(back)
    expect(await seen(last, life)).toEqual(later)
    expect((await chat(last, { key })).status).toBe(200)
    expect((await last.operate('db.verify', {})).ok).toBe(true)
    await last.close()
  })

  it('is not moved while a server runs on it', async () => {
    const copy = await places.folder()
    await cp(files, copy, { recursive: true })
    const server = await startOnFiles(copy)
    expect(await move(copy, postgresUrl(await places.database()))).toMatchObject({ kind: 'refused' })
    await server.close()
    const running = await startNode()
    const target = await places.folder()
    expect(await move(node, target, { database })).toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/in use \(nodes and commands: 1;.*Stop all nodes/),
    })
    await running.close()
    expect(await readdir(target)).toEqual([])
  })

  it('is not moved onto another one', async () => {
    expect(await move(files, postgresUrl(database))).toMatchObject({
      message: expect.stringMatching(/not empty: it has rows in accounts/),
    })
    expect(await move(node, files, { database })).toMatchObject({ message: expect.stringMatching(/is there already/) })
    expect(await move(files, node)).toMatchObject({ exit: 2, message: expect.stringMatching(/in a folder already/) })
    expect(await move(node, postgresUrl(database), { database })).toMatchObject({ exit: 2 })
  })

  it('is not moved unless it is at rest, whole, and with its key', async () => {
    const target = postgresUrl(await places.database())
    const refusals: [RegExp, (folder: string) => Promise<unknown>][] = [
      [/ledger\.db is in use, or was not closed/, (folder) => writeFile(join(folder, 'ledger.db-wal'), 'x')],
      [/settles\.journal in .* has ends .* \(1\)/, (folder) => addToJournal(folder)],
      [/settles\.journal in .* is damaged/, (folder) => writeFile(join(folder, 'settles.journal'), 'MRJ2')],
      [/open requests \(1\)/, (folder) => change(folder, OPEN_A_RECEIPT)],
      [/content\.db does not belong to ledger\.db/, (folder) => change(folder, LOSE_RECEIPTS)],
      [/was not written by this version/, (folder) => change(folder, "DELETE FROM migrations WHERE name LIKE '0010%'")],
      [/clock of the target is behind/, (folder) => change(folder, AHEAD)],
      [/spend caps as early development builds/, (folder) => change(folder, OLD_CAP)],
      [/keyring\.json is missing/, (folder) => rm(join(folder, 'keyring.json'))],
      [/not in .*keyring\.json/, (folder) => change(folder, "UPDATE meta SET value = 'x' WHERE name = 'sealed_by'")],
      [/There is no ledger in/, (folder) => rm(join(folder, 'ledger.db'))],
    ]
    for (const [message, disturb] of refusals) {
      const folder = await places.folder()
      await cp(files, folder, { recursive: true })
      await disturb(folder)
      expect(await move(folder, target)).toMatchObject({ kind: 'refused', message: expect.stringMatching(message) })
    }
  })

  it('moves without content.db too, of which only the totals are counted again', async () => {
    const folder = await places.folder()
    await cp(files, folder, { recursive: true })
    await rm(join(folder, 'content.db'))
    const report = await moved(folder, postgresUrl(await places.database()))
    expect(report.ok).toBe(true)
    expect(report.tables.find(({ table }) => table === 'answers')).toMatchObject({ rows: 0 })
  })

  it('is not taken for moved when a row differs or the books do not balance', async () => {
    const folder = await places.folder()
    await cp(files, folder, { recursive: true })
    await change(folder, 'UPDATE buckets SET posted_nano = posted_nano + 1 WHERE row = 3')
    const target = await places.database()
    const report = await moved(folder, postgresUrl(target))
    expect(report.ok).toBe(false)
    expect(report.tables.every(({ equal }) => equal)).toBe(true)
    expect(report.checks.filter(({ violations }) => violations > 0)).toMatchObject([
      { name: 'posted is the sum of entries' },
    ])
    expect(await isMarked(target)).toBe(true)
    expect(await moved(files, postgresUrl(target))).toMatchObject({ ok: true })
  })

  /** Killed so long after its start, or after it began to copy. Resolves to how long it copied, and whether it was killed. */
  const moveInChild = async (
    args: readonly string[],
    kill?: { readonly from: 'start' | 'copy'; readonly ms: number },
  ) => {
    const child = spawn(process.execPath, [MOVE_IN_CHILD, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    const killLater = (from: 'start' | 'copy') =>
      kill?.from === from && void setTimeout(() => child.kill('SIGKILL'), kill.ms).unref()
    let began = performance.now()
    killLater('start')
    child.stdout.setEncoding('utf8').on('data', (step: string) => {
      if (!step.includes('Copying')) return
      began = performance.now()
      killLater('copy')
    })
    const [code, signal] = await once(child, 'exit')
    return { ms: performance.now() - began, code, isKilled: signal === 'SIGKILL' }
  }
  const startRefusal = (folder: string, storage?: 'sqlite'): Promise<string> =>
    startServer({ folder, config: CONFIG, ...(storage && { storage }) }).then(
      (server) => server.close().then(() => 'it started'),
      (error: Error) => error.message,
    )

  /** Kills moves into one target after the other, until one of them was not too late. Returns the last target, which is filled. */
  const killMoves = async (
    from: string,
    target: () => Promise<string>,
    expectUnfinished: (target: string) => unknown,
  ) => {
    const dice = fractionsFrom(seed)
    let [copiesMs, to] = [(await moveInChild([from, await target()])).ms, await target()]
    const told = { killed: 0, 'left unfinished': 0, 'too late': 0 }
    for (let kill = 0; kill < KILLS; kill++) {
      const isEarly = kill % 3 === 2
      const moment = { from: isEarly ? 'start' : 'copy', ms: dice() * (isEarly ? 1000 : copiesMs) } as const
      const { isKilled, ms } = await moveInChild([from, to], moment)
      told[isKilled ? 'killed' : 'too late'] += 1
      if (await expectUnfinished(to)) told['left unfinished'] += 1
      if (isKilled) continue
      copiesMs = Math.min(copiesMs, ms)
      to = await target()
    }
    console.log(`seed ${seed}, a move copies for ${Math.round(copiesMs)} ms: ${JSON.stringify(told)}`)
    expect(told['left unfinished']).toBeGreaterThan(0)
    return to
  }

  it(`can be moved into PostgreSQL again when that was killed (MILLRACE_SEED=${seed})`, async () => {
    await configOf(files)
    const other = await places.folder()
    let name = ''
    const target = async () => {
      name = await places.database()
      return postgresUrl(name)
    }
    const to = await killMoves(files, target, async () => {
      if (!(await isMarked(name))) return false
      useDatabase(name, other)
      expect(await startRefusal(other)).toMatch(/A ledger was being moved into this database/)
      return true
    })
    if (!(await hasAccounts(name))) expect(await moved(files, to)).toMatchObject({ ok: true })
    const last = await places.folder()
    await copyFile(join(files, 'keyring.json'), join(last, 'keyring.json'))
    expect(await moved(last, join(last, 'files'), { database: name })).toMatchObject({ ok: true })
    expect(rowsOf(join(last, 'files'))).toEqual(rowsOf(files))
  })

  it(`can be moved into a folder again when that was killed (MILLRACE_SEED=${seed})`, async () => {
    await configOf(node, { database })
    const folder = await killMoves(node, places.folder, async (to) => {
      if (!existsSync(join(to, 'ledger.db.moving'))) return false
      expect(await startRefusal(to, 'sqlite')).toMatch(/A ledger was being moved into/)
      expect(await commandRefusal(to)).toMatch(/A ledger was being moved into/)
      return true
    })
    if (!existsSync(join(folder, 'ledger.db')))
      expect(await moved(node, folder, { database })).toMatchObject({ ok: true })
    // Killed between its last two steps.
    await rename(join(folder, 'ledger.db'), join(folder, 'ledger.db.moving'))
    expect(await startRefusal(folder, 'sqlite')).toMatch(/A ledger was being moved into/)
    expect(await moved(node, folder, { database })).toMatchObject({ ok: true })
    const server = await startOnFiles(folder)
    expect((await server.operate('db.verify', {})).ok).toBe(true)
    await server.close()
  })
})

const OPEN_A_RECEIPT = `INSERT INTO receipts (request_id, account, key, kind, state, model, price_version, buckets, hold_nano,
    output_cap, output_bound, input_estimate, opened_at) VALUES ('req_open', 1, 1, 'wallet', 'open', 'swift', 1, '[101]', 0, 1, 1, 1, 1)`
const AHEAD =
  "INSERT INTO marks (node, at, packed) VALUES (1, 4000000000000, x'') ON CONFLICT DO UPDATE SET at = excluded.at"
const LOSE_RECEIPTS = 'DELETE FROM receipts WHERE row > 5'
const OLD_CAP = `INSERT INTO buckets (unit, kind, account, subject, period_start, period_end, closed_at)
  VALUES ('cap', 'cap', 1, 'cap:1:day', 1, 2, 2)`

async function change(folder: string, sql: string): Promise<void> {
  const file = connect(join(folder, 'ledger.db'))
  file.exec(sql)
  file.close()
}

async function addToJournal(folder: string): Promise<void> {
  const path = join(folder, 'settles.journal')
  const ledger = findLedgerOfKeyring(folder)!
  const journal = await openSettleJournal({ path, ledger, now: () => 0 })
  expect(await journal.append('req_1 {}')).toBe(true)
  await journal.close()
}

const MOVE_IN_CHILD = fileURLToPath(new URL('moves/move-in-child.mjs', import.meta.url))

const isMarked = (database: string) => hasRows(database, "millrace.meta WHERE name = 'moving'")
const hasAccounts = (database: string) => hasRows(database, 'millrace.accounts')

async function hasRows(database: string, from: string): Promise<boolean> {
  const pool = new pg.Pool({ connectionString: postgresUrl(database), max: 1 })
  try {
    const { rows } = await pool.query(`SELECT FROM ${from} LIMIT 1`)
    return rows.length > 0
  } catch {
    // Nothing is installed there yet.
    return false
  } finally {
    await pool.end()
  }
}

async function commandRefusal(folder: string): Promise<string> {
  const operator = createOperator({
    ...{
      version: 'test',
      node: process.version,
      program: 'millrace',
      clock: systemClock,
      random: secureRandom,
      openApp,
    },
    loadSettings: (place) => loadSettings({ environment: { HOME: folder }, cwd: folder }, place),
    pause: () => Promise.resolve(),
  })
  const answer = await operator.call({ config: undefined, data: folder }, 'accounts.list', { limit: 1 })
  return answer.kind === 'unreachable' ? answer.message : answer.kind
}
