import type { Allowance } from '../../model/allowance.ts'
import type { CompactedTokens } from '../../model/turn.ts'
import { isOpen, type NaiveFacts, runningPeriod, runningPlan, sum, walletOf } from './naive-facts.fixture.ts'

export interface NaiveClose {
  readonly requestId: string
  readonly cost: bigint | undefined
  readonly tokens: number
  readonly kept: boolean
  readonly compaction: CompactedTokens | undefined
  readonly nowMicros: number
}

export function closeNaively(facts: NaiveFacts, op: NaiveClose): { readonly kind: string } {
  const turn = facts.turns.find(({ requestId }) => requestId === op.requestId)
  if (!turn || !isOpen(turn)) return { kind: 'not-open' }
  const cost = op.cost ?? 0n
  turn.state = op.cost === undefined ? 'released' : 'settled'
  turn.charge = cost > turn.hold ? turn.hold : cost
  turn.kept = op.kept
  turn.compaction = op.compaction
  const { account } = turn
  facts.history.push({ account, what: 'charge', balance: turn.onWallet ? walletOf(facts, account).posted : undefined })
  for (const { kind, subject, cost: reserved } of turn.limits) {
    if (kind !== 'tokens') continue
    facts.rates.push({ subject, nowMicros: op.nowMicros, cost: op.tokens - reserved })
  }
  return { kind: 'closed', ...{ charge: turn.charge, shortfall: cost - turn.charge } }
}

const BILLION = 1_000_000_000n * 1_000_000_000n

export function transferNaively(facts: NaiveFacts, account: number, amount: bigint): { readonly kind: string } {
  const { posted, held } = walletOf(facts, account)
  if (posted - held + amount < 0n) return { kind: 'short', ...{ available: posted - held } }
  if (amount > 0n && posted + amount > BILLION) {
    return { kind: 'too-much', ...{ holder: 'wallet', most: BILLION } }
  }
  const issued = sum(facts.transfers.map((each) => each.amount))
  if (amount > 0n && issued + amount > 9n * BILLION) {
    return { kind: 'too-much', ...{ holder: 'books', most: 9n * BILLION } }
  }
  facts.transfers.push({ account, amount })
  facts.history.push({ account, what: 'transfer', balance: posted + amount })
  return { kind: 'transferred' }
}

export interface NaiveAssign {
  readonly account: number
  readonly plan: string
  readonly windows: readonly Allowance[]
  readonly endsAt: number | undefined
  readonly at: number
}

export function assignNaively(facts: NaiveFacts, op: NaiveAssign): { readonly kind: string } {
  const { account, plan, endsAt, at } = op
  const running = runningPlan(facts, account, at)
  if (running?.plan === plan) return endNaively(facts, account, endsAt, at)
  if (running) running.endsAt = at
  const billingDay = running?.billingDay ?? Number(new Date(at).toISOString().slice(8, 10))
  facts.plans.push({ account, plan, billingDay, endsAt })
  for (const { subject, amount } of op.windows) runningPeriod(facts, account, subject, at)?.amounts.push(amount)
  return { kind: 'changed' }
}

export function endNaively(facts: NaiveFacts, account: number, endsAt: number | undefined, at: number) {
  const running = runningPlan(facts, account, at)
  if (!running) return { kind: 'no-subscription' }
  if (running.endsAt === endsAt) return { kind: 'unchanged' }
  running.endsAt = endsAt
  return { kind: 'changed' }
}
