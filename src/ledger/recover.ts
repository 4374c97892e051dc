import type { Bucket, OpenTurn } from '../books/books.ts'
import { booksOf } from '../books/books.ts'
import { type CloseTurn, closeTurn, type TurnCharge } from '../books/close-turn.ts'
import { priceUsage } from '../metering/price-usage.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { AppliedLimit } from '../model/limit.ts'
import type { NanoUsd } from '../model/money.ts'
import type { Price } from '../model/price.ts'
import { findMarks } from '../store/marks.ts'
import { listOpenReceipts, type OpenReceiptRow } from '../store/receipts.ts'
import type { Durability } from './batcher.ts'
import type { LedgerCore } from './core.ts'
import { unpackMarks } from './marks.ts'
import { loadPrice } from './record-prices.ts'

/** The limits of a turn ended with the process that ran it. */
const NO_LIMITS = () => []

/** Reads the holds that are open in the database into memory, with how far their answers had got. */
export async function readOpenTurns(
  core: LedgerCore,
  limitsOf: (requestId: RequestId) => readonly AppliedLimit[] = NO_LIMITS,
): Promise<void> {
  const [receipts, marks] = await Promise.all([listOpenReceipts(core.db), findMarks(core.db)])
  for (const receipt of receipts) {
    await core.shelf.load(receipt.account as AccountRow)
    const turn = openTurnOf(core, receipt, limitsOf(receipt.request_id as RequestId))
    core.books.turns.set(turn.requestId, turn)
  }
  for (const { packed } of marks) {
    for (const [receipt, tokens] of unpackMarks(packed)) {
      // A mark in memory is newer than the recorded one; a mark of a closed receipt is of no use.
      if (core.marks.get(receipt) === undefined) core.marks.set(receipt, tokens)
    }
  }
}

function openTurnOf(core: LedgerCore, receipt: OpenReceiptRow, limits: readonly AppliedLimit[]): OpenTurn {
  return {
    requestId: receipt.request_id as RequestId,
    receipt: receipt.row,
    account: receipt.account as AccountRow,
    model: receipt.model,
    priceVersion: receipt.price_version,
    hold: receipt.hold_nano as NanoUsd,
    buckets: bucketsOf(core, receipt),
    limits,
    inputEstimate: receipt.input_estimate,
    cap: receipt.output_cap,
  }
}

function bucketsOf(core: LedgerCore, receipt: OpenReceiptRow): Bucket[] {
  const { wallet } = booksOf(core.books, receipt.account as AccountRow)
  return (JSON.parse(receipt.buckets) as number[]).map((row) => {
    if (row !== wallet.row)
      throw new Error(`Receipt ${receipt.request_id} holds on bucket ${row}, which its account does not have`)
    return wallet
  })
}

/**
 * Ends every hold that nobody attends: after a crash all of them, while running those whose turn was lost by a fault of
 * our own. What was marked as delivered is charged with its input; what was not is given back.
 */
export async function resolveOrphans(core: LedgerCore): Promise<number> {
  const orphans = [...core.books.turns.values()].filter((turn) => !core.attended.has(turn.requestId))
  const priceOf = createPriceLookup(core)
  const recorded: Promise<unknown>[] = []
  for (const turn of orphans) {
    const charge = await chargeForDelivered(core, turn, priceOf)
    const closed = closeTurn(core.books, recovery(turn, charge, core.now()))
    if (closed.kind === 'not-open') continue
    // One wait for all of them: after a crash under load there are thousands, and they share a few commits.
    recorded.push(core.batcher.enqueue(closed.changes).then((durability) => forgetWhenDurable(core, turn, durability)))
  }
  await Promise.all(recorded)
  return recorded.length
}

/** What was lost is resolved again, and needs its progress then. */
function forgetWhenDurable(core: LedgerCore, turn: OpenTurn, durability: Durability): void {
  if (durability === 'durable') core.marks.forget(turn.receipt)
}

const recovery = (turn: OpenTurn, charge: TurnCharge | undefined, at: number): CloseTurn => ({
  requestId: turn.requestId,
  charge,
  outcome: 'recovered',
  lane: undefined,
  firstByteMs: undefined,
  totalMs: 0,
  attempts: '[]',
  at,
})

type PriceLookup = (turn: OpenTurn) => Promise<Price>

function createPriceLookup(core: LedgerCore): PriceLookup {
  const found = new Map<string, Promise<Price>>()
  return ({ model, priceVersion }) => {
    const name = `${priceVersion} ${model}`
    const price = found.get(name) ?? loadPrice(core.db, model, priceVersion)
    found.set(name, price)
    return price
  }
}

async function chargeForDelivered(
  core: LedgerCore,
  turn: OpenTurn,
  priceOf: PriceLookup,
): Promise<TurnCharge | undefined> {
  const delivered = core.marks.get(turn.receipt)
  if (delivered === undefined) return undefined
  const price = await priceOf(turn)
  const usage = {
    uncachedInput: turn.inputEstimate,
    cachedInput: 0,
    cacheWrite: 0,
    output: Math.min(delivered, turn.cap),
    reasoning: 0,
    estimated: true,
  }
  return { usage, ...priceUsage(price, usage) }
}
