import { describe, expect, it } from 'vitest'
import {
  accountOf,
  admitAt,
  admitOf,
  builderWith,
  capOf,
  changesOf,
  HOUR_MS,
  stateWith,
  time,
  turnsOn,
  windowOf,
} from '../../../test/fixtures/ledger/state/state.ts'
import type { RequestId } from '../../model/ids.ts'

const T0 = time('2026-03-10T09:30:00Z')
const [FIVE_HOURS, WEEK, MONTH] = [windowOf('5h', 5_000n), windowOf('week', 9_000n), windowOf('month', 20_000n)]

describe('the kind of the key decides what is drawn on', () => {
  it('a builder key never touches the wallet, however full it is', () => {
    const { ledgerState, hold, settle } = builderWith([FIVE_HOURS], T0)
    hold('a', 3_000, T0)
    settle('a', 9_999n, T0)
    expect(hold('b', 3_000, T0).kind).toBe('exhausted')
    expect(accountOf(ledgerState).wallet).toMatchObject({ posted: 1_000_000n, held: 0n })
  })

  it('a wallet key never draws on a window, even if it gets one', () => {
    const { ledgerState } = builderWith([FIVE_HOURS], T0)
    const { hold } = turnsOn(ledgerState, { kind: 'wallet', allowances: [FIVE_HOURS] })
    expect(changesOf(hold('a', 8_000, T0)).find(({ kind }) => kind === 'receipt-opened')).toMatchObject({
      buckets: [accountOf(ledgerState).wallet.row],
    })
    expect(accountOf(ledgerState).periods.size).toBe(0)
  })

  it('a builder key with no window at all has no subscription, even with a spend cap', () => {
    const { hold } = builderWith([FIVE_HOURS], T0)
    expect(hold('a', 10, T0, { allowances: [capOf('day', 5_000n)] })).toEqual({ kind: 'no-subscription' })
  })
})

describe('available is the least of all that is drawn on, less holds', () => {
  it('for the cap that we choose: a quarter of it after the input, never below 1,024', () => {
    const { hold } = builderWith([windowOf('5h', 13_000n), MONTH], T0)
    const free = { clientCap: undefined, modelCap: 100_000 }
    expect(hold('a', 0, T0, free)).toMatchObject({ kind: 'held', cap: 3_000 })
    expect(hold('b', 0, T0, free)).toMatchObject({ kind: 'held', cap: 2_000 })
    expect(hold('c', 0, T0, free)).toMatchObject({ kind: 'held', cap: 1_250 })
    expect(hold('d', 0, T0, free)).toMatchObject({ kind: 'held', cap: 1_024 })
  })

  it('for the cap that we choose: the share of it and the least that the operator wants', () => {
    const { hold, release } = builderWith([windowOf('5h', 13_000n)], T0)
    const capWith = (sharePercent: number, tokensMin: number) => {
      const outcome = hold('a', 0, T0, {
        clientCap: undefined,
        modelCap: 100_000,
        chosenCap: { sharePercent, tokensMin },
      })
      release('a', T0)
      return outcome.kind === 'held' ? outcome.cap : outcome.kind
    }
    expect([capWith(25, 1024), capWith(50, 1024), capWith(100, 1), capWith(1, 1)]).toEqual([3_000, 6_000, 12_000, 120])
    expect([capWith(1, 5_000), capWith(1, 12_000), capWith(1, 12_001)]).toEqual([5_000, 12_000, 'exceeds-allowance'])
  })

  it('so that the hold covers the cap that was granted, and never more than is there', () => {
    const { hold } = builderWith([windowOf('5h', 13_000n)], T0)
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
      const outcome = hold(name, 0, T0, { clientCap: undefined, modelCap: 100_000 })
      if (outcome.kind === 'held') expect(outcome.heldAmount).toBe(1_000n + BigInt(outcome.cap))
      else expect(outcome.kind).toBe('in-flight')
    }
  })

  it("a client's cap is never shrunk: the tokens that fit are named", () => {
    const { hold, settle } = builderWith([FIVE_HOURS, MONTH], T0)
    hold('a', 1_000, T0)
    settle('a', 1_900n, T0)
    expect(hold('b', 2_500, T0)).toMatchObject({
      kind: 'exhausted',
      available: 3_100n,
      needed: 3_500n,
      tokensCovered: 2_100,
    })
    expect(hold('b', 2_101, T0).kind).toBe('exhausted')
    expect(hold('b', 2_100, T0)).toMatchObject({ kind: 'held', cap: 2_100 })
  })

  it('says nothing of tokens when it does not even cover the input', () => {
    const { hold, settle } = builderWith([FIVE_HOURS], T0)
    hold('a', 3_500, T0)
    settle('a', 4_500n, T0)
    expect(hold('b', 10, T0)).toMatchObject({ kind: 'exhausted', available: 500n, tokensCovered: undefined })
  })
})

describe('a refusal names what stands in the way', () => {
  it('the window that ends last of those that are used up, and when that is', () => {
    const { hold, settle } = builderWith([FIVE_HOURS, windowOf('week', 5_500n), MONTH], T0)
    hold('a', 3_500, T0)
    settle('a', 4_500n, T0)
    const monday = time('2026-03-16T00:00:00Z')
    expect(hold('b', 200, T0 + HOUR_MS)).toEqual({
      kind: 'exhausted',
      available: 500n,
      needed: 1_200n,
      tokensCovered: undefined,
      allowance: windowOf('week', 5_500n),
      limit: 5_500n,
      used: 4_500n,
      resetsAt: monday,
      resetsInMs: monday - T0 - HOUR_MS,
    })
  })

  it('more than the whole window grants comes first: waiting does not help', () => {
    const { hold, settle } = builderWith([FIVE_HOURS, WEEK], T0)
    hold('a', 3_500, T0)
    settle('a', 4_500n, T0)
    expect(hold('b', 4_001, T0)).toMatchObject({ kind: 'exceeds-allowance', allowance: FIVE_HOURS, limit: 5_000n })
    expect(hold('b', 4_000, T0)).toMatchObject({ kind: 'exhausted' })
  })

  it("a short wallet before a key's spend cap, and that before a used-up window", () => {
    const short = turnsOn(stateWith(1_500n), { allowances: [capOf('day', 1_200n)] })
    expect(short.hold('a', 1_000, T0).kind).toBe('short')
    const { hold, settle } = builderWith([FIVE_HOURS], T0)
    hold('a', 3_500, T0)
    settle('a', 4_500n, T0)
    const allowances = [FIVE_HOURS, capOf('day', 1_100n)]
    expect(hold('b', 1_000, T0, { allowances })).toMatchObject({ kind: 'cap-reached', allowance: { name: 'day' } })
  })

  it('money that running turns hold is in flight, with its wallet or allowance', () => {
    const ledgerState = stateWith(50_000n)
    const { hold } = turnsOn(ledgerState, { allowances: [capOf('day', 3_000n)] })
    hold('a', 1_000, T0)
    expect(hold('b', 1_000, T0)).toMatchObject({ kind: 'in-flight', available: 1_000n, of: { name: 'day' } })
    expect(hold('b', 1_000, T0, { allowances: [] }).kind).toBe('held')
    const poor = turnsOn(stateWith(3_000n), {})
    poor.hold('a', 1_000, T0)
    expect(poor.hold('b', 1_000, T0)).toMatchObject({ kind: 'in-flight', of: undefined })
  })
})

it('a hundred at once on a window for ten: ten are admitted', () => {
  const { ledgerState } = builderWith([windowOf('5h', 20_000n), windowOf('month', 30_000n)], T0)
  const op = admitOf({ kind: 'builder', allowances: [windowOf('5h', 20_000n), windowOf('month', 30_000n)], at: T0 })
  const kinds = Array.from(
    { length: 100 },
    (_, index) => admitAt(ledgerState, { ...op, requestId: `req_${index}` as RequestId, clientCap: 1_000 }).kind,
  )
  expect(kinds.filter((kind) => kind === 'held')).toHaveLength(10)
  expect(new Set(kinds)).toEqual(new Set(['held', 'in-flight']))
  expect(accountOf(ledgerState).periods.get('window:5h')).toMatchObject({ posted: 20_000n, held: 20_000n })
})
