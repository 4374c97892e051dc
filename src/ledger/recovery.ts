import { findIssued } from '../db/allowances.ts'
import { findClaim } from '../db/claims.ts'
import { proveWritable } from '../db/meta.ts'
import { findMarks, listOpenReceipts, type OpenReceiptRow } from '../db/receipts.ts'
import type { LedgerDb } from '../db/tables.ts'
import { pauseIdly } from '../lib/async.ts'
import { subjectOfCap } from '../model/allowance.ts'
import { type Ending, type Owed, readEnding } from '../model/ending.ts'
import type { AccountRow, KeyRow, RequestId } from '../model/ids.ts'
import type { AppliedLimit } from '../model/limit.ts'
import type { NanoUsd } from '../model/money.ts'
import type { Price } from '../model/price.ts'
import { priceUsage } from '../pricing/price.ts'
import { loadAccountState } from './accounts.ts'
import type { Durability } from './batcher.ts'
import { claimOf } from './claims.ts'
import type { LedgerCore } from './core.ts'
import type { TurnEnd } from './journal.ts'
import type { FoundFacts } from './ledger.ts'
import { unpackMarks } from './marks.ts'
import { loadPrice } from './prices.ts'
import { type Charged, type CloseOutcome, closeTurn } from './state/close-turn.ts'
import {
  type AccountState,
  BrokenRule,
  type Bucket,
  type Change,
  type Claim,
  type CountedSpend,
  type OpenTurn,
} from './state/state.ts'
import { countAllRunning } from './state/turn-limits.ts'

/** What the file says: the holds that are open, the accounts they stand on, and how far their answers had got. */
interface RecordedState {
  readonly accounts: Map<AccountRow, AccountState>
  readonly turns: Map<RequestId, OpenTurn>
  readonly marks: ReadonlyMap<number, number>
  readonly issued: bigint
  /** Idempotency keys that are taken by the open turns, or asked for by somebody. */
  readonly claims: Map<string, Claim | undefined>
}

/** Of a turn whose process is gone: the limits that it was under ended with it. */
export const NO_LIMITS: readonly AppliedLimit[] = []

interface WhatMatters {
  /** The limits that an open turn was admitted under: known in memory only. */
  limitsOf(requestId: RequestId): readonly AppliedLimit[]
  /** Idempotency keys that somebody has asked for. */
  readonly scopes: readonly string[]
}

/** Reads beside the books that are in memory, which stay as they are until this is adopted whole. */
export async function readBooks(db: LedgerDb, { limitsOf, scopes }: WhatMatters): Promise<RecordedState> {
  const [receipts, marks, issued] = await Promise.all([listOpenReceipts(db), findMarks(db), findIssued(db)])
  const accounts = new Map<AccountRow, AccountState>()
  const turns = new Map<RequestId, OpenTurn>()
  for (const receipt of receipts) {
    const account = receipt.account as AccountRow
    const shelved = accounts.get(account) ?? (await loadAccountState(db, account))
    accounts.set(account, shelved)
    const turn = openTurnOf(receipt, shelved, limitsOf(receipt.request_id as RequestId))
    turns.set(turn.requestId, turn)
  }
  const claims = await readClaims(db, new Set([...scopes, ...receipts.flatMap(({ scope }) => scope ?? [])]))
  return { accounts, turns, issued, claims, marks: new Map(marks.flatMap(({ packed }) => [...unpackMarks(packed)])) }
}

/** In one step, without waiting: nobody ever meets books of which one half is old and the other new. */
export function adoptLedger(core: LedgerCore, { accounts, turns, marks, issued, claims }: RecordedState): void {
  // Places are counted anew from the turns that are left: those whose hold was lost will not give theirs back.
  Object.assign(core.ledgerState, { accounts, turns, issued, claims, running: countAllRunning(turns.values()) })
  core.marks.restore(marks, new Set([...turns.values()].map((turn) => turn.receipt)))
}

export async function readClaims(db: LedgerDb, scopes: Iterable<string>): Promise<Map<string, Claim | undefined>> {
  const claims = new Map<string, Claim | undefined>()
  for (const scope of scopes) {
    const stored = await findClaim(db, scope)
    claims.set(scope, stored && claimOf(stored))
  }
  return claims
}

export function openTurnOf(receipt: OpenReceiptRow, account: AccountState, limits: readonly AppliedLimit[]): OpenTurn {
  return {
    requestId: receipt.request_id as RequestId,
    receipt: receipt.row,
    account: account.account,
    model: receipt.model,
    priceVersion: receipt.price_version,
    hold: receipt.hold_nano as NanoUsd,
    buckets: bucketsOf(receipt, account),
    counted: countedOf(receipt, account),
    limits,
    claim: receipt.scope ?? undefined,
    inputEstimate: receipt.input_estimate,
    cachedEstimate: receipt.cached_estimate,
    outputBound: receipt.output_bound,
  }
}

/** A period of a cap that is over has nothing left to count. */
function countedOf({ row, caps, key }: OpenReceiptRow, { counters }: AccountState): CountedSpend[] {
  const names = caps === null ? [] : caps.split(' ')
  return names.flatMap((name) => {
    const counter = counters.get(subjectOfCap(key as KeyRow, name))
    return counter && counter.firstReceipt <= row ? { counter, name } : []
  })
}

function bucketsOf(receipt: OpenReceiptRow, { wallet, periods, outlived }: AccountState): Bucket[] {
  const there = [wallet, ...periods.values(), ...outlived]
  return (JSON.parse(receipt.buckets) as number[]).map((row) => {
    const bucket = there.find((candidate) => candidate.row === row)
    if (bucket) return bucket
    throw new Error(`Receipt ${receipt.request_id} holds on bucket ${row}, which its account does not have`)
  })
}

export const READ_BACK_PAUSE_MS = 250
const PAUSE_MAX_MS = 10_000

/**
 * A failed batch leaves memory ahead of the file. Nothing is decided until the file has taken a write again and memory is
 * what it says; turns that are alive find their hold as it was recorded, or not at all. `failuresBefore` counts the
 * batches that failed since the last one that did not: a fault that comes back at once is asked after ever less often,
 * each time twice as long after `pauseMs` at first.
 */
export async function readBackUntilItWorks(
  core: LedgerCore,
  closing: AbortSignal,
  observer: { batchFailed(error: unknown): void },
  { failuresBefore, pauseMs }: { readonly failuresBefore: number; readonly pauseMs: number },
): Promise<void> {
  // What each running turn takes from the limits is known in memory only.
  const { turns } = core.ledgerState
  const limitsOfLiving = (requestId: RequestId) =>
    (core.attended.has(requestId) ? turns.get(requestId)?.limits : undefined) ?? NO_LIMITS
  for (let failures = failuresBefore; ; failures++) {
    await pauseIdly(failures === 0 ? 0 : Math.min(pauseMs * 2 ** (failures - 1), PAUSE_MAX_MS))
    try {
      await core.batcher.idle()
      if (closing.aborted) return
      await proveWritable(core.file)
      adoptLedger(core, await readBooks(core.db, { limitsOf: limitsOfLiving, scopes: core.claims.asked }))
      core.batcher.reopen()
      // Before anybody else may touch them: what was written down meanwhile is what happened.
      // Where that failed, the failure has begun another reading back.
      if (!(await replayJournal(core))) return
      core.gate.reopen()
      // Whoever has written one down in this very moment found the gate shut, and left it to us.
      if (!core.journaled.isEmpty) void replayJournal(core)
      return
    } catch (error) {
      if (closing.aborted) return
      observer.batchFailed(error)
    }
  }
}

/**
 * Ends every hold that nobody attends: after a crash all of them, while running those whose turn was lost by a fault of
 * our own. An answer that was already kept is charged as it would have been. Of any other, what was marked
 * as delivered is charged with its input, and what was not is given back. Returns how many are durably resolved; what was
 * lost is found again by the next sweep.
 */
export async function resolveOrphans(core: LedgerCore): Promise<number> {
  const found = orphansOf(core)
  const asked = new Set(found.map(({ requestId }) => requestId))
  const prices = await loadPrices(core, found)
  const kept = await core.findKeptFacts(found.map(({ requestId }) => requestId))
  // Nothing waits from here to the last enqueue. What the books lost or gained while others were asked is seen here: a
  // hold that nobody asked about waits for the next sweep.
  if (!core.gate.open) return 0
  const recorded = orphansOf(core).flatMap((turn) => {
    const price = prices.get(priceName(turn))
    return price && asked.has(turn.requestId) ? [resolve(core, turn, price, kept.get(turn.requestId))] : []
  })
  // One wait for all of them: after a crash under load there are thousands, and they share a few commits.
  return (await Promise.all(recorded)).filter(({ kind }) => kind === 'recorded').length
}

const orphansOf = (core: LedgerCore): OpenTurn[] =>
  [...core.ledgerState.turns.values()].filter(
    ({ requestId }) => !core.attended.has(requestId) && !core.journaled.has(requestId),
  )

function resolve(core: LedgerCore, turn: OpenTurn, price: Price, kept: FoundFacts | undefined): Promise<RecordedEnd> {
  const { requestId } = turn
  // The answer is whole, and can still be had: only its charge was missing.
  if (kept !== undefined) {
    return recordEnd(core, { requestId, ending: { ...readEnding(kept.facts), kept: kept.givenAgain } })
  }
  // Where nothing was marked, nothing was delivered but perhaps in the last interval: that is given back whole.
  const delivered = core.marks.get(turn.receipt)
  const owed = delivered === undefined ? undefined : chargeForDelivered(turn, delivered, price)
  return recordEnd(core, { requestId, ending: recoveredEnding(owed) })
}

const priceName = ({ model, priceVersion }: OpenTurn): string => `${priceVersion} ${model}`

async function loadPrices(core: LedgerCore, turns: readonly OpenTurn[]): Promise<Map<string, Price>> {
  const prices = new Map<string, Price>()
  for (const turn of turns) {
    const name = priceName(turn)
    if (!prices.has(name)) prices.set(name, await loadPrice(core.db, turn.model, turn.priceVersion))
  }
  return prices
}

type LostTurn = Pick<OpenTurn, 'inputEstimate' | 'cachedEstimate' | 'outputBound'>

/** What a turn owes that nobody can ask any more: its input, and the output that was marked as delivered. */
export function chargeForDelivered(turn: LostTurn, delivered: number, price: Price): Owed {
  const usage = {
    uncachedInput: turn.inputEstimate - turn.cachedEstimate,
    cachedInput: turn.cachedEstimate,
    cacheWrite: 0,
    output: Math.min(delivered, turn.outputBound),
    reasoning: 0,
    estimated: true,
  }
  return { usage, ...priceUsage(price, usage) }
}

/** Of a turn that nobody can ask any more how it went. */
export const recoveredEnding = (owed: Owed | undefined): Ending => ({
  outcome: 'recovered',
  owed,
  lane: undefined,
  attempts: [],
  firstByteMs: undefined,
  totalMs: 0,
  compaction: undefined,
  kept: false,
})

/** What was decided on an account joins the batch that is about to be recorded. */
export const record = (core: LedgerCore, account: AccountRow, changes: readonly Change[]): Promise<Durability> =>
  core.batcher.enqueue(account, changes)

type RecordedEnd =
  | ({ readonly kind: 'recorded' } & Charged)
  /** The batch could not be written: the hold stands as before, once the books have been read back. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'not-open' }
  /** The account does not add up: the hold stays as it is until somebody has looked. */
  | { readonly kind: 'broken' }

/** Ends a turn in the books at once, and says when that is durable. */
export async function recordEnd(core: LedgerCore, end: TurnEnd): Promise<RecordedEnd> {
  const turn = core.ledgerState.turns.get(end.requestId)
  if (!turn) return { kind: 'not-open' }
  // What memory says of it is not what the file says, and is about to be read again.
  if (core.cache.reading(turn.account)) return { kind: 'broken' }
  const closed = tryToClose(core, turn.account, end)
  if (closed.kind !== 'closed') return closed
  // What was lost is ended again, and needs its progress then.
  const durability = await record(core, turn.account, closed.changes)
  if (durability === 'lost') return { kind: 'lost' }
  if (durability === 'refused') return { kind: 'broken' }
  core.marks.forget(turn.receipt)
  return { kind: 'recorded', charge: closed.charge, shortfall: closed.shortfall }
}

function tryToClose(core: LedgerCore, account: AccountRow, end: TurnEnd): CloseOutcome | { readonly kind: 'broken' } {
  try {
    return closeTurn(core.ledgerState, { ...end, at: core.now(), nowMicros: core.nowMicros() })
  } catch (error) {
    if (!(error instanceof BrokenRule)) throw error
    core.suspect(account, error)
    return { kind: 'broken' }
  }
}

/** Ends the turns whose ends were written down while the books could not be. True when nothing is left to record. */
export const replayJournal = (core: LedgerCore): Promise<boolean> =>
  core.journaled.replay((end) => recordEnd(core, end))
