import { afterEach, expect } from 'vitest'
import { systemClock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { quotaOf, spendCapOf } from '../model/allowance.fixture.ts'
import type { Allowance } from '../model/allowance.ts'
import { type AccountRow, type KeyRow, mintRequestId, type RequestId } from '../model/ids.ts'
import type { AppliedLimit, LimitKind } from '../model/limit.ts'
import type { NanoUsd } from '../model/money.ts'
import type { CompactedTokens } from '../model/turn.ts'
import type { Admission, AdmittedTurn, Ledger } from './ledger.ts'
import type { AdmitRequest } from './state/admit-turn.ts'

/** One of the homes of the ledger, as the contract needs it: the same sentences are asked of each. */
export interface LedgerHome {
  readonly ledger: Ledger
  readonly account: AccountRow
  /** The clock by which the ledger decides goes on by so much. */
  advance(ms: number): Promise<void>
  now(): Promise<number>
  receipt(requestId: RequestId): Promise<ReceiptFacts | undefined>
  /** As after a kill: nothing in memory is left, and what was held is found by whoever opens the books next. */
  crash(): Promise<void>
  /** How many holds were recovered at the last opening. */
  readonly recovered: number
  untilMarked(): Promise<void>
  freeze(): Promise<void>
  violations(): Promise<number>
}

export interface ReceiptFacts {
  readonly state: string
  readonly outcome: string | null
  readonly charge: bigint | null
  readonly shortfall: bigint | null
  readonly output: number | null
  readonly estimated: boolean | null
  readonly compaction: CompactedTokens | null
}

/** As the columns of a receipt say it, in either database. */
export const compactionOf = (tokensBefore: number | null, tokensAfter: number | null): CompactedTokens | null =>
  tokensBefore === null || tokensAfter === null ? null : { tokensBefore, tokensAfter }

export type ContractBench = ReturnType<typeof contractBench>

/** What `request()` holds: 100 input tokens at 1 and 100 output tokens at 5 dollars a million. */
export const HOLD = 100_000n + 500_000n
export const HOUR = 3_600_000
export const DAY = 24 * HOUR

export const usd = (amount: bigint) => amount as NanoUsd

export const requestFor = (account: AccountRow, over: Partial<AdmitRequest> = {}): AdmitRequest => ({
  requestId: mintRequestId(systemClock.now(), secureRandom),
  account,
  key: 1 as KeyRow,
  kind: 'wallet',
  model: 'demo',
  priceVersion: 1,
  terms: { inputPico: 100n * 1_000_000n, outputPicoPerToken: 5_000_000n, perRequest: usd(0n) },
  clientCap: 100,
  modelCap: 4096,
  chosenCap: { sharePercent: 25, tokensMin: 1024 },
  choices: 1,
  inputEstimate: 40,
  cachedEstimate: 0,
  allowances: [],
  claim: undefined,
  limits: [],
  ...over,
})

export const limitOf = (kind: LimitKind, limit: number, cost = 1): AppliedLimit => ({
  scope: 'key',
  kind,
  subject: `key:1:${kind}`,
  limit,
  burst: limit,
  cost,
})

export const hours = (count: number, amount: bigint): Allowance =>
  quotaOf(`${count}h`, { kind: 'anchored', ms: count * HOUR }, amount)

export const weekly = (amount: bigint): Allowance => quotaOf('week', { kind: 'week' }, amount)

export const dayCap = (amount: bigint): Allowance => spendCapOf(1, 'day', amount)

export function contractBench(home: LedgerHome) {
  afterEach(async () => expect(await home.violations()).toBe(0))

  const bench = {
    home,
    get ledger() {
      return home.ledger
    },
    credit: (amount: bigint, ref = 'first') =>
      home.ledger.credit({ account: home.account, kind: 'credit', amount: usd(amount), reason: 'test', ref }),
    request: (over: Partial<AdmitRequest> = {}) => requestFor(home.account, over),
    /** Asks as a turn does: an idempotency key is looked up before, and left. */
    async ask(over: Partial<AdmitRequest> = {}): Promise<Admission & { requestId: RequestId }> {
      const request = bench.request(over)
      const claim = request.claim && (await home.ledger.lookUpClaim(request.claim.scope))
      const admission = await home.ledger.admit(request)
      claim?.leave()
      return Object.assign(admission, { requestId: request.requestId })
    },
    async admit(over: Partial<AdmitRequest> = {}): Promise<AdmittedTurn & { requestId: RequestId }> {
      const admission = await bench.ask(over)
      if (admission.kind !== 'admitted') throw new Error(`refused: ${admission.refusal.kind}`)
      return admission
    },
    async refusal(over: Partial<AdmitRequest> = {}) {
      const admission = await bench.ask(over)
      if (admission.kind === 'admitted') throw new Error('admitted')
      return admission.refusal
    },
    standing: () => home.ledger.standing(home.account),
    /** What is left of allowances, less what running turns hold. */
    async left(...allowances: Allowance[]): Promise<bigint[]> {
      const { statuses } = await home.ledger.allowanceStatuses(home.account, allowances)
      return statuses.map(({ posted, held }) => posted - held)
    },
    subscribe: (...windows: Allowance[]) =>
      home.ledger.assignPlan({ account: home.account, plan: 'builder', windows, endsAt: undefined }),
  }
  return bench
}
