import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pause } from '../../src/lib/async.ts'
import { findPostgresPrograms, type PostgresServer, startPostgres } from '../program/postgres.mjs'
import { placeIn, startServer, verifyLedger } from '../program/program.mjs'
import { createServerWithWorkers, openTurn } from '../support/server-with-workers.ts'
import { until } from '../support/until.ts'

const programs = findPostgresPrograms()
const canCopy = programs !== undefined && existsSync(join(programs, 'pg_basebackup'))
if (!canCopy) console.log('No pg_basebackup here (Debian: apt-get install postgresql): its test is skipped.')

const CLIENTS = 8
/** Requests that end before the backup begins, at the least. */
const BEFORE = 40

let postgres: PostgresServer
let copy: PostgresServer | undefined
let scene: Awaited<ReturnType<typeof createServerWithWorkers>>
let folder: string

beforeAll(async () => {
  if (!canCopy) return
  postgres = await startPostgres(programs!, { fsync: true })
  scene = await createServerWithWorkers(postgres)
  folder = await mkdtemp(join(tmpdir(), 'millrace-base-backup-'))
})
afterAll(async () => {
  if (!canCopy) return
  await scene.close()
  await copy?.stop()
  await postgres.stop()
  await rm(folder, { recursive: true })
})

interface ReceiptRow {
  readonly request_id: string
  readonly state: string
  readonly outcome: string | null
  readonly charge_nano: string | null
}

const RECEIPTS = 'SELECT request_id, state, outcome, charge_nano FROM millrace.receipts'
const WALLET = `SELECT posted_nano, held_nano, (SELECT coalesce(sum(charge_nano), 0) FROM millrace.receipts) AS charged,
  (SELECT coalesce(sum(hold_nano), 0) FROM millrace.receipts WHERE state = 'open') AS open
  FROM millrace.buckets WHERE kind = 'wallet'`
const CREDIT_NANO = 10_000_000_000

async function queryCopy<Row extends object>(sql: string): Promise<Row[]> {
  const client = new pg.Client({ host: copy!.host, user: copy!.user, database: scene.database })
  await client.connect()
  return (await client.query(sql).finally(() => client.end())).rows
}

/** The wallet paid for each receipt once, and holds what is open. */
async function expectWalletAddsUp() {
  const [wallet] = await queryCopy<Record<'posted_nano' | 'held_nano' | 'charged' | 'open', string>>(WALLET)
  expect(Number(wallet!.posted_nano)).toBe(CREDIT_NANO - Number(wallet!.charged))
  expect(Number(wallet!.held_nano)).toBe(Number(wallet!.open))
}

it.skipIf(!canCopy)(
  'a base backup under load, started elsewhere, balances and charges nothing twice',
  {
    timeout: 240_000,
  },
  async () => {
    const server = await scene.start(2)
    await server.allReady(2)
    const key = await server.openAccount()
    const once = { 'idempotency-key': 'asked-before-the-backup' }
    const kept = await openTurn(server, key, { headers: once, words: 'count to 12' })
    await kept.ended
    expect(kept.text()).toContain('[DONE]')

    const ended = new Set<string>()
    let stopped = false
    const clients = Array.from({ length: CLIENTS }, async (_, index) => {
      while (!stopped) {
        const turn = await openTurn(server, key, { model: index % 2 === 0 ? 'calm' : 'swift', words: 'count to 30' })
        await turn.ended
        if (turn.text().includes('[DONE]')) ended.add(turn.requestId)
      }
    })
    await until(() => ended.size >= BEFORE)
    const before = [...ended]
    copy = await startPostgres(programs!, { fsync: true, copyOf: postgres })
    await pause(300)
    stopped = true
    await Promise.all(clients)
    await until(async () => (await scene.query(`${RECEIPTS} WHERE state = 'open'`)).length === 0)

    const live = new Map<string, ReceiptRow>(
      (await scene.query(RECEIPTS)).map((row: ReceiptRow) => [row.request_id, row]),
    )
    const copied = await queryCopy<ReceiptRow>(RECEIPTS)
    const closed = copied.filter(({ state }) => state !== 'open')
    expect(closed.filter((row) => !live.has(row.request_id))).toEqual([])
    expect(closed).toEqual(closed.map(({ request_id }) => live.get(request_id)))
    expect(before.filter((id) => !closed.some(({ request_id }) => request_id === id))).toEqual([])
    expect(copied.length).toBeLessThan(live.size)
    await expectWalletAddsUp()

    // The nodes' own folders are new, but for the key ring.
    const place = placeIn(folder)
    await mkdir(place.data)
    await cp(join(scene.place.data, 'keyring.json'), join(place.data, 'keyring.json'))
    const config = await readFile(scene.place.config, 'utf8')
    await writeFile(
      place.config,
      config
        .replace(`host=${postgres.host}`, `host=${copy.host}`)
        .replace(/server: \{.*\}/, 'server: { metrics_port: 0 }'),
    )
    expect(await verifyLedger(place)).toMatchObject({ ok: true, receipts: copied.length })

    const restored = startServer(place)
    const url = await restored.ready
    const again = await openTurn({ url }, key, { headers: once, words: 'count to 12' })
    await again.ended
    expect(again.text()).toBe(kept.text())
    const later = await openTurn({ url }, key, { words: 'count to 5' })
    await later.ended
    expect(later.text()).toContain('[DONE]')
    // Requests that were open end once the leases of the former nodes are over.
    await until(async () => (await queryCopy(`${RECEIPTS} WHERE state = 'open'`)).length === 0)
    expect((await queryCopy(RECEIPTS)).length).toBe(copied.length + 1)
    await expectWalletAddsUp()
    expect(await verifyLedger(place)).toMatchObject({ ok: true, receipts: copied.length + 1 })
    restored.kill('SIGTERM')
    expect((await restored.ended).code).toBe(0)
  },
)
