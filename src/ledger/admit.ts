import { findReceipt } from '../db/receipts.ts'
import type { AppliedLimit, LimitStatus } from '../model/caller.ts'
import type { Ending } from '../model/ending.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import { type NanoUsd, ZERO } from '../model/money.ts'
import type { Durability } from './batcher.ts'
import type { LedgerCore } from './core.ts'
import type { TurnEnd } from './journal.ts'
import type { AccountStatusReport, Admission, CallerCheck, SettleOutcome, TakenRequest } from './ledger.ts'
import { roomUnder } from './state/allowances.ts'
import { type AccountState, BrokenRule } from './state/state.ts'
import { checkLimits, limitStatusesOf, takeLimits } from './state/turn-limits.ts'
import {
  type AdmitRequest,
  admitTurn,
  type Charged,
  type CloseOutcome,
  chargeWithin,
  closeTurn,
} from './state/turns.ts'

/** With room for this many more turns of the same size, calling the provider before the commit risks nothing. */
const HEADROOM_TURNS = 20

/**
 * How long a hold and an end wait for other operations, so that they share a commit: a hold longer, because content comes later; an end
 * shorter, because the client waits for it. A turn that runs alone waits for nothing. The hold of a JSON answer is usually written with
 * its end.
 */
const HOLD_PATIENCE_MS = 5
const END_PATIENCE_MS = 1

/** Decides limits and hold in one step, on an account in memory. What was decided joins the next batch. */
export function admit(core: LedgerCore, request: AdmitRequest, check: CallerCheck | undefined): Admission {
  // The account may have been loaded from the file meanwhile: a caller that has changed is checked again.
  if (check && check.callers.changes !== check.changesBefore)
    return { kind: 'refused', refusal: { kind: 'caller-changed' }, statuses: [] }
  // Nothing waits from here to the enqueue: the state changes only behind a gate that is open.
  if (!core.gate.open) return { kind: 'refused', refusal: { kind: 'unavailable' }, statuses: [] }
  const nowMicros = core.clock.nowMicros()
  const outcome = admitTurn(core.ledgerState, request, { at: core.clock.now(), nowMicros })
  const statuses = limitStatusesOf(core.ledgerState, request.limits, nowMicros)
  if (outcome.kind !== 'held') return { kind: 'refused', refusal: outcome, statuses }
  const { requestId, account } = request
  const { receipt, cap, heldAmount, changes } = outcome
  core.attended.add(requestId)
  // Nothing of a JSON answer leaves before its end, which comes with an operation of its own.
  const waitsAlone = request.delivery === 'json'
  const patienceMs = waitsAlone || core.attended.size > 1 ? HOLD_PATIENCE_MS : 0
  const durable = core.batcher.enqueue(account, changes, { patienceMs, waitsAlone })
  const placed: PlacedHold = { requestId, account, heldAmount, durable, isWritten: false }
  void durable.then(() => {
    placed.isWritten = true
  })
  return {
    kind: 'admitted',
    cap,
    heldAmount,
    statuses,
    mayCallBeforeDurable: hasHeadroom(core, request, heldAmount, statuses),
    durable,
    hurry: core.batcher.hurry,
    mark(deliveredTokens) {
      core.marks.set(receipt, deliveredTokens)
      return true
    },
    settle: (ending) => settleTurn(core, placed, ending),
    detach() {
      core.attended.delete(requestId)
      // An open hold keeps its marks, because the sweeper charges by them; behind a shut gate, and while its account is read again,
      // it may still be open.
      const isEnded = !core.ledgerState.turns.has(requestId) && !core.cache.rereading.has(account)
      if (core.gate.open && isEnded) core.marks.forget(receipt)
    },
  }
}

interface PlacedHold {
  readonly requestId: RequestId
  readonly account: AccountRow
  readonly heldAmount: NanoUsd
  readonly durable: Promise<Durability>
  /** The batch of the hold has ended: it is durable, refused or lost. */
  isWritten: boolean
}

/** Ends a turn once: what it owes is charged, or its hold is released. */
async function settleTurn(core: LedgerCore, hold: PlacedHold, ending: Ending): Promise<SettleOutcome> {
  const { requestId, account, heldAmount } = hold
  const end = { requestId, ending }
  // The end joins the batch of a hold that is still to be written: nothing of the answer was delivered before that.
  const joins = !hold.isWritten && core.gate.open && !core.cache.rereading.has(account)
  const joined = joins ? recordEnd(core, end) : undefined
  // A fault in there is thrown where its result is awaited, which may be never.
  joined?.catch(() => {})
  const durability = await hold.durable
  // The batch that was taken for lost may have reached the file, with the end in it.
  if (durability === 'lost' && joined !== undefined && (await core.gate.whenOpen(END_WAIT_MS))) {
    const found = await findRecordedEnd(core, requestId, ending)
    if (found.kind !== 'not-ours') return found
  }
  // A hold that never became durable was never placed: there is nothing to close.
  if (durability !== 'durable') return { kind: 'lost' }
  let charged: Charged | undefined
  for (let tries = 0; charged === undefined && tries < CLOSE_TRIES; tries++) {
    let recording = tries === 0 ? joined : undefined
    if (recording === undefined) {
      if (!core.gate.open && !(await core.gate.whenOpen(END_WAIT_MS))) break
      // The gate may have shut again before this step: the state never changes behind a shut gate.
      if (!core.gate.open) continue
      // The account is read again because of another refused operation. This turn is open in the file, and ends after that.
      const reading = core.cache.rereading.get(account)
      if (reading) {
        await reading.catch(() => {})
        if (!core.gate.open) continue
      }
      recording = recordEnd(core, end)
    }
    const recorded = await recording
    // The batch that was taken for lost may have reached the file: then this turn's own end is recorded there.
    if (recorded.kind === 'not-open')
      return tries === 0 ? { kind: 'not-ours' } : findRecordedEnd(core, requestId, ending)
    // The first time another operation of its account may have been refused with it: the account is read again, and then this end
    // is tried again.
    if (recorded.kind === 'broken' && tries > 0) return { kind: 'lost' }
    if (recorded.kind === 'recorded') charged = recorded
  }
  const { owed } = ending
  if (charged === undefined) {
    if (!(await core.journaled.write({ requestId, ending }))) return { kind: 'lost' }
    // The gate may have opened meanwhile, and then only this replay finds the end.
    if (core.gate.open) void replayJournal(core)
    charged = chargeWithin(heldAmount, owed)
  }
  const { charge, shortfall } = charged
  return owed ? { kind: 'settled', charge, shortfall, tier: owed.tier } : { kind: 'released' }
}

/** How long the end of an answer waits while the state is read back; then it goes into the journal. */
const END_WAIT_MS = 2000
/** A close in a failed batch is tried again once the state is read back, because the answer has been delivered. */
const CLOSE_TRIES = 2

export type RecordedEnd =
  | ({ readonly kind: 'recorded' } & Charged)
  /** The batch could not be written: the hold is open again once the state has been read back. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'not-open' }
  /** The account does not balance: the hold stays until an operator has looked. */
  | { readonly kind: 'broken' }

/** Ends a turn in memory at once, and resolves when that is durable. */
export async function recordEnd(core: LedgerCore, end: TurnEnd): Promise<RecordedEnd> {
  const turn = core.ledgerState.turns.get(end.requestId)
  if (!turn) return { kind: 'not-open' }
  // The state of this account does not match the file, and is about to be read again.
  if (core.cache.rereading.has(turn.account)) return { kind: 'broken' }
  const { requestId, ending } = end
  const { clock } = core
  let closed: CloseOutcome
  try {
    closed = closeTurn(core.ledgerState, { requestId, ending, at: clock.now(), nowMicros: clock.nowMicros() })
  } catch (error) {
    if (!(error instanceof BrokenRule)) throw error
    core.suspect(turn.account, error)
    return { kind: 'broken' }
  }
  if (closed.kind !== 'closed') return closed
  const patienceMs = core.attended.size > 1 ? END_PATIENCE_MS : 0
  const durability = await core.batcher.enqueue(turn.account, closed.changes, { patienceMs })
  // A lost end is recorded again, and needs its marks then.
  if (durability === 'lost') return { kind: 'lost' }
  if (durability === 'refused') return { kind: 'broken' }
  core.marks.forget(turn.receipt)
  return { kind: 'recorded', charge: closed.charge, shortfall: closed.shortfall }
}

/** Records the ends that were journaled while the ledger could not be written. True when nothing is left to record. */
export const replayJournal = (core: LedgerCore): Promise<boolean> =>
  core.journaled.replay((end) => recordEnd(core, end))

async function findRecordedEnd(core: LedgerCore, requestId: RequestId, { outcome }: Ending): Promise<SettleOutcome> {
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

/**
 * Whether the account is far from every limit, of money and rate limits; what this turn took is counted already. A request
 * with an idempotency key always waits: another request may take the key until the claim is durable.
 */
function hasHeadroom(
  core: LedgerCore,
  { requestId, limits, claim }: AdmitRequest,
  heldAmount: NanoUsd,
  statuses: readonly LimitStatus[],
): boolean {
  if (claim) return false
  const turn = core.ledgerState.turns.get(requestId)
  const needed = heldAmount * BigInt(HEADROOM_TURNS)
  for (const bucket of turn?.buckets ?? []) if (bucket.posted - bucket.held < needed) return false
  for (const { counter, amount } of turn?.counted ?? [])
    if (roomUnder(counter) < amount * BigInt(HEADROOM_TURNS)) return false
  for (let place = 0; place < statuses.length; place++) {
    if (statuses[place]!.remaining < limits[place]!.cost * HEADROOM_TURNS) return false
  }
  return true
}

/** A replayed answer runs no turn and costs nothing, but counts as a request. */
export function takeRequest(core: LedgerCore, limits: readonly AppliedLimit[]): TakenRequest {
  const { ledgerState } = core
  const nowMicros = core.clock.nowMicros()
  const counted = limits.filter(({ kind }) => kind === 'requests')
  const refusal = checkLimits(ledgerState, counted, nowMicros)
  if (!refusal) takeLimits(ledgerState, counted, nowMicros)
  const statuses = limitStatusesOf(ledgerState, limits, nowMicros)
  return refusal ? { kind: 'refused', refusal, statuses } : { kind: 'taken', statuses }
}

export const statusOf = ({ wallet }: AccountState): AccountStatusReport => ({
  balance: wallet.posted as NanoUsd,
  held: wallet.held as NanoUsd,
  available: (wallet.posted - wallet.held) as NanoUsd,
})
