import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type Asked,
  type BenchAccount,
  openUsageBench,
  type UsageBench,
} from '../../test/fixtures/admin/usage-bench.ts'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { parseUsd } from '../model/money.ts'
import {
  exportUsage,
  type UsageAnswer,
  type UsageArgs,
  type UsedView,
  usageOverview,
  usageReport,
} from './usage-report.ts'

/** USAGE_RECEIPTS=20000 USAGE_RANGES=1000 USAGE_SEED=7 make a long run. */
const RECEIPTS = Number(process.env.USAGE_RECEIPTS ?? 1500)
const RANGES = Number(process.env.USAGE_RANGES ?? 80)
const SEED = Number(process.env.USAGE_SEED ?? Date.now() % 1_000_000)

const DAY = 86_400_000
const BEGIN = Date.UTC(2024, 1, 20)
const SPAN = 420 * DAY
const MODELS = ['demo', 'a "b", c', '=evil', 'größer', 'm5', 'm6', 'm7', 'm8', 'm9', 'm10']
const OUTCOMES = ['completed', 'completed', 'completed', 'client_gone', 'upstream_failed', 'recovered'] as const

const MUST_BE_SEEN = ['a range by hour', 'a range by day', 'a range by month', 'clocks were turned in it']

const below = randomFrom(SEED)
const oneOf = <Item>(list: readonly Item[]): Item => list[below(list.length)]!
const seen: Record<string, number> = {}
const see = (what: string) => {
  seen[what] = (seen[what] ?? 0) + 1
}

let bench: UsageBench
let accounts: BenchAccount[]

/** Weeks of quiet, days of work, and many in the same quarter of an hour. */
const pauseMs = (): number => (below(20) === 0 ? below(20 * DAY) : below(2) === 0 ? below(DAY) : below(900_000))

function anything(): Asked {
  const account = oneOf(accounts)
  const outcome = oneOf(OUTCOMES)
  const released = outcome !== 'completed' && below(2) === 0
  see(`outcome: ${outcome}${released ? ', released' : ''}`)
  const key = oneOf(account.keys)
  see(`kind: ${key.kind}`)
  const [whole, part] = [below(5000), below(100)]
  return {
    ...{ account, key, outcome, model: oneOf(MODELS) },
    tokens: released ? undefined : [whole, below(3000), part, below(100), below(part + 1)],
    cost: released ? 0n : BigInt(below(700_000)),
  }
}

/** What may come between the two files: nothing of it may count a receipt twice or leave one out. */
const ACCIDENTS: Readonly<Record<string, () => Promise<unknown>>> = {
  'a kill': () => bench.restart(),
  'writes that fail': async () => {
    bench.failing = 1 + below(3)
  },
  'a lost file': () => bench.restart(() => bench.loseContent()),
  'a copy is made': () => bench.restart(() => bench.copyContent('content.copy')),
  'an older copy': () => bench.restart(() => bench.putBackContent('content.copy')),
  'counted meanwhile'() {
    bench.failing = 0
    return bench.keeper.catchUp()
  },
  'read meanwhile': () => reportOf(query()),
}

beforeAll(async () => {
  bench = await openUsageBench(BEGIN)
  accounts = [await bench.addAccount('ada@example.com'), await bench.addAccount('ben@example.com')]
  await bench.restart(() => bench.copyContent('content.copy'))
  for (let asked = 0; asked < RECEIPTS; ) {
    bench.clock.at = Math.min(bench.clock.at + Math.floor(pauseMs() * (3000 / RECEIPTS)), BEGIN + SPAN)
    const together = Array.from({ length: 1 + below(12) }, anything)
    await Promise.all(together.map((each) => bench.ask(each)))
    asked += together.length
    if (below(25) === 0) {
      const accident = oneOf(Object.keys(ACCIDENTS))
      see(`accident: ${accident}`)
      await ACCIDENTS[accident]!()
    }
  }
  bench.failing = 0
})
afterAll(async () => {
  console.log(`usage agrees: seed ${SEED}, ${JSON.stringify(seen)}`)
  await bench.close()
})

const iso = (at: number): string => new Date(at).toISOString().slice(0, 10)
const ZONES = Intl.supportedValuesOf('timeZone')
/** Half hours, quarters, the ends of the world, and clocks that are turned at midnight or by half an hour. */
const ODD_ZONES = [
  ...['Asia/Kolkata', 'Asia/Kathmandu', 'Pacific/Kiritimati', 'Pacific/Niue', 'Australia/Lord_Howe', 'Pacific/Chatham'],
  ...['Africa/Cairo', 'America/Havana', 'America/St_Johns', 'Europe/Berlin', 'America/New_York', 'Antarctica/Troll'],
]

function query(): UsageArgs {
  const step = oneOf(['hour', 'day', 'month'] as const)
  const days = 1 + below({ hour: 15, day: 390, month: 500 }[step])
  const from = BEGIN + below(bench.clock.at - BEGIN + DAY) - Math.floor(days / 2) * DAY
  const account = oneOf(accounts)
  const maybe = <Item>(item: Item): Item | undefined => (below(4) === 0 ? item : undefined)
  return {
    ...{ account: account.id, step, from: iso(from), to: iso(from + days * DAY) },
    ...{ zone: below(2) === 0 ? oneOf(ODD_ZONES) : oneOf(ZONES), by: oneOf(['model', 'key', 'kind'] as const) },
    ...{ model: maybe(oneOf(MODELS)), key: maybe(oneOf(account.keys).id), kind: maybe(oneOf(['wallet', 'builder'])) },
  }
}

async function reportOf(args: UsageArgs): Promise<UsageAnswer> {
  const answer = await usageReport(bench.sources, args)
  if (answer.kind === 'refused') throw new Error(`${JSON.stringify(args)}: ${answer.message}`)
  return answer.value
}

type Sums = Record<string, bigint>
const TOKENS = ['uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning'] as const
const COUNTS = ['requests', 'failed', ...TOKENS] as const

const sumsOf = (used: UsedView): Sums => ({
  ...Object.fromEntries(COUNTS.map((count) => [count, BigInt(used[count])])),
  ...{ wallet: parseUsd(used.wallet)!, plan: parseUsd(used.plan)! },
})

const NOTHING: Sums = Object.fromEntries([...COUNTS, 'wallet', 'plan'].map((sum) => [sum, 0n]))
const add = (one: Sums, other: Sums): Sums =>
  Object.fromEntries(Object.keys(NOTHING).map((sum) => [sum, one[sum]! + other[sum]!]))
const together = (all: readonly UsedView[]): Sums => all.map(sumsOf).reduce(add, NOTHING)

interface ReceiptNames {
  readonly account: string
  readonly key: string
  readonly kind: string
  readonly model: string
  readonly at: number
}

interface Receipt extends ReceiptNames {
  readonly sums: Sums
}

type ReceiptRow = ReceiptNames &
  Readonly<Record<(typeof TOKENS)[number], number | null>> & { readonly outcome: string; readonly charge_nano: bigint }

const RECEIPTS_OF_ALL = `SELECT accounts.id AS account, keys.id AS key, receipts.kind AS kind, model, closed_at AS at, outcome,
    uncached_input, cached_input, cache_write, output, reasoning, charge_nano
  FROM receipts JOIN accounts ON accounts.row = receipts.account JOIN keys ON keys.row = receipts.key`

/** Plain, and by nothing that the usage is made of. */
async function readReceipts(): Promise<Receipt[]> {
  const rows = await bench.database.file.all<ReceiptRow>(RECEIPTS_OF_ALL, [])
  return rows.map(({ account, key, kind, model, at, outcome, charge_nano, ...counts }) => {
    const tokens = Object.fromEntries(TOKENS.map((count) => [count, BigInt(counts[count] ?? 0)]))
    const paid = { wallet: kind === 'wallet' ? charge_nano : 0n, plan: kind === 'builder' ? charge_nano : 0n }
    const sums = { ...tokens, ...paid, requests: 1n, failed: outcome === 'completed' ? 0n : 1n }
    return { account, key, kind, model, at, sums }
  })
}

const calendars = new Map<string, Intl.DateTimeFormat>()
function dayIn(zone: string, at: number): string {
  const calendar = calendars.get(zone) ?? new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
  calendars.set(zone, calendar)
  return calendar.format(at)
}

function matches(args: UsageArgs, { account, key, model, kind, at }: Receipt): boolean {
  if (account !== args.account || (args.key ?? key) !== key || (args.model ?? model) !== model) return false
  if ((args.kind ?? kind) !== kind) return false
  const day = dayIn(args.zone, at)
  return day >= args.from && day < args.to
}

async function expectAgreement(args: UsageArgs, receipts: readonly Receipt[]): Promise<void> {
  const name = JSON.stringify(args)
  const mine = receipts.filter((receipt) => matches(args, receipt))
  const sum = (some: readonly Receipt[]): Sums => some.map(({ sums }) => sums).reduce(add, NOTHING)
  const report = await reportOf(args)
  const total = sum(mine)
  see(mine.length > 0 ? `a range by ${args.step}` : 'an empty range')
  if ((Date.parse(report.to) - Date.parse(report.from)) % DAY !== 0) see('clocks were turned in it')
  expect(sumsOf(report.total), name).toEqual(total)
  expect(together(report.total_steps), name).toEqual(total)
  expect(together(report.series.map((series) => series.total)), name).toEqual(total)
  expect(together(report.table.map(({ used }) => used)), name).toEqual(total)
  for (const [index, at] of report.steps.entries()) {
    const [from, to] = [Date.parse(at), Date.parse(report.steps[index + 1] ?? report.to)]
    const inStep = sum(mine.filter((receipt) => receipt.at >= from && receipt.at < to))
    expect(sumsOf(report.total_steps[index]!), `${name} ${at}`).toEqual(inStep)
    expect(together(report.series.map(({ steps }) => steps[index]!)), `${name} ${at}`).toEqual(inStep)
  }
  for (const { id, used } of report.table) {
    const part = mine.filter((receipt) => receipt[args.by as 'model' | 'key' | 'kind'] === id)
    expect(sumsOf(used), `${name} ${id}`).toEqual(sum(part))
  }
  await expectCsvAgrees(args, total)
}

async function expectCsvAgrees(args: UsageArgs, total: Sums): Promise<void> {
  const csv = await exportUsage(bench.sources, args)
  if (csv.kind === 'refused') throw new Error(csv.message)
  const rows = csv.value.split('\r\n').slice(1, -1)
  // The last nine cells are numbers.
  const sums = rows.map((row) => row.split(',').slice(-9))
  const used = sums.map((cells) =>
    Object.fromEntries([...COUNTS, 'wallet', 'plan'].map((sum, index) => [sum, cells[index]!])),
  )
  expect(together(used as unknown as UsedView[]), `CSV of ${JSON.stringify(args)}`).toEqual(total)
}

async function expectOverviewAgrees(receipts: readonly Receipt[], args: UsageArgs): Promise<void> {
  const latest = bench.clock.at
  bench.clock.at = BEGIN + below(latest - BEGIN)
  const today = dayIn(args.zone, bench.clock.at)
  const overview = await usageOverview(bench.sources, args)
  if (overview.kind === 'refused') throw new Error(overview.message)
  const own = receipts.filter(({ account }) => account === args.account)
  const since = (begins: (receipt: Receipt) => boolean) =>
    own
      .filter(begins)
      .map(({ sums }) => sums)
      .reduce(add, NOTHING)
  expect(sumsOf(overview.value.today), args.zone).toEqual(since(({ at }) => dayIn(args.zone, at) >= today))
  const from = Date.parse(overview.value.hours[0]!.from)
  expect(bench.clock.at - from, args.zone).toBeLessThan(24 * 3_600_000)
  expect(together(overview.value.hours.map(({ used }) => used)), args.zone).toEqual(since(({ at }) => at >= from))
  bench.clock.at = latest
}

it(`agrees with the receipts to the last unit, in any zone, through every event (seed ${SEED})`, async () => {
  const receipts = await readReceipts()
  see(`receipts: ${receipts.length}`)
  for (let range = 0; range < RANGES; range++) {
    const args = query()
    await expectAgreement(args, receipts)
    if (range % 5 === 0) await expectOverviewAgrees(receipts, args)
  }
  expect(MUST_BE_SEEN.filter((what) => seen[what] === undefined)).toEqual([])
  expect(seen['an empty range'] ?? 0).toBeLessThan(RANGES / 2)
})

/** Nothing is outside of it. */
async function expectAllAgrees(receipts: readonly Receipt[]): Promise<void> {
  const range = { from: iso(BEGIN), to: iso(bench.clock.at + 3 * DAY), step: 'month', zone: oneOf(ZONES) } as const
  for (const { id } of accounts) {
    for (const by of ['model', 'key', 'kind'] as const) await expectAgreement({ account: id, by, ...range }, receipts)
  }
}

it('agrees after a rebuild, and after a ledger was restored from a backup', async () => {
  const all = await readReceipts()
  await bench.restart(() => bench.loseContent())
  await bench.keeper.catchUp()
  await expectAllAgrees(all)
  await bench.restart(() => bench.copyLedger('ledger.copy'))
  bench.clock.at += DAY
  for (let asked = 0; asked < 20; asked++) await bench.ask(anything())
  await bench.keeper.catchUp()
  await bench.restart(() => bench.putBackLedger('ledger.copy'))
  await expectAllAgrees(all)
})

it('does not mix accounts whose row was reused after a restore', async () => {
  await bench.restart(() => bench.copyLedger('ledger.copy'))
  const lost = await bench.addAccount('lost@example.com')
  const asked = { model: 'demo', outcome: 'completed', tokens: [1, 0, 0, 1, 0], cost: 5n } as const
  for (let each = 0; each < 3; each++) await bench.ask({ ...asked, account: lost, key: lost.keys[0]! })
  await bench.keeper.catchUp()
  await bench.restart(() => bench.putBackLedger('ledger.copy'))
  bench.clock.at += DAY
  await bench.keeper.catchUp()
  const next = await bench.addAccount('next@example.com')
  expect(next.row).toBe(lost.row)
  await bench.ask({ ...asked, account: next, key: next.keys[0]! })
  const range = { from: iso(BEGIN), to: iso(bench.clock.at + 3 * DAY), step: 'month', zone: 'UTC' } as const
  expect((await reportOf({ account: next.id, by: 'key', ...range })).total.requests).toBe(1)
})
