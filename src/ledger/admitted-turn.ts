import { type Charged, chargeWithin } from '../books/close-turn.ts'
import type { Ending, Owed } from '../model/ending.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { LimitStanding } from '../model/limit.ts'
import { type NanoUsd, ZERO } from '../model/money.ts'
import { findReceipt } from '../store/receipts.ts'
import type { Durability } from './batcher.ts'
import type { LedgerCore } from './core.ts'
import type { AdmittedTurn, SettleOutcome } from './ledger.ts'
import { recordEnd, replayJournal } from './record.ts'

interface PlacedHold {
  readonly requestId: RequestId
  readonly account: AccountRow
  readonly receipt: number
  readonly cap: number
  readonly amount: NanoUsd
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
    settle: (ending) => close(core, placed, ending),
    leave: () => {
      core.attended.delete(requestId)
      // A hold that is still open keeps its progress, because the sweeper charges by it; behind a shut gate nobody knows yet.
      if (core.gate.open && !core.books.turns.has(requestId)) core.marks.forget(receipt)
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
    const reading = core.shelf.reading(placed.account)
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
