import fc from 'fast-check'
import { quotaOf, spendCapOf } from '../../model/allowance.fixture.ts'
import type { Allowance, Cycle } from '../../model/allowance.ts'
import type { AppliedLimit } from '../../model/limit.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { ChosenCapTerms, HoldTerms } from '../../model/price.ts'
import type { CompactedTokens } from '../../model/turn.ts'
import { HOUR_MS } from './books.fixture.ts'

/** What may happen to the books, as small numbers that whoever runs it gives a meaning to. */
export type Step =
  | {
      readonly do: 'admit'
      readonly account: number
      readonly key: number
      readonly kind: 'wallet' | 'builder'
      readonly clientCap: number | undefined
      readonly modelCap: number
      readonly chosenCap: ChosenCapTerms
      readonly price: PriceName
      readonly caps: number
      readonly limits: LimitsName
      readonly claim: number | undefined
    }
  | {
      readonly do: 'close'
      readonly pick: number
      readonly ending: 'free' | 'zero' | 'part' | 'whole' | 'beyond'
      readonly part: number
      readonly kept: boolean
      readonly compaction: CompactedTokens | undefined
    }
  | { readonly do: 'transfer'; readonly account: number; readonly amount: bigint }
  | { readonly do: 'assign'; readonly account: number; readonly plan: string; readonly days: number | undefined }
  | { readonly do: 'end'; readonly account: number; readonly days: number }
  | { readonly do: 'freeze'; readonly account: number; readonly frozen: boolean }
  | { readonly do: 'forget-rates' }
  | { readonly do: 'wait'; readonly until: Wait; readonly some: number }

export type Wait = 'clock-stands' | 'ms' | 'minutes' | 'hours' | 'just-before-an-end' | 'an-end' | 'days' | 'a-month'

const FIVE_HOURS: Cycle = { kind: 'anchored', ms: 5 * HOUR_MS }
const SEVEN_DAYS: Cycle = { kind: 'anchored', ms: 168 * HOUR_MS }
const MONTH: Cycle = { kind: 'month', day: 'billing' }

export const PLANS: Readonly<Record<string, readonly Allowance[]>> = {
  small: [
    quotaOf('5h', FIVE_HOURS, 6_500n),
    quotaOf('week', { kind: 'week' }, 9_000n),
    quotaOf('month', MONTH, 21_000n),
  ],
  large: [
    quotaOf('5h', FIVE_HOURS, 12_000n),
    quotaOf('week', { kind: 'week' }, 30_000n),
    quotaOf('month', MONTH, 60_000n),
  ],
  other: [quotaOf('7d', SEVEN_DAYS, 16_000n), quotaOf('month', MONTH, 6_500n)],
  // Not a plan that anybody would sell: its allowance is used by nothing but free turns.
  nothing: [quotaOf('month', MONTH, 0n)],
}

/** The caps of a key, as its owner may change them at any time. */
export const capsOf = (key: number, choice: number): readonly Allowance[] =>
  [
    [],
    [spendCapOf(key, 'day', 6_000n)],
    [spendCapOf(key, 'day', 2_200n), spendCapOf(key, 'month', 30_000n)],
    [spendCapOf(key, 'day', 15_000n), spendCapOf(key, 'month', 18_000n)],
  ][choice] ?? []

export const PRICES = {
  plain: { inputPico: 1_000_000n, outputPicoPerToken: 1_000n, perRequest: 0n as NanoUsd },
  odd: { inputPico: 123_457n, outputPicoPerToken: 1_237n, perRequest: 7n as NanoUsd },
  'input-only': { inputPico: 2_100_001n, outputPicoPerToken: 0n, perRequest: 0n as NanoUsd },
  zero: { inputPico: 0n, outputPicoPerToken: 0n, perRequest: 0n as NanoUsd },
} satisfies Record<string, HoldTerms>
type PriceName = keyof typeof PRICES

/** The standing one, and others that an operator may want. */
const CHOSEN_CAPS: readonly ChosenCapTerms[] = [
  { sharePercent: 25, tokensMin: 1024 },
  { sharePercent: 25, tokensMin: 1024 },
  { sharePercent: 1, tokensMin: 1 },
  { sharePercent: 33, tokensMin: 700 },
  { sharePercent: 100, tokensMin: 5000 },
]

const limit = (subject: string, over: Partial<AppliedLimit>): AppliedLimit => ({
  scope: 'key',
  kind: 'requests',
  subject,
  limit: 6,
  burst: 2,
  cost: 1,
  ...over,
})
const LIMITS = {
  none: () => [],
  requests: (key) => [limit(`key:${key}:requests`, {})],
  tokens: (_, account) => [
    limit(`account:${account}:concurrent`, { scope: 'account', kind: 'concurrent', limit: 2, burst: 2 }),
    limit(`account:${account}:tokens`, { scope: 'account', kind: 'tokens', limit: 600, burst: 3500, cost: 1500 }),
  ],
  'too-small': (key) => [
    limit(`key:${key}:requests`, {}),
    limit('model:demo:tokens', { scope: 'model', kind: 'tokens', limit: 600, burst: 900, cost: 901 }),
  ],
} satisfies Record<string, (key: number, account: number) => AppliedLimit[]>
type LimitsName = keyof typeof LIMITS
export const limitsOf = (name: LimitsName, key: number, account: number): AppliedLimit[] => LIMITS[name](key, account)

const BILLION = 1_000_000_000n * 1_000_000_000n
const account = fc.nat(2)
const often = <Value>(most: Value, ...others: Value[]): fc.Arbitrary<Value> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(most) }, { weight: 2, arbitrary: fc.constantFrom(...others) })
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 1 })

const COMPACTIONS = fc.record({ tokensBefore: fc.nat(1_000_000), tokensAfter: fc.nat(20_000) })

const STEPS: fc.WeightedArbitrary<Step>[] = [
  {
    weight: 24,
    arbitrary: fc.record({
      do: fc.constant('admit' as const),
      account,
      key: fc.nat(1),
      kind: fc.constantFrom('wallet' as const, 'builder' as const),
      clientCap: maybe(fc.integer({ min: 1, max: 4500 })),
      modelCap: fc.constantFrom(500, 4096, 100_000),
      chosenCap: fc.constantFrom(...CHOSEN_CAPS),
      price: often<PriceName>('plain', 'odd', 'input-only', 'zero'),
      caps: often(0, 1, 2, 3),
      limits: fc.constantFrom<LimitsName[]>(
        'none',
        'none',
        'none',
        'none',
        'requests',
        'tokens',
        'tokens',
        'too-small',
      ),
      claim: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 2, arbitrary: fc.nat(2) }),
    }),
  },
  {
    weight: 11,
    arbitrary: fc.record({
      do: fc.constant('close' as const),
      pick: fc.nat(50),
      ending: often<'free' | 'zero' | 'part' | 'whole' | 'beyond'>('part', 'free', 'zero', 'whole', 'beyond'),
      part: fc.nat(1000),
      kept: fc.boolean(),
      compaction: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: COMPACTIONS }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('transfer' as const),
      account,
      amount: fc.oneof(
        { weight: 8, arbitrary: fc.bigInt({ min: -20_000n, max: 40_000n }) },
        { weight: 1, arbitrary: fc.constantFrom(BILLION, BILLION + 1n, -BILLION) },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('assign' as const),
      account,
      plan: often('small', 'large', 'large', 'other', 'other', 'nothing'),
      days: maybe(fc.integer({ min: 1, max: 90 })),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('end' as const), account, days: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), account, frozen: often(false, true) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget-rates' as const) }) },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      until: often<Wait>('ms', 'clock-stands', 'minutes', 'hours', 'just-before-an-end', 'an-end', 'days', 'a-month'),
      some: fc.integer({ min: 1, max: 40 }),
    }),
  },
]

/** Around the ends of years, of short months and of leap days. */
const STARTS = ['2027-12-30', '2028-01-30', '2028-02-28', '2027-02-26', '2026-03-30', '2026-07-05']

export const SEQUENCES = fc.record({
  startsAt: fc
    .tuple(fc.constantFrom(...STARTS), fc.nat(86_399_999))
    .map(([day, ms]) => Date.parse(`${day}T00:00:00Z`) + ms),
  /** The books have room for only so much more: nine wallets that nobody uses are nearly full. */
  nearlyFull: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  steps: fc.array(fc.oneof(...STEPS), { minLength: 20, maxLength: 200, size: 'max' }),
})
