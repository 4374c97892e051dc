import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holdFor } from '../model/hold-terms.ts'
import type { AccountRow, BucketRow, KeyRow, RequestId } from '../model/ids.ts'
import type { AppliedLimit } from '../model/limit.ts'
import type { NanoUsd } from '../model/money.ts'
import { type AdmitTurn, admitTurn } from './admit-turn.ts'
import { type Books, createAccountBooks, createBooks } from './books.ts'
import type { Change } from './changes.ts'
import { closeTurn } from './close-turn.ts'
import { transferMoney } from './transfer-money.ts'

const ACCOUNTS = [1, 2, 3] as AccountRow[]

function booksWith(posted: bigint): Books {
  const books = createBooks({ receipt: 1, transfer: 1, bucket: 1000, subscription: 1 })
  for (const account of ACCOUNTS) {
    books.accounts.set(account, createAccountBooks(account, { row: (10 + account) as BucketRow, posted, held: 0n }))
  }
  return books
}

const admitOf = (over: Partial<AdmitTurn> = {}): AdmitTurn => ({
  requestId: 'req_1' as RequestId,
  account: ACCOUNTS[0]!,
  key: 1 as KeyRow,
  kind: 'wallet',
  model: 'demo',
  priceVersion: 1,
  terms: { inputPico: 1_000_000n, outputPicoPerToken: 1_000n, perRequest: 0n as NanoUsd },
  clientCap: undefined,
  modelCap: 4096,
  choices: 1,
  inputEstimate: 10,
  cachedEstimate: 0,
  allowances: [],
  claim: undefined,
  limits: [],
  at: 0,
  ticks: 0,
  ...over,
})

const closeOf = (requestId: RequestId, cost: bigint | undefined) => ({
  requestId,
  charge:
    cost === undefined
      ? undefined
      : {
          usage: { uncachedInput: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0, estimated: false },
          tier: 0,
          cost: cost as NanoUsd,
        },
  outcome: 'completed',
  lane: 'demo/demo',
  firstByteMs: 1,
  totalMs: 2,
  attempts: '[]',
  kept: false,
  at: 1,
  ticks: 0,
})

describe('admitTurn', () => {
  it('holds the whole cap of the model when the money covers it', () => {
    const books = booksWith(1_000_000n)
    expect(admitTurn(books, admitOf())).toMatchObject({ kind: 'held', cap: 4096, hold: 1000n + 4096n })
  })

  it('chooses a quarter of what is left after the input when the maximum is not affordable', () => {
    const books = booksWith(1000n + 3000n * 4n)
    expect(admitTurn(books, admitOf({ modelCap: 100_000 }))).toMatchObject({ kind: 'held', cap: 3000 })
  })

  it('never chooses a cap below 1,024 tokens, or below the whole of a smaller model', () => {
    expect(admitTurn(booksWith(1000n + 1100n), admitOf({ modelCap: 100_000 }))).toMatchObject({
      kind: 'held',
      cap: 1024,
    })
    expect(admitTurn(booksWith(1000n + 1000n), admitOf({ modelCap: 100_000 }))).toMatchObject({ kind: 'short' })
    expect(admitTurn(booksWith(1000n + 600n), admitOf({ modelCap: 500 }))).toMatchObject({ kind: 'held', cap: 500 })
  })

  it("never shrinks a client's cap: it names the tokens that fit instead", () => {
    expect(admitTurn(booksWith(1000n + 900n), admitOf({ clientCap: 1000 }))).toEqual({
      kind: 'short',
      available: 1900n,
      needed: 2000n,
      tokensCovered: 900,
    })
  })

  it('tells money that running turns hold from money that is not there', () => {
    const books = booksWith(3000n)
    expect(admitTurn(books, admitOf({ clientCap: 1000 }))).toMatchObject({ kind: 'held' })
    expect(admitTurn(books, admitOf({ clientCap: 1000, requestId: 'req_2' as RequestId }))).toMatchObject({
      kind: 'in-flight',
    })
  })

  it('lets a builder key touch no wallet', () => {
    const books = booksWith(1_000_000n)
    expect(admitTurn(books, admitOf({ kind: 'builder' }))).toEqual({ kind: 'no-subscription' })
    expect(books.accounts.get(ACCOUNTS[0]!)?.wallet.held).toBe(0n)
  })

  it('takes nothing from a limit when the money is short, and no money when a limit is', () => {
    const limit: AppliedLimit = {
      scope: 'key',
      kind: 'requests',
      subject: 'key:1:requests',
      limit: 1,
      burst: 1,
      cost: 1,
    }
    const books = booksWith(2500n)
    expect(admitTurn(books, admitOf({ clientCap: 9999, limits: [limit] })).kind).toBe('short')
    expect(books.rates.size).toBe(0)
    expect(admitTurn(books, admitOf({ clientCap: 10, limits: [limit] })).kind).toBe('held')
    const held = books.accounts.get(ACCOUNTS[0]!)?.wallet.held
    expect(
      admitTurn(books, admitOf({ clientCap: 10, limits: [limit], requestId: 'req_2' as RequestId })),
    ).toMatchObject({
      kind: 'limited',
      retryAfterMs: 60_000,
    })
    expect(books.accounts.get(ACCOUNTS[0]!)?.wallet.held).toBe(held)
  })
})

describe('closeTurn', () => {
  it('charges at most the hold and writes the rest down as shortfall', () => {
    const books = booksWith(10_000n)
    admitTurn(books, admitOf({ clientCap: 1000 }))
    expect(closeTurn(books, closeOf('req_1' as RequestId, 2500n))).toMatchObject({
      kind: 'closed',
      charge: 2000n,
      shortfall: 500n,
    })
    expect(books.accounts.get(ACCOUNTS[0]!)?.wallet).toMatchObject({ posted: 8000n, held: 0n })
  })

  it('a second close of the same hold changes nothing', () => {
    const books = booksWith(10_000n)
    admitTurn(books, admitOf({ clientCap: 1000 }))
    closeTurn(books, closeOf('req_1' as RequestId, 5n))
    expect(closeTurn(books, closeOf('req_1' as RequestId, 5n))).toEqual({ kind: 'not-open' })
    expect(books.accounts.get(ACCOUNTS[0]!)?.wallet.posted).toBe(9995n)
  })
})

describe('any sequence of operations', () => {
  /** A model that is too simple to be wrong: per account what came in, what was charged, and what is held. */
  interface Naive {
    readonly money: Map<number, { credited: bigint; charged: bigint; holds: Map<string, bigint> }>
  }
  type Step =
    | { do: 'admit'; account: number; cap: number | undefined; limited: boolean }
    | { do: 'settle'; pick: number; cost: bigint }
    | { do: 'release'; pick: number }
    | { do: 'credit'; account: number; amount: bigint }

  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          do: fc.constant('admit' as const),
          account: fc.nat(2),
          cap: fc.option(fc.integer({ min: 1, max: 5000 }), { nil: undefined }),
          limited: fc.boolean(),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('settle' as const),
          pick: fc.nat(50),
          cost: fc.bigInt({ min: 0n, max: 8000n }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), pick: fc.nat(50) }) },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('credit' as const),
          account: fc.nat(2),
          amount: fc.bigInt({ min: -20_000n, max: 20_000n }),
        }),
      },
    ),
    { minLength: 60, maxLength: 120 },
  )

  it('agrees with a naive model, and the recorded changes add up to the same books', () => {
    const seed = 1920
    const seen: Record<string, number> = {}
    const count = (what: string) => {
      seen[what] = (seen[what] ?? 0) + 1
    }
    fc.assert(
      fc.property(steps, (sequence) => runBeside(sequence, count)),
      { seed, numRuns: 200 },
    )
    console.info(`books: seed ${seed}, ${JSON.stringify(seen)}`)
    for (const what of [
      'held',
      'short',
      'in-flight',
      'limited',
      'closed',
      'not-open',
      'transferred',
      'transfer-short',
      'shortfall',
    ]) {
      expect(seen[what], `${what} was never seen`).toBeGreaterThan(10)
    }
  })

  function runBeside(sequence: readonly Step[], count: (what: string) => void): void {
    const start = 30_000n
    const books = booksWith(start)
    const naive: Naive = {
      money: new Map(ACCOUNTS.map((account) => [account, { credited: start, charged: 0n, holds: new Map() }])),
    }
    const recorded = new Map<number, { posted: bigint; held: bigint }>(
      ACCOUNTS.map((account) => [10 + account, { posted: start, held: 0n }]),
    )
    const owner = new Map<string, number>()
    let minted = 0
    let ticks = 0
    for (const step of sequence) {
      ticks += 100_000
      apply(step)
      expectAgreement()
    }

    function apply(step: Step): void {
      if (step.do === 'admit') admit(step)
      else if (step.do === 'credit') credit(step)
      else
        close(
          [...owner.keys()][step.pick % (owner.size + 2)] ?? 'req_unknown',
          step.do === 'settle' ? step.cost : undefined,
        )
    }

    function admit({ account, cap, limited }: Extract<Step, { do: 'admit' }>): void {
      const requestId = `req_${minted++}`
      const limits: AppliedLimit[] = limited
        ? [
            { scope: 'account', kind: 'requests', subject: `account:${account}`, limit: 100, burst: 6, cost: 1 },
            {
              scope: 'account',
              kind: 'concurrent',
              subject: `account:${account}:concurrent`,
              limit: 5,
              burst: 5,
              cost: 1,
            },
          ]
        : []
      const op = admitOf({
        requestId: requestId as RequestId,
        account: ACCOUNTS[account]!,
        clientCap: cap,
        limits,
        ticks,
      })
      const outcome = admitTurn(books, op)
      count(outcome.kind)
      if (outcome.kind !== 'held') return
      expect(outcome.hold).toBe(holdFor(op.terms, outcome.cap))
      naive.money.get(ACCOUNTS[account]!)!.holds.set(requestId, outcome.hold)
      owner.set(requestId, ACCOUNTS[account]!)
      record(outcome.changes)
    }

    function close(requestId: string, cost: bigint | undefined): void {
      const outcome = closeTurn(books, closeOf(requestId as RequestId, cost))
      count(outcome.kind)
      const account = owner.get(requestId)
      owner.delete(requestId)
      if (outcome.kind !== 'closed') {
        expect(account).toBeUndefined()
        return
      }
      const money = naive.money.get(account!)!
      const hold = money.holds.get(requestId)!
      money.holds.delete(requestId)
      const charge = cost === undefined ? 0n : cost > hold ? hold : cost
      money.charged += charge
      expect(outcome.charge).toBe(charge)
      if (outcome.shortfall > 0n) count('shortfall')
      record(outcome.changes)
    }

    function credit({ account, amount }: Extract<Step, { do: 'credit' }>): void {
      const op = {
        account: ACCOUNTS[account]!,
        kind: 'credit' as const,
        amount: amount as NanoUsd,
        reason: 'test',
        ref: 'r',
        at: 0,
      }
      const outcome = transferMoney(books, op)
      count(outcome.kind === 'short' ? 'transfer-short' : outcome.kind)
      if (outcome.kind !== 'transferred') return
      naive.money.get(ACCOUNTS[account]!)!.credited += amount
      record(outcome.changes)
    }

    function record(changes: readonly Change[]): void {
      for (const change of changes) {
        if (change.kind !== 'bucket-moved') continue
        const bucket = recorded.get(change.bucket)
        if (!bucket) continue
        bucket.posted += change.posted
        bucket.held += change.held
      }
    }

    function expectAgreement(): void {
      for (const account of ACCOUNTS) {
        const { wallet } = books.accounts.get(account)!
        const money = naive.money.get(account)!
        const held = [...money.holds.values()].reduce((sum, hold) => sum + hold, 0n)
        expect(wallet.posted).toBe(money.credited - money.charged)
        expect(wallet.held).toBe(held)
        expect(wallet.posted - wallet.held).toBeGreaterThanOrEqual(0n)
        expect(recorded.get(wallet.row)).toEqual({ posted: wallet.posted, held: wallet.held })
      }
    }
  }
})
