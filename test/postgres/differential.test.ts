import { describe, expect, it } from 'vitest'
import type { AdmitRequest } from '../../src/ledger/state/turns.ts'
import { type Allowance, CAP_KINDS, type Cycle, capOf, periodAt } from '../../src/model/allowance.ts'
import type { AccountRow, RequestId } from '../../src/model/ids.ts'
import { capsOfRun } from '../../src/model/run.ts'
import { limitOf, requestFor, usd } from '../fixtures/ledger/contract-bench.ts'
import { fractionsFrom } from '../fixtures/lib/seeded-random.ts'
import { createBothLedgers } from './both-ledgers.ts'
import { createPostgresLedgerState, postgres } from './postgres-ledger.ts'

const STEPS = 400
/** `MILLRACE_STEPS=100000` compares for longer. */
const RUNS = Math.ceil(Number(process.env.MILLRACE_STEPS ?? 2000) / STEPS)
/** More runs while some kind of answer has not come up. */
const RUNS_MAX = RUNS + 15
const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 1_000_000_000)

/** The rules of money stand in TypeScript and in the database's language. This is what holds the two together. */
describe.skipIf(!postgres)('the reducer and the database', () => {
  it(`decide alike on random operations (MILLRACE_SEED=${seed})`, { timeout: 120_000 + RUNS * 10_000 }, async () => {
    const counts = new Map<string, number>()
    const isMissing = (kind: string) => !counts.has(kind)
    let run = 0
    while (run < RUNS || (run < RUNS_MAX && KINDS.some(isMissing))) await compareRun(createDice(seed + run++), counts)
    console.log(
      `seed ${seed}, ${run} runs of ${STEPS} steps: ${JSON.stringify(Object.fromEntries([...counts].sort()))}`,
    )
    // A comparison that never came to a refusal would show nothing about it.
    expect(KINDS.filter(isMissing)).toEqual([])
  })

  it('decide alike at the moment when something ends, and just before', async () => {
    const database = await createPostgresLedgerState()
    const account = await database.addAccount()
    const both = await createBothLedgers(database, [account], ['a'])
    const start = Date.UTC(2026, 0, 31)
    const window = { ...allowance('window:5h', 'quota', CYCLES[0]!, createDice(1)), amount: usd(600_000n) }
    const claim = (at: number) => ({ scope: 'a', fingerprint: 'x', expiresAt: at + HOUR })
    const admitAt = async (at: number, over: Partial<AdmitRequest>) => {
      await both.setClock(at)
      const turn = requestFor(account, over)
      const { expected, found } = await both.run([], [turn])
      expect(found).toEqual(expected)
      const [admitted] = expected.admissions
      if (admitted?.outcome.kind !== 'held') return admitted?.outcome.kind
      const charge = { usage: usageOf(createDice(1)), tier: 0, cost: usd(600_000n) }
      const closed = await both.run([{ requestId: turn.requestId, charge, kept: true, compaction: undefined }], [])
      expect(closed.found).toEqual(closed.expected)
      return 'held'
    }
    await both.setClock(start)
    await both.transfer({ account, kind: 'credit', amount: usd(100_000_000n), reason: 'r', ref: 'r' })
    await both.assign({ account, plan: 'p', windows: [window], endsAt: start + 11 * HOUR })
    const builder = { kind: 'builder' as const, allowances: [window] }
    expect(await admitAt(start, { claim: claim(start) })).toBe('held')
    expect(await admitAt(start, builder)).toBe('held')
    expect(await admitAt(start + HOUR - 1, { claim: claim(start + HOUR) })).toBe('claimed')
    expect(await admitAt(start + HOUR, { claim: claim(start + HOUR) })).toBe('held')
    expect(await admitAt(start + 5 * HOUR - 1, builder)).toBe('exhausted')
    expect(await admitAt(start + 5 * HOUR, builder)).toBe('held')
    expect(await admitAt(start + 11 * HOUR - 1, builder)).toBe('held')
    expect(await admitAt(start + 11 * HOUR, builder)).toBe('no-subscription')
    expect(await database.violations()).toEqual([])
    await database.close()
  })

  it(`reckon the same periods (MILLRACE_SEED=${seed})`, async () => {
    const dice = createDice(seed)
    const ledgerState = await createPostgresLedgerState()
    const asked = Array.from({ length: 3000 }, () => ({
      cycle: dice.of(CYCLES),
      at: dice.below(4_000_000_000) * 1000 + dice.of([0, 1, 999]),
      day: 1 + dice.below(31),
    }))
    const { rows } = await ledgerState.pool.query(
      `SELECT array_to_json(period_at(value -> 'cycle', (value ->> 'at')::bigint, (value ->> 'day')::integer)) AS period
        FROM jsonb_array_elements($1) WITH ORDINALITY ORDER BY ordinality`,
      [JSON.stringify(asked)],
    )
    const expected = asked.map(({ cycle, at, day }) => periodAt(cycle, at, day))
    expect(rows.map(({ period: [start, end] }) => ({ start, end }))).toEqual(expected)
    await ledgerState.close()
  })
})

const KINDS = [
  ...['held', 'short', 'in-flight', 'exceeds-allowance', 'exhausted', 'cap-reached', 'limited', 'limit-too-small'],
  ...['quota-reached', 'quota-in-flight'],
  ...[
    'claimed',
    'frozen',
    'no-subscription',
    'settled',
    'shortfall',
    'released',
    'not-open',
    'ref-taken',
    'changed',
    'compacted',
  ],
]

const CYCLES: readonly Cycle[] = [
  { kind: 'anchored', ms: 5 * 3_600_000 },
  { kind: 'day' },
  { kind: 'week' },
  { kind: 'month', day: 'billing' },
  { kind: 'month', day: 1 },
  { kind: 'month', day: 31 },
  { kind: 'quarter' },
  { kind: 'ever' },
]

/** The same numbers for the same seed. */
function createDice(seed: number) {
  const next = fractionsFrom(seed)
  const below = (most: number) => Math.floor(next() * most)
  return {
    below,
    chance: (part: number) => next() < part,
    of: <Each>(choices: readonly Each[]): Each => choices[below(choices.length)]!,
    some: <Each>(choices: readonly Each[], part: number): Each[] => choices.filter(() => next() < part),
  }
}

type Dice = ReturnType<typeof createDice>

const SCOPES = ['a', 'b']
const LIMITS = [limitOf('requests', 6), limitOf('tokens', 6000), limitOf('concurrent', 4)]

const windowsOf = (dice: Dice): Allowance[] => [
  ...dice.some(
    [
      allowance('window:5h', 'quota', CYCLES[dice.chance(0.2) ? 2 : 0]!, dice),
      allowance('window:week', 'quota', CYCLES[2]!, dice),
    ],
    0.7,
  ),
  allowance('window:month', 'quota', CYCLES[3]!, dice),
]

/** Of the key, of its person and of its team; some are raised for a while, which may be over. */
const capsOf = (dice: Dice, at: number): Allowance[] =>
  (
    [
      ...([
        ['key', 'day'],
        ['key', 'month'],
        ['key', 'requests_day'],
        ['key', 'tokens_day'],
      ] as const),
      ...([
        ['person', 'week'],
        ['person', 'tokens_day'],
        ['team', 'quarter'],
        ['team', 'total'],
      ] as const),
    ] as const
  ).map(([holder, name]) => {
    const amounts = { requests: [3n, 40n], tokens: [3_000n, 300_000n], usd: [2_000_000n, 3_000_000n, 10_000_000n] }
    const amount = dice.of(amounts[CAP_KINDS[name].measure])
    const raised = { amount: usd(amount * 2n), until: at + dice.below(3_600_000) - 600_000 }
    return { ...capOf(holder, 1, name, amount), ...(dice.chance(0.2) && { raised }) }
  })

/** The budget of a run and of the one around it. */
const RUNS_END = Date.UTC(2090, 0, 1)
const runCapsOf = (dice: Dice): readonly Allowance[] => {
  const amounts = {
    total: dice.of([2_000_000n, 10_000_000n]),
    requests: dice.of([5n, 40n]),
    tokens: dice.of([3_000n, 300_000n]),
  }
  const { total, requests, tokens } = amounts
  return [...capsOfRun(1, RUNS_END, { total }), ...capsOfRun(2, RUNS_END, { requests, tokens })]
}

const allowance = (subject: string, unit: 'quota', cycle: Cycle, dice: Dice): Allowance => ({
  ...{ subject, unit, cycle, name: subject.slice(subject.lastIndexOf(':') + 1) },
  amount: usd(dice.of([2_000_000n, 3_000_000n, 10_000_000n])),
})

const FREE = { inputPico: 0n, outputPicoPerToken: 0n, perRequest: usd(0n) }

const termsOf = (dice: Dice) => ({
  inputPico: BigInt(dice.below(dice.of([50_000_000, 200_000_000]))),
  outputPicoPerToken: dice.of([0n, 333n, 5_000_000n, 5_000_000n, 700_001n]),
  perRequest: usd(dice.of([0n, 7n])),
})

/** Small amounts and few names, so that turns come into each other's way. */
function turnOf(dice: Dice, account: AccountRow, at: number): AdmitRequest {
  const kind = dice.of(['wallet', 'builder'] as const)
  return requestFor(account, {
    kind,
    terms: dice.chance(0.08) ? FREE : termsOf(dice),
    clientCap: dice.chance(0.6)
      ? dice.of(kind === 'builder' ? [100, 300, 300, 380, 2500] : [1, 100, 300, 2500])
      : undefined,
    modelCap: dice.of([200, 4096, 100_000]),
    choices: dice.of([1, 1, 3]),
    allowances: [
      ...(dice.chance(kind === 'builder' ? 0.95 : 0.05) ? windowsOf(dice) : []),
      ...(dice.chance(0.3) ? dice.some(capsOf(dice, at), dice.of([0.2, 0.5])) : []),
      ...(dice.chance(0.2) ? runCapsOf(dice) : []),
    ],
    limits: dice.some(LIMITS, 0.3).map((limit) => {
      const cost = limit.kind === 'tokens' ? dice.of([100, 2000, 6000, 6001]) : 1
      return { ...limit, cost, subject: `${limit.subject} ${dice.below(2)}` }
    }),
    claim: dice.chance(0.25)
      ? { scope: dice.of(SCOPES), fingerprint: dice.of(['x', 'y']), expiresAt: at + dice.below(3_600_000) }
      : undefined,
  })
}

async function compareRun(dice: Dice, counts: Map<string, number>): Promise<void> {
  const database = await createPostgresLedgerState()
  const accounts = [await database.addAccount(), await database.addAccount()]
  const both = await createBothLedgers(database, accounts, SCOPES)
  const asked: RequestId[] = []
  /** When something ends: the clock stands at exactly these moments now and then, where 'before' and 'until' differ. */
  const ends = new Set<number>()
  let at = Date.UTC(2026, dice.below(12), 1 + dice.below(28))
  await both.setClock(at)
  const count = (kind: string) => counts.set(kind, (counts.get(kind) ?? 0) + 1)

  const someTurns = () => {
    const turns = Array.from({ length: 1 + dice.below(5) }, () => turnOf(dice, dice.of(accounts), at))
    for (const { claim } of turns) if (claim) ends.add(claim.expiresAt)
    return turns
  }
  const someCloses = () =>
    Array.from({ length: asked.length === 0 ? 0 : 1 + dice.below(5) }, () => ({
      requestId: asked[Math.max(0, asked.length - 1 - dice.below(12))]!,
      charge: dice.chance(0.7)
        ? { usage: usageOf(dice), tier: 0, cost: usd(BigInt(dice.below(dice.of([100, 5_000_000, 20_000_000])))) }
        : undefined,
      kept: dice.chance(0.5),
      compaction: dice.chance(0.2)
        ? { tokensBefore: dice.below(1_000_000), tokensAfter: dice.below(20_000) }
        : undefined,
    }))
  const runTurns = async (closes: ReturnType<typeof someCloses>, turns: ReturnType<typeof someTurns>) => {
    const answer = await both.run(closes, turns)
    for (const [index, { outcome }] of answer.expected.admissions.entries()) {
      if (outcome.kind === 'held' || dice.chance(0.1)) asked.push(turns[index]!.requestId)
      count(outcome.kind)
    }
    for (const [index, each] of answer.expected.closes.entries()) {
      if (typeof each === 'string') {
        count(each)
        continue
      }
      count(closes[index]?.charge ? (each.shortfall > 0n ? 'shortfall' : 'settled') : 'released')
      if (each.compaction) count('compacted')
    }
    return answer
  }
  const steps: Record<string, () => Promise<{ expected: unknown; found: unknown }>> = {
    admit: () => runTurns([], someTurns()),
    close: () => runTurns(someCloses(), []),
    both: () => runTurns(someCloses(), someTurns()),
    async transfer() {
      const amount = usd(BigInt(dice.of([-1, 1, 1, 1])) * dice.of([1_000_000n, 5_000_000n, 20_000_000n]))
      const kind = amount > 0n ? 'credit' : 'refund'
      const answer = await both.transfer({
        account: dice.of(accounts),
        kind,
        amount,
        reason: 'r',
        ref: `${dice.below(40)}`,
      })
      count(answer.expected)
      return answer
    },
    async plan() {
      const endsAt = dice.chance(0.3) ? at + dice.below(40 * DAY) : undefined
      if (endsAt !== undefined) ends.add(endsAt)
      const order = { account: dice.of(accounts), plan: dice.of(['small', 'large']), windows: windowsOf(dice), endsAt }
      const answer = dice.chance(0.15) ? await both.end(order.account, at + dice.below(DAY)) : await both.assign(order)
      count(typeof answer.expected === 'string' ? answer.expected : answer.expected.kind)
      return answer
    },
    async freeze() {
      await both.freeze(dice.of(accounts), dice.chance(0.08))
      return { expected: 0, found: 0 }
    },
    async clock() {
      const soon = [...ends].filter((end) => end > at && end < at + 40 * DAY)
      if (soon.length > 0 && dice.chance(0.5)) at = dice.chance(0.5) ? Math.min(...soon) : dice.of(soon)
      else at += dice.below(dice.of([1000, 20_000, 20_000, HOUR, HOUR, 8 * HOUR, DAY, 40 * DAY]))
      await both.setClock(at)
      return both.state([...windowsOf(dice), ...capsOf(dice, at)])
    },
  }
  const names = ['admit', 'admit', 'both', 'both', 'close', 'close', 'transfer', 'plan', 'freeze', 'clock', 'clock']
  for (let step = 0; step < STEPS; step++) {
    const name = dice.of(names)
    const { expected, found } = await steps[name]!()
    expect(found, `seed ${seed}, step ${step}: ${name}`).toEqual(expected)
    const state = await both.state([])
    for (const end of state.ends) ends.add(end)
    expect(state.found, `seed ${seed}, step ${step}: balances after ${name}`).toEqual(state.expected)
  }
  expect(await database.violations()).toEqual([])
  await database.close()
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

const usageOf = (dice: Dice) => ({
  ...{ uncachedInput: dice.below(100), cachedInput: dice.below(50), cacheWrite: 0 },
  ...{ output: dice.below(3000), reasoning: 0, estimated: false },
})
