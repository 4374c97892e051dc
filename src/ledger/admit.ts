import { findReceipt } from '../db/receipts.ts'
import type { Allowance } from '../model/allowance.ts'
import type { Ending, Owed } from '../model/ending.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { AppliedLimit, LimitStatus } from '../model/limit.ts'
import { type NanoUsd, ZERO } from '../model/money.ts'
import type { Durability } from './batcher.ts'
import type { LedgerCore } from './core.ts'
import type {
  AccountStatusReport,
  Admission,
  AdmittedTurn,
  AllowanceReport,
  JudgedRights,
  SettleOutcome,
  TakenRequest,
} from './ledger.ts'
import { record, recordEnd, replayJournal } from './recovery.ts'
import { type AdmitRequest, admitTurn } from './state/admit-turn.ts'
import { allowanceStatusOf, roomUnder } from './state/allowances.ts'
import { type Charged, chargeWithin } from './state/close-turn.ts'
import { type AccountState, availableIn } from './state/state.ts'
import { runningSubscription } from './state/subscriptions.ts'
import { limitStatusesOf, lookAtLimits, startUnderLimits } from './state/turn-limits.ts'

/** With room for this many more turns of the same size, asking the provider before the commit risks nothing. */
const COMFORTABLE_TURNS = 20

/** Limits and hold in one step; what was decided joins the batch that is about to be recorded. */
export const admit = (core: LedgerCore, request: AdmitRequest, judged?: JudgedRights): Promise<Admission> =>
  core.cache.withState(request.account, () => decide(core, request, judged))

function decide(core: LedgerCore, request: AdmitRequest, judged: JudgedRights | undefined): Admission {
  // The account may have been read from the file meanwhile: whoever lost their rights in that time is judged again.
  if (judged && judged.rights.changes !== judged.at)
    return { kind: 'refused', refusal: { kind: 'rights-changed' }, statuses: [] }
  // From here to the enqueue nothing waits: the gate that was seen open is the one behind which the books are changed.
  if (!core.gate.open) return { kind: 'refused', refusal: { kind: 'unavailable' }, statuses: [] }
  const { requestId, account, limits } = request
  const nowMicros = core.nowMicros()
  const outcome = admitTurn(core.ledgerState, { ...request, at: core.now(), nowMicros })
  const statuses = limitStatusesOf(core.ledgerState, limits, nowMicros)
  if (outcome.kind !== 'held') return { kind: 'refused', refusal: outcome, statuses }
  const { receipt, cap, hold, changes } = outcome
  const overlap = isComfortable(core, request, hold, statuses)
  const durable = record(core, account, changes)
  return createAdmittedTurn(core, { requestId, account, receipt, cap, amount: hold, statuses, overlap, durable })
}

/**
 * Far from every edge, of the money and of each limit. What this turn took is taken already. A request with
 * an idempotency key always waits: the provider must not be asked before nobody else can have taken it.
 */
function isComfortable(
  core: LedgerCore,
  { requestId, limits, claim }: AdmitRequest,
  hold: NanoUsd,
  statuses: readonly LimitStatus[],
): boolean {
  if (claim) return false
  const turn = core.ledgerState.turns.get(requestId)
  const needed = hold * BigInt(COMFORTABLE_TURNS)
  if (turn?.buckets.some((bucket) => availableIn(bucket) < needed)) return false
  if (turn?.counted.some(({ counter }) => roomUnder(counter) < needed)) return false
  return statuses.every(({ remaining }, index) => remaining >= (limits[index]?.cost ?? 0) * COMFORTABLE_TURNS)
}

/** An answer that is given again runs no turn and costs nothing, but it is a request like any other. */
export function takeRequest(core: LedgerCore, limits: readonly AppliedLimit[]): TakenRequest {
  const { ledgerState } = core
  const nowMicros = core.nowMicros()
  const counted = limits.filter(({ kind }) => kind === 'requests')
  const refusal = lookAtLimits(ledgerState, counted, nowMicros)
  if (!refusal) startUnderLimits(ledgerState, counted, nowMicros)
  const statuses = limitStatusesOf(ledgerState, limits, nowMicros)
  return refusal ? { kind: 'refused', refusal, statuses } : { kind: 'taken', statuses }
}

interface PlacedHold {
  readonly requestId: RequestId
  readonly account: AccountRow
  readonly receipt: number
  readonly cap: number
  readonly amount: NanoUsd
  readonly statuses: readonly LimitStatus[]
  readonly overlap: boolean
  readonly durable: Promise<Durability>
}

/** The hand by which a turn holds its money: everything that it may still do to the books. */
function createAdmittedTurn(core: LedgerCore, placed: PlacedHold): AdmittedTurn {
  const { requestId, receipt } = placed
  core.attended.add(requestId)
  return {
    kind: 'admitted',
    ...placed,
    mark: (deliveredTokens) => core.marks.set(receipt, deliveredTokens),
    settle: (ending) => close(core, placed, ending),
    leave: () => {
      core.attended.delete(requestId)
      // A hold that is still open keeps its progress, because the sweeper charges by it; behind a shut gate nobody knows yet.
      if (core.gate.open && !core.ledgerState.turns.has(requestId)) core.marks.forget(receipt)
    },
  }
}

/** How long the end of an answer waits for books that are being read back; then it is written down beside them. */
const END_WAIT_MS = 2000
/** A close that was in a failed batch is tried again once the books are read back: the answer has been given. */
const CLOSE_TRIES = 2

async function close(core: LedgerCore, placed: PlacedHold, ending: Ending): Promise<SettleOutcome> {
  // A hold that never became durable was never placed: there is nothing to close.
  if ((await placed.durable) !== 'durable') return { kind: 'lost' }
  for (let tries = 0; tries < CLOSE_TRIES; tries++) {
    if (!core.gate.open && !(await core.gate.whenOpen(END_WAIT_MS))) break
    // It may have shut again between its word and this step: the books are never changed behind a shut gate.
    if (!core.gate.open) continue
    // Something else that was decided on its account was refused: this turn is open in the file, and ends when that is in memory.
    const reading = core.cache.reading(placed.account)
    if (reading) {
      await reading
      if (!core.gate.open) continue
    }
    const recorded = await recordEnd(core, { requestId: placed.requestId, ending })
    // The batch that was taken for lost may have reached the file: then it is this turn's own end that stands there.
    if (recorded.kind === 'not-open') return tries === 0 ? { kind: 'not-ours' } : recordedEnd(core, placed, ending)
    // Nobody is told an end that cannot be charged for; the hold stays.
    if (recorded.kind === 'broken') return { kind: 'lost' }
    if (recorded.kind === 'recorded') return outcomeOf(ending.owed, recorded)
  }
  return writeDown(core, placed, ending)
}

async function recordedEnd(core: LedgerCore, { requestId }: PlacedHold, { outcome }: Ending): Promise<SettleOutcome> {
  const receipt = await findReceipt(core.db, requestId)
  if (receipt?.outcome !== outcome) return { kind: 'not-ours' }
  if (receipt.state === 'released') return { kind: 'released' }
  const { charge_nano, shortfall_nano, tier } = receipt
  return {
    kind: 'settled',
    charge: (charge_nano ?? ZERO) as NanoUsd,
    shortfall: (shortfall_nano ?? ZERO) as NanoUsd,
    tier: tier ?? 0,
  }
}

/** The books cannot be written: the end of the turn goes into the journal, and from there into the books when they can. */
async function writeDown(core: LedgerCore, { requestId, amount }: PlacedHold, ending: Ending): Promise<SettleOutcome> {
  if (!(await core.journaled.write({ requestId, ending }))) return { kind: 'lost' }
  // They may have come back meanwhile, and then nobody else will look.
  if (core.gate.open) void replayJournal(core)
  return outcomeOf(ending.owed, chargeWithin(amount, ending.owed))
}

const outcomeOf = (owed: Owed | undefined, { charge, shortfall }: Charged): SettleOutcome =>
  owed ? { kind: 'settled', charge, shortfall, tier: owed.tier } : { kind: 'released' }

/** The account as memory knows it: exact, and what the next admission decides on. */
export const statusOf = ({ wallet }: AccountState): AccountStatusReport => ({
  balance: wallet.posted as NanoUsd,
  held: wallet.held as NanoUsd,
  available: availableIn(wallet) as NanoUsd,
})

/** What its keys may still use of these allowances, and until when. */
export const allowanceReport = (
  core: LedgerCore,
  account: AccountRow,
  allowances: readonly Allowance[],
): Promise<AllowanceReport> =>
  core.cache.withState(account, (ledgerState) => {
    const at = core.now()
    return {
      subscription: runningSubscription(ledgerState, at),
      statuses: allowances.map((allowance) => allowanceStatusOf(ledgerState, allowance, at)),
    }
  })
