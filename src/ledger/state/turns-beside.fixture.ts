import type { Allowance } from '../../model/allowance.ts'
import type { AccountRow, KeyRow, RequestId } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import { admitTurn } from './admit-turn.ts'
import { type Beside, BUSY, expectEqual, record, type StepOf } from './beside.fixture.ts'
import { endingOf, HOUR_MS } from './books.fixture.ts'
import { closeTurn } from './close-turn.ts'
import { admitNaively } from './naive-admission.fixture.ts'
import { type NaiveTurn, runningPlan } from './naive-facts.fixture.ts'
import { closeNaively } from './naive-operations.fixture.ts'
import { capsOf, limitsOf, PLANS, PRICES } from './sequence-steps.fixture.ts'

export function admit(beside: Beside, step: StepOf<'admit'>): void {
  const { ledgerState, facts, at, nowMicros, count } = beside
  const account = BUSY[step.account]!
  const { clientCap, modelCap, chosenCap, kind } = step
  const request = {
    requestId: `req_${facts.turns.length}` as RequestId,
    kind,
    terms: PRICES[step.price],
    clientCap: clientCap === undefined ? undefined : Math.min(clientCap, modelCap),
    modelCap,
    chosenCap,
    limits: limitsOf(step.limits, step.key, account),
    allowances: allowancesOf(beside, step),
    claim: claimOf(step, at),
    at,
    nowMicros,
  }
  const expected = admitNaively(facts, { ...request, account })
  const outcome = admitTurn(ledgerState, {
    ...request,
    account: account as AccountRow,
    key: (step.key + 1) as KeyRow,
    model: 'demo',
    priceVersion: 1,
    choices: 1,
    inputEstimate: 10,
    cachedEstimate: 0,
  })
  const { changes = [], ...said } = { changes: undefined, ...outcome }
  expectEqual(said, expected)
  record(beside, changes)
  count(`${kind}: ${outcome.kind}${outcome.kind === 'in-flight' ? ` (${outcome.of?.unit ?? 'usd'})` : ''}`)
  if (outcome.kind === 'claimed') count(`claimed: ${outcome.claim.state}`)
  if (outcome.kind === 'limited') count(`limited: ${outcome.limit.kind}`)
  if (outcome.kind === 'held') countHeld(beside, step, outcome)
}

/** A wallet key is handed the windows of the plan too, which must not tempt it. */
function allowancesOf({ facts, at }: Beside, { account, key, caps }: StepOf<'admit'>): readonly Allowance[] {
  const plan = runningPlan(facts, BUSY[account]!, at)?.plan ?? 'small'
  return [...PLANS[plan]!, ...capsOf(key + 1, caps)]
}

const claimOf = ({ claim, key, account }: StepOf<'admit'>, at: number) =>
  claim === undefined
    ? undefined
    : { scope: `key ${key}, ${claim}`, fingerprint: `body ${account}`, expiresAt: at + 2 * HOUR_MS }

function countHeld(
  { count, facts }: Beside,
  step: StepOf<'admit'>,
  { cap, hold }: { cap: number; hold: bigint },
): void {
  if (step.clientCap !== undefined) count("cap: the client's")
  else if (cap === step.modelCap) count("cap: the model's")
  else count(cap === step.chosenCap.tokensMin ? 'cap: chosen, the least' : 'cap: chosen, a share')
  if (hold === 0n) count('held for nothing')
  const { claim } = facts.turns.at(-1)!
  if (claim && facts.turns.filter((turn) => turn.claim?.scope === claim.scope).length > 1) count('claim: taken again')
}

export function close(beside: Beside, step: StepOf<'close'>): void {
  const { ledgerState, facts, count, at, nowMicros } = beside
  const open = facts.turns.filter(({ state }) => state === 'open')
  const ended = facts.turns.find(({ state }) => state !== 'open')
  const turn: NaiveTurn | undefined = open[step.pick % (open.length + 1)] ?? ended
  const requestId = turn?.requestId ?? 'req_unknown'
  const cost = costOf(step, turn?.hold ?? 1000n)
  const usage = { uncachedInput: step.part, cachedInput: step.part, cacheWrite: 1, output: step.part, reasoning: 0 }
  const expected = closeNaively(facts, {
    requestId,
    cost,
    tokens: cost === undefined ? 0 : 3 * step.part + 1,
    kept: step.kept,
    compaction: step.compaction,
    nowMicros,
  })
  const owed =
    cost === undefined ? undefined : { usage: { ...usage, estimated: false }, tier: 0, cost: cost as NanoUsd }
  const outcome = closeTurn(ledgerState, {
    requestId: requestId as RequestId,
    ending: endingOf(undefined, { owed, compaction: step.compaction, kept: step.kept }),
    at,
    nowMicros,
  })
  const { changes = [], ...said } = { changes: undefined, ...outcome }
  expectEqual(said, expected)
  record(beside, changes)
  if (outcome.kind !== 'closed') {
    count('close: not-open')
    return
  }
  count(`close: ${step.ending}`)
  if (step.compaction) count('close: has compacted')
  if (outcome.shortfall > 0n) count('close: with a shortfall')
  const late = turn?.onPeriods.some((period) => period.end <= at)
  if (late) count('close: after its period has ended')
  if (changes.some(({ kind }) => kind === 'period-closed')) count('close: closes the period it outlived')
}

function costOf({ ending, part }: StepOf<'close'>, hold: bigint): bigint | undefined {
  switch (ending) {
    case 'free':
      return undefined
    case 'zero':
      return 0n
    case 'part':
      return (hold * BigInt(part)) / 1000n
    case 'whole':
      return hold
    case 'beyond':
      return hold + BigInt(part) + 1n
  }
}
