import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runBeside } from '../../../test/fixtures/ledger/state/run-beside.ts'
import { SEQUENCES } from '../../../test/fixtures/ledger/state/sequence-steps.ts'

const WHOLE_RUN = 25_000
/** BOOKS_OPERATIONS=5000000 BOOKS_SEED=7 make a long run. A short one looks for a difference only, and does not shrink it. */
const OPERATIONS = Number(process.env.BOOKS_OPERATIONS ?? WHOLE_RUN)
const IS_WHOLE = OPERATIONS >= WHOLE_RUN
const SEED = Number(process.env.BOOKS_SEED ?? 1920)
/** A sequence has 20 to 200; most of them are of a middling length. */
const STEPS_AT_LEAST = 90
/** Each of them once in so many operations at least, or the property says less than it seems to. */
const RAREST = 2000

const MUST_BE_SEEN = [
  'adjustment: short',
  'adjustment: transferred',
  'assign a first plan: changed',
  'assign another plan: changed',
  'assign the same plan: changed',
  'assign the same plan: unchanged',
  'assign: widens a running window',
  'builder: cap-reached',
  'builder: claimed',
  'builder: exceeds-allowance',
  'builder: exhausted',
  'builder: frozen',
  'builder: held',
  'builder: in-flight (cap)',
  'builder: in-flight (quota)',
  'builder: limit-too-small',
  'builder: limited',
  'builder: no-subscription',
  'cap: chosen, a share',
  'cap: chosen, the least',
  "cap: the model's",
  'counter-set',
  'claim-ended: dropped',
  'claim-ended: kept',
  'claim-ended: not-kept',
  'claim: taken again',
  'claimed: kept',
  'claimed: not-kept',
  'claimed: running',
  'close: after its period has ended',
  'close: beyond',
  'close: closes the period it outlived',
  'close: free',
  'close: has compacted',
  'close: not-open',
  'close: part',
  'close: whole',
  'close: with a shortfall',
  'close: zero',
  'credit: too-much (books)',
  'credit: too-much (wallet)',
  'credit: transferred',
  'end: changed',
  'end: no-subscription',
  'end: unchanged',
  'held for nothing',
  'limited: concurrent',
  'limited: requests',
  'limited: tokens',
  'period-closed',
  'period-moved',
  'period-opened',
  'quota expiry (less)',
  'quota grant',
  'quota grant (less)',
  'refund: short',
  'refund: transferred',
  'subscription-ended',
  'subscription-started',
  'wait: a-month',
  'wait: an-end',
  'wait: clock-stands',
  'wait: days',
  'wait: hours',
  'wait: just-before-an-end',
  'wait: minutes',
  'wait: ms',
  'wait: over a leap day',
  'wait: over the end of a month',
  'wallet: cap-reached',
  'wallet: claimed',
  'wallet: frozen',
  'wallet: held',
  'wallet: in-flight (cap)',
  'wallet: in-flight (usd)',
  'wallet: limit-too-small',
  'wallet: limited',
  'wallet: short',
]

it(
  'the ledger agrees with a naive model and with what was recorded, after any sequence of operations',
  () => {
    const seen: Record<string, number> = {}
    const count = (what: string) => {
      seen[what] = (seen[what] ?? 0) + 1
    }
    let operations = 0
    try {
      fc.assert(
        fc.property(SEQUENCES, (sequence) => {
          runBeside(sequence, count)
          operations += sequence.steps.length
        }),
        { seed: SEED, numRuns: Math.ceil(OPERATIONS / STEPS_AT_LEAST), endOnFailure: !IS_WHOLE },
      )
    } finally {
      console.info(`ledger: seed ${SEED}, ${operations} operations\n${tableOf(seen)}`)
    }
    if (!IS_WHOLE) return
    expect(operations).toBeGreaterThanOrEqual(OPERATIONS)
    const rare = MUST_BE_SEEN.filter((what) => (seen[what] ?? 0) < operations / RAREST)
    expect(rare, 'hardly ever seen').toEqual([])
    expect(Object.keys(seen).filter((what) => !MUST_BE_SEEN.includes(what))).toEqual([])
  },
  Math.max(120_000, OPERATIONS * 3),
)

const tableOf = (seen: Readonly<Record<string, number>>): string =>
  Object.keys(seen)
    .sort()
    .map((what) => `${String(seen[what]).padStart(8)}  ${what}`)
    .join('\n')
