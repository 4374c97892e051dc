import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  BEGIN,
  expectAgreement,
  expectSumsOfRows,
  openServedBench,
  percentilesOf,
  randomRange,
  readCredits,
  readReceipts,
  type ServedBench,
  seedLedger,
  servedOf,
} from '../../test/fixtures/admin/served-bench.ts'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { openContent } from '../db/content/open-content.ts'
import { openDatabase } from '../db/open-database.ts'
import type { SqlValue } from '../db/sql-store.ts'
import { exportAllRequests, listAllRequests } from './all-requests.ts'
import { invoice } from './invoice.ts'
import { laneCallsReport, modelMeasures, servedReport } from './served-report.ts'

const SEED = Number(process.env.SERVED_SEED ?? Date.now() % 1_000_000)
const RANGES = Number(process.env.SERVED_RANGES ?? 12)
const RECEIPTS = Number(process.env.SERVED_RECEIPTS ?? 1200)

let folder: string
let bench: ServedBench
let close: () => Promise<void>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-served-'))
  const clock = { now: () => BEGIN, nowMicros: () => 0 }
  const database = await openDatabase({ path: join(folder, 'ledger.db'), clock })
  const content = await openContent({ path: join(folder, 'content.db'), clock })
  bench = openServedBench({ kind: 'sqlite', db: database.db, file: database.file, content })
  await seedLedger(bench, { seed: SEED, receipts: RECEIPTS })
  close = async () => {
    await bench.served.close()
    await bench.usage.close()
    await content.close()
    await database.close()
    await rm(folder, { recursive: true })
  }
})
afterAll(() => close())

it(
  `overview, invoice and export are what the receipts say, in any range and zone (seed ${SEED})`,
  async () => {
    const below = randomFrom(SEED + 1)
    const [receipts, credits] = [await readReceipts(bench), await readCredits(bench)]
    let found = 0
    for (let range = 0; range < RANGES; range++)
      found += await expectAgreement(bench, randomRange(below), receipts, credits)
    expect(found).toBeGreaterThan(receipts.length / 4)
    expect(bench.failures).toEqual([])
  },
  60_000 + RANGES * 2000,
)

const YEAR = { from: '2024-01-01', to: '2026-01-01', zone: 'UTC', step: 'month' } as const

async function totalOf(of: ServedBench) {
  const report = await servedReport(of, YEAR)
  if (report.kind === 'refused') throw new Error(report.message)
  return report.value.total
}

it('calls of lanes: each is counted in its time, and the newest error is named', async () => {
  const [lately] = [bench.clock.at]
  await seedLedger(bench, {
    seed: SEED + 2,
    receipts: 120,
    accounts: 2,
    begin: lately - 20 * 3_600_000,
    spanMs: 20 * 3_600_000,
  })
  const restarted = openServedBench(bench)
  restarted.clock.at = lately
  const report = await laneCallsReport(restarted)
  await restarted.served.close()
  type Call = { lane: string; outcome: string; status: number; ms: number }
  const since = (ms: number) => Math.floor((lately - ms) / 300_000) * 300_000
  const receipts = (await readReceipts(bench)).filter(({ at }) => at >= since(24 * 3_600_000))
  const calls = receipts.flatMap(({ attempts, at }) =>
    (JSON.parse(attempts) as Call[]).map((call) => ({ ...call, at })),
  )
  expect(calls.length).toBeGreaterThan(100)
  for (const { lane, hour, day } of report.value.items) {
    for (const [span, ms] of [
      [hour, 3_600_000],
      [day, 24 * 3_600_000],
    ] as const) {
      const mine = calls.filter((call) => call.lane === lane && call.at >= since(ms))
      const failed = mine.filter(({ outcome }) => outcome === 'failed' || outcome === 'throttled')
      const good = mine.filter(({ outcome }) => outcome === 'finished')
      const { p50, p95 } = percentilesOf(good.map((call) => call.ms))
      expect(span).toMatchObject({ succeeded: good.length, failed: failed.length, p50, p95 })
      const newest = failed.reduce((last, { at }) => Math.max(last, at), 0)
      expect(span.last_error?.at ?? null).toBe(newest === 0 ? null : new Date(newest).toISOString())
    }
  }
  expect(report.value.items.length).toBe(3)
})

it('models: the share of answered requests and the medians of speed, of the last day', async () => {
  const lately = bench.clock.at
  const restarted = openServedBench(bench)
  restarted.clock.at = lately
  const counts = [0, 19, 20, 90]
  for (const [at, requests] of counts.entries())
    await seedAnswers(`model-${at}`, { requests, begin: lately - 12 * 3_600_000 })
  await seedAnswers('model-old', { requests: 50, begin: lately - 30 * 3_600_000 })
  await restarted.served.readUpToDate(async () => {})
  const dayOf = await modelMeasures(restarted)
  await restarted.served.close()
  const nothing = { success_percent: null, first_ms: null, tokens_per_second: null }
  for (const model of ['model-0', 'model-1', 'model-old', 'none']) expect(dayOf(model), model).toEqual(nothing)
  // Every tenth failed, and the client left every fifth, which counts for nothing. The others took 300 ms to their first token,
  // and had 200 tokens in the 2 s after it.
  expect(dayOf('model-3')).toEqual({ success_percent: 87.5, first_ms: 300, tokens_per_second: 100 })
  expect(dayOf('model-2')).toEqual(nothing)
})

/** Answers of one model: of ten one fails, and two are left by their clients. */
async function seedAnswers(model: string, { requests, begin }: { readonly requests: number; readonly begin: number }) {
  const [template] = await bench.file.all<Record<string, SqlValue>>(
    "SELECT * FROM receipts WHERE state = 'settled' ORDER BY row DESC LIMIT 1",
    [],
  )
  const { row: _, ...receipt } = template!
  const [{ movement } = { movement: 0 }] = await bench.file.all<{ movement: number }>(
    'SELECT MAX(movement) AS movement FROM receipts WHERE account = ?',
    [receipt.account!],
  )
  const names = Object.keys(receipt)
  const rows = Array.from({ length: requests }, (_, each) => {
    const outcome = each % 10 === 0 ? 'upstream_failed' : each % 5 === 1 ? 'client_gone' : 'completed'
    const changed: Record<string, SqlValue> = {
      ...{ ...receipt, model, outcome, request_id: `req_${model}_${each}`, movement: movement + each + 1 },
      ...{ closed_at: begin + each, opened_at: begin, first_byte_ms: 300, total_ms: 2300, output: 200 },
    }
    return names.map((name) => changed[name]!)
  })
  const sql = `INSERT INTO receipts (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`
  await bench.file.atomic([{ sql, rows }])
}

it('is counted again from the ledger when the totals are those of another one', async () => {
  const before = servedOf(await readReceipts(bench))
  const counted = openServedBench(bench)
  expect(await totalOf(counted)).toEqual(before)
  await counted.served.close()
  await bench.content.atomic([{ sql: 'UPDATE served_upto SET closed_at = closed_at + 1', rows: [[]] }])
  const restored = openServedBench(bench)
  expect(await totalOf(restored)).toEqual(before)
  // Once: what is counted from this ledger stays.
  expect(await totalOf(restored)).toEqual(before)
  await restored.served.close()
})

const idsOf = async (filters: Partial<Parameters<typeof listAllRequests>[1]>) => {
  const ids: string[] = []
  let pages = 0
  for (let after: string | undefined; pages === 0 || after !== undefined; pages++) {
    const page = await listAllRequests(bench, { limit: 7, ...filters, after })
    if (page.kind === 'refused') throw new Error(page.message)
    ids.push(...page.value.items.map(({ id }) => id))
    after = page.value.next ?? undefined
  }
  return ids
}

it('requests of all accounts are found by each filter, every one once', async () => {
  type Row = {
    request_id: string
    email: string
    key: string
    model: string
    lane: string
    outcome: string
    charge_nano: bigint
    opened_at: number
    closed_at: number
  }
  const rows = await bench.file.all<Row>(
    `SELECT request_id, email, keys.id AS key, model, lane, outcome, charge_nano, opened_at, closed_at FROM receipts
      JOIN accounts ON accounts.row = receipts.account JOIN keys ON keys.row = receipts.key`,
    [],
  )
  const [some] = rows.filter(({ outcome }) => outcome !== 'completed')
  const day = (at: number) => new Date(at).toISOString().slice(0, 10)
  const [from, to] = [day(some!.opened_at), day(some!.opened_at + 3 * 86_400_000)]
  const cases: [Parameters<typeof idsOf>[0], (row: Row) => boolean][] = [
    [{ limit: 150 }, () => true],
    [{ account: some!.email, limit: 100 }, ({ email }) => email === some!.email],
    [{ key: some!.key, limit: 50 }, ({ key }) => key === some!.key],
    [{ model: '=evil', lane: some!.lane }, ({ model, lane }) => model === '=evil' && lane === some!.lane],
    [{ status: 'not_ok', limit: 200 }, ({ outcome }) => outcome !== 'completed'],
    [{ min_charge: '0.5', limit: 200 }, ({ charge_nano }) => charge_nano >= 500_000_000n],
    [{ from, to, zone: 'UTC' }, ({ opened_at: at }) => at >= Date.parse(from) && at < Date.parse(to)],
    [
      { account: some!.email, from, to },
      (row) => row.email === some!.email && row.opened_at >= Date.parse(from) && row.opened_at < Date.parse(to),
    ],
    [{ id: some!.request_id }, ({ request_id }) => request_id === some!.request_id],
    [{ model: 'none' }, () => false],
  ]
  for (const [filters, isMine] of cases) {
    const found = await idsOf(filters)
    const expected = rows.filter(isMine).map(({ request_id }) => request_id)
    expect(found.sort(), JSON.stringify(filters)).toEqual(expected.sort())
  }
  const csv = await exportAllRequests(bench, { status: 'not_ok' })
  if (csv.kind === 'refused') throw new Error(csv.message)
  let text = ''
  for await (const piece of csv.value) text += piece
  expect(text.split('\r\n').length - 2).toBe(rows.filter(({ outcome }) => outcome !== 'completed').length)
})

it('refuses what it cannot read', async () => {
  const reasonOf = async (outcome: Promise<{ kind: string; reason?: string }>) => (await outcome).reason
  const account = (await readReceipts(bench))[0]!.account
  expect(await reasonOf(listAllRequests(bench, { limit: 5, min_charge: '1e9' }))).toBe('invalid_amount')
  expect(await reasonOf(listAllRequests(bench, { limit: 5, key: 'key_none' }))).toBe('key_not_found')
  expect(await reasonOf(listAllRequests(bench, { limit: 5, after: '!' }))).toBe('invalid_cursor')
  for (const days of [
    { month: '2026-13' },
    { from: '2026-01-01' },
    { month: '2026-01', from: '2026-01-01', to: '2026-01-02' },
  ])
    expect(await reasonOf(invoice(bench, { account, ...days }))).toBe('invalid_range')
  expect(await reasonOf(servedReport(bench, { ...YEAR, from: '1990-01-01' }))).toBe('invalid_range')
  expect(await reasonOf(servedReport(bench, { ...YEAR, step: 'hour' }))).toBe('invalid_range')
})

it('an invoice is made from the receipts where the totals of usage do not agree with the balances', async () => {
  const receipts = await readReceipts(bench)
  // Accounts of the calls of lanes have receipts of the last day only.
  const { account } = receipts.find(({ at }) => at < Date.UTC(2024, 11, 1))!
  const asked = { account, from: '2024-01-01', to: '2024-12-31', zone: 'Asia/Kathmandu' }
  const right = await invoice(bench, asked)
  await bench.content.atomic([{ sql: 'UPDATE usage SET wallet_nano = wallet_nano + 1', rows: [[]] }])
  const fallback = await invoice(bench, asked)
  if (right.kind === 'refused' || fallback.kind === 'refused') throw new Error('refused')
  expect(right.value.lines.length).toBeGreaterThan(0)
  expect({ ...fallback.value, as_of: '' }).toEqual({ ...right.value, as_of: '' })
  expectSumsOfRows(fallback.value, 'fallback')
})
