import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { type Database, openDatabase } from '../db/open-database.ts'
import { insertAccount, insertKey } from '../db/set-up.fixture.ts'
import { requestFor, usd } from '../ledger/contract-bench.fixture.ts'
import type { AdmittedTurn, Ledger } from '../ledger/ledger.ts'
import { UNOBSERVED } from '../ledger/observer.fixture.ts'
import { openLedger } from '../ledger/open-ledger.ts'
import { recordPrices } from '../ledger/prices.ts'
import type { AdmitRequest } from '../ledger/state/admit-turn.ts'
import type { Clock } from '../lib/clock.ts'
import type { Allowance } from '../model/allowance.ts'
import { GIVEN_BACK, settlement } from '../model/ending.fixture.ts'
import type { AccountRow, KeyRow } from '../model/ids.ts'
import type { PicoPerToken } from '../model/money.ts'
import type { Price } from '../model/price.ts'
import { priceUsage } from '../pricing/price.ts'
import type { Outcome } from './outcome.ts'

export const ADA = 1 as AccountRow
export const BEN = 2 as AccountRow
/** Wallet and builder key of each of the two. */
export const KEYS = { wallet: { [ADA]: 1, [BEN]: 3 }, builder: { [ADA]: 2, [BEN]: 4 } } as const

const pico = (value: number) => BigInt(value) as PicoPerToken

/** Odd enough that a sum of tokens is hardly ever a whole number of nano-dollars. */
export const PRICE: Price = {
  version: 1,
  ...{ input: pico(1_000_003), cachedInput: pico(100_001), cacheWrite: pico(1_250_007), output: pico(5_000_009) },
  perRequest: usd(7n),
  tiers: [
    {
      aboveInputTokens: 500,
      ...{ input: pico(2_000_001), cachedInput: pico(200_003), cacheWrite: pico(2_500_001), output: pico(7_000_013) },
    },
  ],
}

export const usageOf = (uncachedInput: number, output: number) => ({
  ...{ uncachedInput, cachedInput: 3, cacheWrite: 1, output, reasoning: 0, estimated: false },
})

export interface Spending {
  readonly database: Database
  readonly ledger: Ledger
  readonly clock: Clock
  /** Ledger time is this; it may only rise. */
  at: number
  ask(account: AccountRow, over?: Partial<AdmitRequest>): Promise<AdmittedTurn & { readonly requestId: string }>
  /** A request that runs and ends; without tokens it is given back. */
  spend(
    account: AccountRow,
    tokens: readonly [number, number] | undefined,
    over?: Partial<AdmitRequest>,
  ): Promise<string>
  credit(account: AccountRow, amount: bigint, ref: string, reason?: string): Promise<unknown>
  subscribe(account: AccountRow, windows: readonly Allowance[]): Promise<unknown>
}

/** Two accounts with keys of both kinds on real books, and a clock that a test sets. */
export function useSpending(): Spending {
  let folder: string
  const clock: Clock = { now: () => bench.at, nowMicros: () => bench.at * 1000 }
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-spending-'))
    bench.at = Date.UTC(2026, 9, 1)
    const database = await openDatabase({ path: join(folder, 'ledger.db'), clock })
    const { db, patientDb, file, journal } = database
    const ledger = await openLedger({ db, patientDb, file, journal, clock, markIntervalMs: 1000, observer: UNOBSERVED })
    await recordPrices({ db, now: clock.now }, new Map(['demo', 'other'].map((model) => [model, PRICE])))
    for (const [index, name] of ['ada', 'ben'].entries()) {
      await insertAccount(file, { id: `acct_${name}`, email: `${name}@example.com`, createdAt: 1 })
      for (const [place, kind] of (['wallet', 'builder'] as const).entries()) {
        const digest = new Uint8Array(32).fill(index * 2 + place)
        const key = { id: `key_${name}_${kind}`, account: index + 1, kind, name: `${name}'s ${kind}`, digest }
        await insertKey(db, { ...key, shown: 'mr_...', models: null, limits: null, expires_at: null, created_at: 1 })
      }
    }
    Object.assign(bench, { database, ledger })
  })
  afterEach(async () => {
    await bench.ledger.close()
    await bench.database.close()
    await rm(folder, { recursive: true })
  })

  const bench: Spending = {
    ...{ database: undefined as never, ledger: undefined as never, clock },
    at: 0,
    async ask(account, over = {}) {
      const key = KEYS[over.kind ?? 'wallet'][account as 1 | 2] as KeyRow
      const request = requestFor(account, { key, ...over })
      const admission = await bench.ledger.admit(request)
      if (admission.kind !== 'admitted') throw new Error(`refused: ${admission.refusal.kind}`)
      await admission.durable
      return Object.assign(admission, { requestId: request.requestId })
    },
    async spend(account, tokens, over = {}) {
      const turn = await bench.ask(account, over)
      const usage = tokens && usageOf(...tokens)
      const owed = usage && { usage, ...priceUsage(PRICE, usage) }
      const attempts = [{ lane: 'demo/demo', outcome: 'finished', status: 200, ms: 34 }]
      const ending = { ...(owed ? settlement(0n) : GIVEN_BACK), owed, attempts, firstByteMs: 12, totalMs: 34 }
      await turn.settle(ending)
      turn.leave()
      return turn.requestId
    },
    credit: (account, amount, ref, reason = 'paid in') =>
      bench.ledger.credit({ account, kind: amount > 0n ? 'credit' : 'refund', amount: usd(amount), ref, reason }),
    subscribe: (account, windows) => bench.ledger.assignPlan({ account, plan: 'pro', windows, endsAt: undefined }),
  }
  return bench
}

export function told<Value>(outcome: Outcome<Value>): Value {
  if (outcome.kind === 'done') return outcome.value
  throw new Error(`${outcome.reason}: ${outcome.message}`)
}
