import { beforeAll, describe, expect, it } from 'vitest'
import type { ReceiptsTable } from '../../../src/db/tables.ts'
import { randomFrom } from '../../fixtures/lib/seeded-random.ts'
import { type ConsolePerson, type Sent, signUp } from '../../support/console-session.ts'
import { rowsOfCsv } from '../../support/read-csv.ts'
import { chat } from '../../support/send-chat.ts'
import { nanoOf, openAccount, type TestAccount } from '../../support/test-account.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

/** FIGURES_RANGES=1000 FIGURES_REQUESTS=500 FIGURES_SEED=7 make a long run. */
const RANGES = Number(process.env.FIGURES_RANGES ?? 60)
const REQUESTS = Number(process.env.FIGURES_REQUESTS ?? 120)
const SEED = Number(process.env.FIGURES_SEED ?? Date.now() % 1_000_000)

const HOUR = 3_600_000
const DAY = 24 * HOUR
const SPAN = 120 * DAY
const ZONES = [
  ...Intl.supportedValuesOf('timeZone'),
  ...['Asia/Kathmandu', 'Pacific/Kiritimati', 'Australia/Lord_Howe', 'America/Havana', 'Europe/Berlin'],
]

const below = randomFrom(SEED)
const oneOf = <Item>(list: readonly Item[]): Item => list[below(list.length)]!

const cost = (output: string) => ({ input: '0.3', output, per_request: '0.000000007' })
const lane = (upstream: string, more: object = {}) => ({ upstream, model: 'demo-fast', ...more })
const model = (id: string, lanes: readonly object[]) => ({
  ...{ id, context_tokens: 128_000, max_output_tokens: 1000, price: { input: '1', output: '17.7' }, lanes },
})
const MODELS = [
  model('plain', [lane('demo', { cost: cost('3.3') })]),
  model('fails-over', [lane('away', { priority: 1 }), lane('demo', { priority: 2, cost: cost('23.1') })]),
  model('without-cost', [lane('demo')]),
  model('fails', [lane('away')]),
  model('=free', [lane('demo', { cost: cost('0') })]),
]

interface Receipt {
  readonly account: string
  readonly kind: 'wallet' | 'builder'
  readonly model: string
  readonly openedAt: number
  readonly closedAt: number
  readonly sums: Sums
}
type Sums = Readonly<Record<(typeof SUMS)[number], bigint>>
const SUMS = [
  ...['requests', 'failed', 'failovers', 'unpriced', 'input', 'output', 'revenue', 'plan', 'cost', 'plan_cost'],
] as const

const calendars = new Map<string, Intl.DateTimeFormat>()
function dayIn(zone: string, at: number): string {
  const calendar = calendars.get(zone) ?? new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
  calendars.set(zone, calendar)
  return calendar.format(at)
}

function receiptOf(account: string, row: ReceiptsTable): Receipt {
  const attempts = JSON.parse(row.attempts ?? '[]') as { readonly lane: string; readonly cost?: string }[]
  const costs = attempts.flatMap((attempt) => (attempt.cost === undefined ? [] : [BigInt(attempt.cost)]))
  const count = (holds: boolean): bigint => (holds ? 1n : 0n)
  const [charge, provider] = [row.charge_nano ?? 0n, costs.reduce((sum, each) => sum + each, 0n)]
  const isWallet = row.kind === 'wallet'
  return {
    ...{ account, kind: row.kind, model: row.model, openedAt: row.opened_at, closedAt: row.closed_at ?? 0 },
    sums: {
      ...{ requests: 1n, failed: count(row.outcome !== 'completed') },
      failovers: count(new Set(attempts.map((attempt) => attempt.lane)).size > 1),
      unpriced: count(row.state === 'settled' && costs.length === 0),
      input: BigInt((row.uncached_input ?? 0) + (row.cached_input ?? 0) + (row.cache_write ?? 0)),
      output: BigInt(row.output ?? 0),
      ...{ revenue: isWallet ? charge : 0n, plan: isWallet ? 0n : charge },
      ...{ cost: isWallet ? provider : 0n, plan_cost: isWallet ? 0n : provider },
    },
  }
}

const total = (receipts: readonly Receipt[]): Sums =>
  Object.fromEntries(
    SUMS.map((name) => [name, receipts.reduce((sum, { sums }) => sum + sums[name], 0n)]),
  ) as unknown as Sums

describe(`overview, exports and invoices of an operator (seed ${SEED})`, () => {
  const server = useServer({ config: EVERY_LANE_ASKED, stepped: -SPAN })
  let accounts: TestAccount[]
  let operator: ConsolePerson
  let receipts: readonly Receipt[]
  let transfers: readonly { readonly account: string; readonly amount: bigint; readonly at: number }[]

  /** By nothing but the rows of the ledger. */
  async function readLedger(): Promise<void> {
    const rows = await Promise.all(
      accounts.map(async ({ id, receipts: all }) => (await all()).map((row) => receiptOf(id, row))),
    )
    receipts = rows.flat()
    const moved = await server()
      .app.operations.db.selectFrom('transfers')
      .innerJoin('accounts', 'accounts.row', 'transfers.account')
      .select(['accounts.id', 'amount_nano', 'at'])
      .where('unit', '=', 'usd')
      .execute()
    transfers = moved.map(({ id, amount_nano, at }) => ({ account: id, amount: amount_nano, at }))
  }

  beforeAll(async () => {
    await server().operate('managed.change', {
      upstreams: [
        { id: 'demo', wire: 'demo' },
        { id: 'away', wire: 'chat', base_url: 'http://127.0.0.1:1/v1', allow_private: true },
      ],
      models: MODELS,
      plans: [{ id: 'pro', models: ['*'], windows: [{ every: 'month', allowance: '1000' }] }],
    })
    accounts = [await openAccount(server(), { credit: '50' }), await openAccount(server(), { credit: '7' })]
    const keys = await Promise.all(
      accounts.map(async ({ id, key, createKey }) => {
        await server().operate('plans.assign', { account: id, plan: 'pro' })
        return [key, key, (await createKey({ kind: 'builder' })).key]
      }),
    )
    for (let request = 0; request < REQUESTS; request++) {
      const account = below(accounts.length)
      const { id } = oneOf(MODELS)
      const messages = [{ role: 'user', content: `count to ${1 + below(40)}` }]
      const { status } = await chat(server(), { key: oneOf(keys[account]!) }, { model: id, max_tokens: 200, messages })
      expect(status === 200, `${id}: ${status}`).toBe(id !== 'fails')
      if (below(10) === 0) await accounts[account]!.credit(`${1 + below(5)}.${below(10)}1`)
      if (request === Math.floor(REQUESTS / 2))
        await server().operate('managed.change', {
          prices: [{ model: 'plain', price: { input: '2', output: '31.3', per_request: '0.0001' } }],
        })
      // Weeks of quiet, days of work, and many in the same quarter of an hour.
      server().advance([below(HOUR), below(20) * 60_000, below(DAY), below((3 * SPAN) / REQUESTS)][below(4)]!)
    }
    await readLedger()
    operator = await signUp(server(), { email: 'operator@figures.example', role: 'operator' })
  }, 300_000)

  async function ask(name: Parameters<ConsolePerson['send']>[0], sent: Sent) {
    // An address may send 20 requests a second.
    server().advance(100)
    const answer = await operator.send(name, sent)
    expect(answer.status, `${name} ${JSON.stringify(sent)}: ${answer.text}`).toBe(200)
    return answer
  }

  const sumsOf = (view: Readonly<Record<string, string | number>>): Sums =>
    Object.fromEntries(
      SUMS.map((name) => {
        const value = view[name]!
        return [name, typeof value === 'string' ? nanoOf(value) : BigInt(value)]
      }),
    ) as unknown as Sums

  interface Range {
    readonly from: string
    readonly to: string
    readonly zone: string
  }

  async function expectOverview(range: Range, step: string, within: readonly Receipt[]) {
    const { json } = await ask('GET /operate/overview', { query: { ...range, step } })
    const answer = json as {
      readonly total: Readonly<Record<string, string>>
      readonly total_steps: Readonly<Record<string, string>>[]
      readonly models: { readonly id: string; readonly served: Readonly<Record<string, string>> }[]
      readonly accounts: { readonly id: string; readonly served: Readonly<Record<string, string>> }[]
    }
    const expected = total(within)
    expect(sumsOf(answer.total)).toEqual(expected)
    expect(nanoOf(answer.total.margin!)).toBe(expected.revenue - expected.cost)
    const steps = answer.total_steps.map(sumsOf)
    for (const name of SUMS) expect(steps.reduce((sum, each) => sum + each[name], 0n)).toBe(expected[name])
    for (const { id, served } of answer.models)
      expect(sumsOf(served)).toEqual(total(within.filter((receipt) => receipt.model === id)))
    for (const { id, served } of answer.accounts)
      expect(sumsOf(served)).toEqual(total(within.filter(({ account }) => account === id)))
  }

  const csvOf = async (...asked: Parameters<typeof ask>) => rowsOfCsv((await ask(...asked)).text)
  const sumOf = (rows: readonly Record<string, string>[], name: string) =>
    rows.reduce((sum, row) => sum + nanoOf(row[name] === '' ? '0' : row[name]!), 0n)

  async function expectUsage(range: Range, step: string, account: string, within: readonly Receipt[]) {
    const query = { ...range, step, by: oneOf(['model', 'key', 'kind']) }
    const rows = await csvOf('GET /operate/accounts/:account/usage.csv', { params: { account }, query })
    const expected = total(within.filter((receipt) => receipt.account === account))
    const counted = rows.reduce((sum, row) => sum + BigInt(row.requests!), 0n)
    expect([counted, sumOf(rows, 'wallet_usd'), sumOf(rows, 'plan_usd')]).toEqual([
      ...[expected.requests, expected.revenue, expected.plan],
    ])
  }

  async function expectInvoice({ from, to, zone }: Range, account: string) {
    const query = { from, to, zone }
    const rows = await csvOf('GET /operate/accounts/:account/invoice.csv', { params: { account }, query })
    const amountOf = (line: string) =>
      sumOf(
        rows.filter((row) => row.line === line),
        'amount_usd',
      )
    const own = receipts.filter((receipt) => receipt.account === account)
    const movedUntil = (day: string) =>
      transfers.reduce(
        (sum, each) => (each.account === account && dayIn(zone, each.at) < day ? sum + each.amount : sum),
        0n,
      )
    const chargedUntil = (day: string) => total(own.filter(({ closedAt }) => dayIn(zone, closedAt) < day)).revenue
    const opening = movedUntil(from) - chargedUntil(from)
    const closing = movedUntil(to) - chargedUntil(to)
    const charged = chargedUntil(to) - chargedUntil(from)
    expect(['opening', 'transfer', 'charge', 'closing', 'charged'].map(amountOf)).toEqual([
      ...[opening, movedUntil(to) - movedUntil(from), -charged, closing, charged],
    ])
  }

  async function expectRequests(range: Range) {
    const rows = await csvOf('GET /operate/requests.csv', { query: { ...range } })
    const began = receipts.filter(({ openedAt }) => {
      const day = dayIn(range.zone, openedAt)
      return day >= range.from && day < range.to
    })
    const expected = total(began)
    expect([BigInt(rows.length), sumOf(rows, 'charge_usd'), sumOf(rows, 'cost_usd')]).toEqual([
      ...[expected.requests, expected.revenue + expected.plan, expected.cost + expected.plan_cost],
    ])
  }

  it('are those of the ledger to the last unit, in any range and zone', async () => {
    const times = receipts.flatMap(({ openedAt, closedAt }) => [openedAt, closedAt])
    const [begin, end] = [Math.min(...times), Math.max(...times)]
    const seen = { ranges: 0, empty: 0 }
    const all = total(receipts)
    for (const name of SUMS) expect(all[name] > 0n, name).toBe(true)
    for (let range = 0; range < RANGES; range++) {
      const step = oneOf(['hour', 'day', 'month'])
      const days = 1 + below({ hour: 15, day: 200, month: 300 }[step] ?? 1)
      const first = begin - 3 * DAY + below(end - begin + 6 * DAY)
      const iso = (at: number) => new Date(at).toISOString().slice(0, 10)
      const asked = { from: iso(first), to: iso(first + days * DAY), zone: oneOf(ZONES) }
      const within = receipts.filter(({ closedAt }) => {
        const day = dayIn(asked.zone, closedAt)
        return day >= asked.from && day < asked.to
      })
      seen[within.length === 0 ? 'empty' : 'ranges'] += 1
      const { id } = oneOf(accounts)
      await expectOverview(asked, step, within)
      await expectUsage(asked, step, id, within)
      await expectInvoice(asked, id)
      await expectRequests(asked)
    }
    console.log(`figures agree: seed ${SEED}, ${receipts.length} requests, ${JSON.stringify(seen)}`)
    expect(seen.ranges).toBeGreaterThan(seen.empty)
  }, 600_000)
})
