import { describe, expect, it } from 'vitest'
import { ADA, BEN, doneValue, useSpending } from '../../test/fixtures/admin/spending.ts'
import { hours } from '../../test/fixtures/ledger/contract-bench.ts'
import { movement, statementExportQuery, statementQuery } from '../contract/owner.ts'
import { pageOf } from '../contract/values.ts'
import { parseUsd } from '../model/money.ts'
import { showRequest } from './requests.ts'
import { exportStatement, walletStatement } from './statement.ts'

const bench = useSpending()
const services = () => ({ db: bench.database.db })
const HOUR = 3_600_000

async function statement(query: object = {}, account = ADA) {
  const page = doneValue(await walletStatement(services(), account, statementQuery.parse(query)))
  return pageOf(movement).parse(page)
}

async function wholeStatement(query: object = {}) {
  const lines = []
  for (let after: string | null | undefined; after !== null; ) {
    const page = await statement({ ...query, ...(after === undefined ? {} : { after }) })
    lines.push(...page.items)
    after = page.next
  }
  return lines
}

async function csv(query: object = {}): Promise<{ rows: string[][]; pieces: number }> {
  let text = ''
  let pieces = 0
  for await (const piece of doneValue(await exportStatement(services(), ADA, statementExportQuery.parse(query)))) {
    text += piece
    pieces++
  }
  const cells = [...text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n)/g)]
  const rows: string[][] = [[]]
  for (const [, quoted, plain, end] of cells) {
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain ?? '')
    if (end !== ',') rows.push([])
  }
  return { rows: rows.slice(0, -1), pieces }
}

describe('the statement of a wallet', () => {
  it('has every charge and transfer, newest first, each with the balance behind it', async () => {
    await bench.credit(ADA, 2n * 10n ** 9n, 'paid-1')
    await bench.credit(BEN, 10n ** 9n, 'paid-2')
    const charged = await bench.spend(ADA, [10, 20])
    await bench.spend(BEN, [10, 20])
    await bench.spend(ADA, undefined)
    await bench.credit(ADA, -(10n ** 9n), 'back-1', 'sent back')
    const { items, next } = await statement()
    expect(next).toBeNull()
    expect(items).toMatchObject([
      { movement: 4, kind: 'refund', amount: '-1.00', ref: 'back-1', reason: 'sent back', model: null, key: null },
      { movement: 2, kind: 'charge', ref: charged, reason: 'completed', model: 'demo', key: { id: 'key_ada_wallet' } },
      { movement: 1, kind: 'credit', amount: '2.00', balance: '2.00', ref: 'paid-1', reason: 'paid in' },
    ])
    expect(doneValue(await showRequest(services(), { account: ADA }, charged))).toMatchObject({ movement: 2 })
    const sum = items.reduce((total, { amount }) => total + parseUsd(amount)!, 0n)
    expect(sum).toBe((await bench.ledger.accountStatus(ADA)).balance)
    expect(items[0]?.balance).toBe(items.length > 0 ? `${formatted(sum)}` : '')
  })

  it('has nothing of what a plan pays, and its balances follow from each other all the same', async () => {
    await bench.credit(ADA, 2n * 10n ** 9n, 'a')
    const windows = [hours(5, 10n ** 9n)]
    await bench.subscribe(ADA, windows)
    for (let turn = 0; turn < 6; turn++) {
      await bench.spend(ADA, [turn, 20], turn % 2 === 0 ? { kind: 'builder', allowances: windows, plan: 'pro' } : {})
    }
    const lines = await wholeStatement({ limit: 2 })
    expect(lines.map(({ kind }) => kind)).toEqual(['charge', 'charge', 'charge', 'credit'])
    for (const [index, { amount, balance }] of lines.entries()) {
      const before = parseUsd(lines[index + 1]?.balance ?? '0.00')!
      expect(parseUsd(balance!)).toBe(before + parseUsd(amount)!)
    }
  })

  it('is cut by kind and by days of any zone, to the millisecond', async () => {
    await bench.credit(ADA, 10n ** 10n, 'first')
    const berlinMidnight = Date.UTC(2026, 9, 24, 22)
    const at = [berlinMidnight - 1, berlinMidnight, berlinMidnight + 25 * HOUR - 1, berlinMidnight + 25 * HOUR]
    const ids: string[] = []
    for (const moment of at) {
      bench.at = moment
      ids.push(await bench.spend(ADA, [1, 1]))
    }
    await bench.credit(ADA, 5n, 'last')
    const refs = async (query: object) => (await wholeStatement(query)).map(({ ref }) => ref)
    const day = { from: '2026-10-25', to: '2026-10-26', zone: 'Europe/Berlin' }
    expect(await refs(day)).toEqual([ids[2], ids[1]])
    expect(await refs({ ...day, kind: 'credit' })).toEqual([])
    expect(await refs({ from: '2026-10-26', zone: 'Europe/Berlin' })).toEqual(['last', ids[3]])
    expect(await refs({ to: '2026-10-25', zone: 'Europe/Berlin' })).toEqual([ids[0], 'first'])
    expect(await refs({ kind: 'credit' })).toEqual(['last', 'first'])
    expect(await refs({ kind: 'charge', limit: 1 })).toEqual(ids.toReversed())
    expect(await refs({ from: '2030-01-01' })).toEqual([])
    expect(await refs({ to: '2020-01-01' })).toEqual([])
    const wrong = { zone: 'Mars/Olympus', from: '2026-10-25' }
    expect(await walletStatement(services(), ADA, { ...wrong, limit: 50 })).toMatchObject({ reason: 'invalid_range' })
    expect(await exportStatement(services(), ADA, wrong)).toMatchObject({ reason: 'invalid_range' })
    expect(await walletStatement(services(), ADA, { after: '!', limit: 50 })).toMatchObject({
      reason: 'invalid_cursor',
    })
  })

  it('passes over thousands of requests that cost nothing, some at a time', async () => {
    await bench.credit(ADA, 10n ** 10n, 'first')
    const many = `WITH RECURSIVE n (row) AS (SELECT 2 UNION ALL SELECT row + 1 FROM n WHERE row < 12001)
      INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano, output_cap,
        output_bound, input_estimate, opened_at, closed_at, cost_nano, charge_nano, shortfall_nano, movement, balance_nano)
      SELECT row, 'req_' || row, ${ADA}, 1, 'wallet', 'settled', 'demo', 1, '[3]', 5, 1, 1, 1, 1, ${bench.at},
        IIF(row % 1000 IN (1, 2), 1, 0), IIF(row % 1000 IN (1, 2), 1, 0), 0, row, ${10n ** 10n} FROM n`
    await bench.database.file.atomic([{ sql: many, rows: [[]] }])
    const sizes = []
    for (let after: string | null | undefined; after !== null; ) {
      const page = await statement(after === undefined ? {} : { after })
      sizes.push(page.items.length)
      after = page.next
    }
    // Two charges at each edge between two looks, and in the end the credit.
    expect(sizes).toEqual([10, 10, 5])
    const movements = (await csv()).rows.slice(1).map(([number]) => Number(number))
    expect(movements).toHaveLength(25)
    expect(movements.filter((number) => number > 2).every((number) => [1, 2].includes(number % 1000))).toBe(true)
  })
})

describe('the statement as a file', () => {
  it('says line by line what the pages say, in pieces', async () => {
    await bench.credit(ADA, 10n ** 11n, 'a')
    for (let count = 0; count < 230; count++) await bench.spend(ADA, [count, 1])
    const { rows, pieces } = await csv()
    expect(rows[0]).toEqual([
      ...['movement', 'time', 'kind', 'amount', 'balance', 'currency', 'ref', 'reason', 'model', 'key', 'key_name'],
      'requests',
    ])
    const lines = await wholeStatement({ limit: 100 })
    expect(rows.slice(1)).toEqual(
      lines.map(({ movement: number, at, kind, amount, balance, ref, reason, model, key }) => [
        ...[String(number), at, kind, amount, balance, 'USD', ref, reason, model ?? '', key?.id ?? '', key?.name ?? ''],
        '',
      ]),
    )
    expect(pieces).toBe(3)
    expect((await csv({ kind: 'credit' })).rows).toHaveLength(2)
  })

  it('makes no formula of what a person has written, and keeps commas, quotes and lines in their cell', async () => {
    const reasons = ['=1+1', '+49', '-2', '@SUM(A1)', '\tx', 'a, "quoted"\r\nline', 'plain', "=cmd|' /C calc'!A0"]
    for (const [index, reason] of reasons.entries()) await bench.credit(ADA, 5n, `=ref${index}`, reason)
    await bench.credit(ADA, -1n, 'back')
    const { rows } = await csv()
    expect(rows.slice(2).map((row) => row[7])).toEqual(
      reasons.map((reason) => (/^\t?[=+\-@]/.test(reason) && reason !== '-2' ? `'${reason}` : reason)).reverse(),
    )
    expect(rows.at(-1)?.[6]).toBe("'=ref0")
    expect(rows[1]?.[3], 'an amount is a number').toBe('-0.000000001')
  })
})

const formatted = (nano: bigint): string => {
  const digits = nano.toString().padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9).replace(/0{1,7}$/, '')}`
}
