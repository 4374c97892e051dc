import { describe, expect, it } from 'vitest'
import { ADA, BEN, doneValue, useSpending } from '../../test/fixtures/admin/spending.ts'
import { hours } from '../../test/fixtures/ledger/contract-bench.ts'
import { GIVEN_BACK } from '../../test/fixtures/model/ending.ts'
import { requestDetail, requestsPage, requestsQuery } from '../contract/owner.ts'
import { nanoFromPico, parseUsd } from '../model/money.ts'
import { listRequests, showRequest } from './requests.ts'
import { walletBalance } from './wallet.ts'

const bench = useSpending()
const services = () => ({ db: bench.database.db })
const purse = () => ({ ...services(), ledger: bench.ledger })

async function list(query: object = {}, account = ADA) {
  const page = doneValue(await listRequests(services(), { account }, requestsQuery.parse(query)))
  return requestsPage.parse(page)
}
const idsOf = async (query: object = {}, account = ADA) => (await list(query, account)).items.map(({ id }) => id)

describe('the requests of an account', () => {
  it('are listed with the running ones first, then the closed ones, per account', async () => {
    await bench.credit(ADA, 10n ** 10n, 'a')
    await bench.credit(BEN, 10n ** 10n, 'b')
    const first = await bench.spend(ADA, [10, 20])
    const strange = await bench.spend(BEN, [10, 20])
    const free = await bench.spend(ADA, undefined)
    const running = await bench.ask(ADA)
    expect(await idsOf()).toEqual([running.requestId, free, first])
    expect(await idsOf({}, BEN)).toEqual([strange])
    expect((await list()).items).toMatchObject([
      { state: 'open', outcome: null, tokens: null, charge: null, hold: '0.0006', kind: 'wallet' },
      { state: 'released', outcome: 'upstream_failed', charge: '0.00' },
      {
        ...{ state: 'settled', outcome: 'completed', lane: 'demo/demo', total_ms: 34, first_byte_ms: 12 },
        key: { id: 'key_ada_wallet', name: "ada's wallet" },
        tokens: { uncached_input: 10, cached_input: 3, cache_write: 1, output: 20, reasoning: 0, estimated: false },
      },
    ])
    expect(await walletBalance(purse(), ADA)).toMatchObject({ running: 1, held: '0.0006' })
    expect(await walletBalance(purse(), BEN)).toMatchObject({ running: 0, held: '0.00' })
  })

  it('can be filtered by key, model, kind and outcome', async () => {
    await bench.credit(ADA, 10n ** 10n, 'a')
    const [plain, other, free] = [
      await bench.spend(ADA, [1, 1]),
      await bench.spend(ADA, [1, 1], { model: 'other' }),
      await bench.spend(ADA, undefined),
    ]
    const running = (await bench.ask(ADA, { model: 'other' })).requestId
    expect(await idsOf({ model: 'other' })).toEqual([running, other])
    expect(await idsOf({ outcome: 'ok' })).toEqual([other, plain])
    expect(await idsOf({ outcome: 'not_ok' })).toEqual([free])
    expect(await idsOf({ outcome: 'running' })).toEqual([running])
    expect(await idsOf({ outcome: 'running', model: 'demo' })).toEqual([])
    expect(await idsOf({ outcome: 'running' }, BEN)).toEqual([])
    expect(await idsOf({ kind: 'wallet', key: 'key_ada_wallet', outcome: 'ok' })).toEqual([other, plain])
    expect(await idsOf({ kind: 'builder' })).toEqual([])
    expect(await idsOf({ key: 'key_ada_builder' })).toEqual([])
    for (const key of ['key_ben_wallet', 'key_nobody']) {
      const delivered = await listRequests(services(), { account: ADA }, requestsQuery.parse({ key }))
      expect(delivered).toMatchObject({ kind: 'refused', reason: 'key_not_found' })
    }
  })

  it('come in pages, each once, and a broken cursor is refused', async () => {
    await bench.credit(ADA, 10n ** 10n, 'a')
    const ids: string[] = []
    for (let count = 0; count < 7; count++) ids.unshift(await bench.spend(ADA, [1, count]))
    const seen: string[] = []
    let after: string | undefined
    let pages = 0
    do {
      const page = await list({ limit: 3, after })
      seen.push(...page.items.map(({ id }) => id))
      after = page.next ?? undefined
      pages++
    } while (after !== undefined)
    expect(seen).toEqual(ids)
    expect(pages).toBe(3)
    for (const broken of ['-1', 'ÿ', "' OR 1", 'zzzzzzzzzzz', '1e9.', 'r.5', 'req_', 'req_nobodys']) {
      expect(await listRequests(services(), { account: ADA }, { after: broken, limit: 3 })).toMatchObject({
        reason: 'invalid_cursor',
      })
    }
  })

  it('come in pages while running ones end', async () => {
    await bench.credit(ADA, 10n ** 10n, 'a')
    const ended = [await bench.spend(ADA, [1, 1]), await bench.spend(ADA, undefined)].reverse()
    const turns = []
    for (let count = 0; count < 4; count++) turns.unshift(await bench.ask(ADA))
    const running = turns.map(({ requestId }) => requestId)
    const pages: string[][] = []
    for (let after: string | null | undefined; after !== null; ) {
      const page = await list({ limit: 2, ...(after === undefined ? {} : { after }) })
      pages.push(page.items.map(({ id }) => id))
      after = page.next
    }
    expect(pages, 'no page is empty').toEqual([running.slice(0, 2), running.slice(2), ended])

    const first = await list({ limit: 3 })
    expect(first.items.map(({ id }) => id)).toEqual(running.slice(0, 3))
    await turns[3]!.settle(GIVEN_BACK)
    const second = await list({ limit: 3, after: first.next! })
    expect(second.items.map(({ id }) => id)).toEqual([running[3], ...ended])
    // What names the end of a page tells nothing of how much others ask, and is of no use to them.
    expect(first.next).toBe(running[2])
    expect(await listRequests(services(), { account: BEN }, { after: first.next!, limit: 3 })).toMatchObject({
      reason: 'invalid_cursor',
    })
  })

  it('of both kinds are one list in order of their end', async () => {
    await bench.credit(ADA, 10n ** 10n, 'a')
    await bench.subscribe(ADA, [hours(5, 10n ** 9n)])
    const plan = { kind: 'builder' as const, allowances: [hours(5, 10n ** 9n)], plan: 'pro' }
    const ids: string[] = []
    for (const over of [{}, plan, plan, {}, plan, {}, {}]) ids.unshift(await bench.spend(ADA, [1, 1], over))
    expect(await idsOf()).toEqual(ids)
    expect(await idsOf({ kind: 'builder' })).toEqual([ids[2], ids[4], ids[5]])
    const seen: string[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const page = await list({ limit: 2, ...(after === undefined ? {} : { after }) })
      seen.push(...page.items.map(({ id }) => id))
      after = page.next
    }
    expect(seen).toEqual(ids)
  })

  it('end a page early under a sparse filter, and continue after it', async () => {
    const { file } = bench.database
    await bench.credit(ADA, 10n ** 10n, 'a')
    const rare = await bench.spend(ADA, [1, 1], { model: 'other' })
    const many = `WITH RECURSIVE n (row) AS (SELECT 100 UNION ALL SELECT row + 1 FROM n WHERE row < 12099)
      INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano, output_cap,
        output_bound, input_estimate, opened_at, outcome, cost_nano, charge_nano, shortfall_nano, movement)
      SELECT row, 'req_' || row, ${ADA}, 1, 'wallet', 'released', IIF(row % 100 IN (0, 99), 'edge', 'demo'), 1, '[3]', 5, 1, 1, 1, 1, 'client_gone', 0, 0, 0, row FROM n`
    await file.atomic([{ sql: many, rows: [[]] }])
    const asked = { model: 'other', limit: 2 }
    const sizes: number[] = []
    const found: string[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const page = await list({ ...asked, ...(after === undefined ? {} : { after }) })
      sizes.push(page.items.length)
      found.push(...page.items.map(({ id }) => id))
      after = page.next
    }
    expect(found).toEqual([rare])
    expect(sizes).toEqual([0, 0, 1])
    const edges = []
    for (let after: string | null | undefined; after !== null; ) {
      const page = await list({ model: 'edge', limit: 200, ...(after === undefined ? {} : { after }) })
      edges.push(...page.items.map(({ id }) => Number(id.slice(4))))
      after = page.next
    }
    expect(edges, 'none is lost between two looks').toHaveLength(240)
    expect(edges).toEqual(edges.toSorted((one, other) => other - one))
  })
})

describe('one request', () => {
  const show = async (id: string, account = ADA) =>
    requestDetail.parse(doneValue(await showRequest(services(), { account }, id)))

  it('has lines that add up to its cost in every tier', async () => {
    await bench.credit(ADA, 10n ** 12n, 'a')
    const used = [
      [0, 0],
      [10, 20],
      [333, 7],
      [496, 1],
      [497, 1],
      [900, 41],
    ] as const
    for (const tokens of used) {
      const detail = await show(await bench.spend(ADA, tokens))
      const pico = detail.lines.reduce((sum, { amount }) => sum + picoOf(amount), 0n)
      expect(nanoFromPico(pico)).toBe(parseUsd(detail.cost!))
      expect(detail.tier).toBe(tokens[0] > 496 ? 500 : 0)
      expect(detail.lines.at(-1)).toEqual({
        what: 'per_request',
        tokens: null,
        per_million: null,
        multiplied_by: null,
        amount: '0.000000007',
      })
      expect(detail.lines.some(({ what }) => what === 'output')).toBe(tokens[1] > 0)
    }
  })

  it('shows the payer, the statement line and the attempts', async () => {
    await bench.credit(ADA, 10n ** 10n, 'a')
    const [paid, free] = [await bench.spend(ADA, [10, 20]), await bench.spend(ADA, undefined)]
    expect(await show(paid)).toMatchObject({
      ...{ movement: 2, price_version: 1, tier: 0, shortfall: '0.00', cache_lost: null, compaction: null },
      paid_by: { kind: 'wallet', plan: null, windows: [], caps: [] },
      attempts: [{ lane: 'demo/demo', outcome: 'finished', status: 200, ms: 34 }],
    })
    expect(await show(free)).toMatchObject({ movement: null, lines: [], cost: '0.00', outcome: 'upstream_failed' })
    const running = await bench.ask(ADA)
    expect(await show(running.requestId)).toMatchObject({ movement: null, lines: [], cost: null, state: 'open' })
  })

  it('of another account does not exist', async () => {
    await bench.credit(BEN, 10n ** 10n, 'b')
    const strange = await bench.spend(BEN, [1, 1])
    const never = strange.split('').reverse().join('')
    const [foreign, none] = [
      await showRequest(services(), { account: ADA }, strange),
      await showRequest(services(), { account: ADA }, never),
    ]
    expect(foreign).toMatchObject({ kind: 'refused', reason: 'request_not_found' })
    expect(JSON.stringify(foreign).replace(strange, '')).toBe(JSON.stringify(none).replace(never, ''))
  })
})

const picoOf = (amount: string): bigint => {
  const [whole, fraction = ''] = amount.split('.')
  return BigInt(whole!) * 10n ** 12n + BigInt(fraction.padEnd(12, '0'))
}
