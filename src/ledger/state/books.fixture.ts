import { quotaOf, spendCapOf } from '../../model/allowance.fixture.ts'
import type { Allowance, Cycle } from '../../model/allowance.ts'
import type { Ending } from '../../model/ending.ts'
import type { AccountRow, BucketRow, KeyRow, RequestId } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import { type AdmitOutcome, type AdmitTurn, admitTurn } from './admit-turn.ts'
import { type CloseOutcome, type CloseTurn, closeTurn } from './close-turn.ts'
import {
  type AccountState,
  type Change,
  createAccountState,
  createLedgerState,
  type LedgerState,
  PERIOD_ROWS_FROM,
} from './state.ts'
import { assignPlan } from './subscriptions.ts'

export const ACCOUNTS = [1, 2, 3] as AccountRow[]
export const ACCOUNT = ACCOUNTS[0]!
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

export function stateWith(posted: bigint): LedgerState {
  const ledgerState = createLedgerState({ receipt: 1, transfer: 1, bucket: PERIOD_ROWS_FROM, subscription: 1 })
  for (const account of ACCOUNTS) {
    ledgerState.accounts.set(
      account,
      createAccountState(account, { row: (10 + account) as BucketRow, posted, held: 0n }),
    )
  }
  return ledgerState
}

export const accountOf = (ledgerState: LedgerState): AccountState => ledgerState.accounts.get(ACCOUNT)!

export const time = (text: string): number => Date.parse(text)

/** A hold of 1,000 for the input and 1 for each token of output. */
export const admitOf = (over: Partial<AdmitTurn> = {}): AdmitTurn => ({
  requestId: 'req_1' as RequestId,
  account: ACCOUNT,
  key: 1 as KeyRow,
  kind: 'wallet',
  model: 'demo',
  priceVersion: 1,
  terms: { inputPico: 1_000_000n, outputPicoPerToken: 1_000n, perRequest: 0n as NanoUsd },
  clientCap: undefined,
  modelCap: 4096,
  chosenCap: { sharePercent: 25, tokensMin: 1024 },
  choices: 1,
  inputEstimate: 10,
  cachedEstimate: 0,
  allowances: [],
  claim: undefined,
  limits: [],
  at: 0,
  nowMicros: 0,
  ...over,
})

export const FREE_TERMS = { inputPico: 0n, outputPicoPerToken: 0n, perRequest: 0n as NanoUsd }

const USAGE = { uncachedInput: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0, estimated: false }

export const endingOf = (cost: bigint | undefined, over: Partial<Ending> = {}): Ending => ({
  outcome: 'completed',
  owed: cost === undefined ? undefined : { usage: USAGE, tier: 0, cost: cost as NanoUsd },
  lane: 'demo/demo',
  attempts: [],
  firstByteMs: 1,
  totalMs: 2,
  compaction: undefined,
  kept: false,
  ...over,
})

export const closeOf = (requestId: string, ending: Ending, at = 1): CloseTurn => ({
  requestId: requestId as RequestId,
  ending,
  at,
  nowMicros: 0,
})

const CYCLES = {
  '5h': { kind: 'anchored', ms: 5 * HOUR_MS },
  week: { kind: 'week' },
  month: { kind: 'month', day: 'billing' },
} satisfies Record<string, Cycle>

export const windowOf = (name: keyof typeof CYCLES, amount: bigint): Allowance => quotaOf(name, CYCLES[name], amount)
export const capOf = (name: 'day' | 'month', amount: bigint): Allowance => spendCapOf(1, name, amount)

export const assign = (
  ledgerState: LedgerState,
  plan: string,
  windows: readonly Allowance[],
  at: number,
  endsAt?: number,
) => assignPlan(ledgerState, { account: ACCOUNT, plan, windows, endsAt, at })

/** An account whose plan has these windows, and what its builder key does. */
export function builderWith(windows: readonly Allowance[], at: number) {
  const ledgerState = stateWith(1_000_000n)
  assign(ledgerState, 'plan', windows, at)
  return { ledgerState, ...turnsOn(ledgerState, { kind: 'builder', allowances: windows }) }
}

/** Holds of 1,000 and more, by the cap: `hold('a', 500)` holds 1,500. */
export function turnsOn(ledgerState: LedgerState, over: Partial<AdmitTurn>) {
  return {
    hold: (name: string, clientCap: number, at: number, more: Partial<AdmitTurn> = {}): AdmitOutcome =>
      admitTurn(ledgerState, admitOf({ ...over, requestId: name as RequestId, clientCap, at, ...more })),
    settle: (name: string, cost: bigint, at: number): CloseOutcome =>
      closeTurn(ledgerState, closeOf(name, endingOf(cost), at)),
    release: (name: string, at: number): CloseOutcome => closeTurn(ledgerState, closeOf(name, endingOf(undefined), at)),
  }
}

export const changesOf = (outcome: AdmitOutcome | CloseOutcome): readonly Change[] =>
  'changes' in outcome ? outcome.changes : []
export const kindsOf = (outcome: AdmitOutcome | CloseOutcome): string[] => changesOf(outcome).map(({ kind }) => kind)
