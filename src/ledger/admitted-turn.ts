import { type CloseTurn, closeTurn, type TurnCharge } from '../books/close-turn.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { LimitStanding } from '../model/limit.ts'
import { type NanoUsd, smallest, ZERO } from '../model/money.ts'
import { findReceipt } from '../store/receipts.ts'
import type { Durability } from './batcher.ts'
import type { LedgerCore } from './core.ts'
import type { AdmittedTurn, Ending, SettleOutcome } from './ledger.ts'

interface PlacedHold {
  readonly requestId: RequestId
  readonly account: AccountRow
  readonly receipt: number
  readonly cap: number
  readonly hold: NanoUsd
  readonly standings: readonly LimitStanding[]
  readonly overlap: boolean
  readonly durable: Promise<Durability>
}

/** The hand by which a turn holds its money: everything that it may still do to the books. */
export function createAdmittedTurn(core: LedgerCore, placed: PlacedHold): AdmittedTurn {
  const { requestId, receipt } = placed
  core.attended.add(requestId)
  return {
    kind: 'admitted',
    ...placed,
    mark: (deliveredTokens) => core.marks.set(receipt, deliveredTokens),
    settle: (settlement) => close(core, placed, settlement, settlement),
    release: (ending) => close(core, placed, ending, undefined),
    leave: () => {
      core.attended.delete(requestId)
      // A hold that is still open keeps its progress, because the sweeper charges by it; behind a shut gate nobody knows yet.
      if (core.gate.open && !core.books.turns.has(requestId)) core.marks.forget(receipt)
    },
  }
}

/** How long the end of an answer waits for books that are being read back; then it is written down beside them. */
const READ_BACK_WAIT_MS = 2000
/** A close that was in a failed batch is tried again once the books are read back: the answer has been given. */
const CLOSE_TRIES = 2

async function close(
  core: LedgerCore,
  placed: PlacedHold,
  ending: Ending,
  charge: TurnCharge | undefined,
): Promise<SettleOutcome> {
  // A hold that never became durable was never placed: there is nothing to close.
  if ((await placed.durable) === 'lost') return { kind: 'lost' }
  for (let tries = 0; tries < CLOSE_TRIES; tries++) {
    if (!core.gate.open && !(await core.gate.whenOpen(READ_BACK_WAIT_MS))) break
    // It may have shut again between its word and this step: the books are never changed behind a shut gate.
    if (!core.gate.open) continue
    const closed = closeTurn(core.books, closeOp(core, placed.requestId, ending, charge))
    // The batch that was taken for lost may have reached the file: then it is this turn's own end that stands there.
    if (closed.kind === 'not-open') return tries === 0 ? { kind: 'not-ours' } : recordedEnd(core, placed, ending)
    const durable = core.batcher.enqueue(closed.changes)
    core.shelf.keepUntil(placed.account, durable)
    if ((await durable) === 'lost') continue
    core.marks.forget(placed.receipt)
    if (!charge) return { kind: 'released' }
    return { kind: 'settled', charge: closed.charge, shortfall: closed.shortfall, tier: charge.tier }
  }
  return writeDown(core, placed, closeOp(core, placed.requestId, ending, charge))
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
async function writeDown(core: LedgerCore, placed: PlacedHold, end: CloseTurn): Promise<SettleOutcome> {
  if (!(await core.journaled.write(end))) return { kind: 'lost' }
  // They may have come back meanwhile, and then nobody else will look.
  if (core.gate.open) void core.journaled.replay(core)
  if (!end.charge) return { kind: 'released' }
  const { cost, tier } = end.charge
  const charge = smallest(cost, placed.hold)
  return { kind: 'settled', charge, shortfall: (cost - charge) as NanoUsd, tier }
}

function closeOp(core: LedgerCore, requestId: RequestId, ending: Ending, charge: TurnCharge | undefined): CloseTurn {
  const { outcome, lane, firstByteMs, totalMs, attempts } = ending
  return {
    requestId,
    charge,
    outcome,
    lane,
    firstByteMs,
    totalMs,
    attempts: JSON.stringify(attempts),
    kept: ending.kept ?? false,
    at: core.now(),
    ticks: core.ticks(),
  }
}
