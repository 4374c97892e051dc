import type { AccountBooks, Bucket, Claim, CountedSpend, OpenTurn } from '../books/books.ts'
import { countAllRunning } from '../books/turn-limits.ts'
import type { AccountRow, KeyRow, RequestId } from '../model/ids.ts'
import type { AppliedLimit } from '../model/limit.ts'
import type { NanoUsd } from '../model/money.ts'
import { subjectOfCap } from '../model/spend-caps.ts'
import { findIssued } from '../store/buckets.ts'
import { findClaim } from '../store/claims.ts'
import { findMarks, listOpenReceipts, type OpenReceiptRow } from '../store/receipts.ts'
import type { LedgerDb } from '../store/tables.ts'
import { claimOf } from './claim-shelf.ts'
import type { LedgerCore } from './core.ts'
import { loadAccountBooks } from './load-account.ts'
import { unpackMarks } from './mark-keeper.ts'

/** What the file says: the holds that are open, the accounts they stand on, and how far their answers had got. */
export interface RecordedBooks {
  readonly accounts: Map<AccountRow, AccountBooks>
  readonly turns: Map<RequestId, OpenTurn>
  readonly marks: ReadonlyMap<number, number>
  readonly issued: bigint
  /** Idempotency keys that are taken by the open turns, or asked for by somebody. */
  readonly claims: Map<string, Claim | undefined>
}

/** Of a turn whose process is gone: the limits that it was under ended with it. */
export const NO_LIMITS: readonly AppliedLimit[] = []

export interface WhatMatters {
  /** The limits that an open turn was admitted under: known in memory only. */
  limitsOf(requestId: RequestId): readonly AppliedLimit[]
  /** Idempotency keys that somebody has asked for. */
  readonly scopes: readonly string[]
}

/** Reads beside the books that are in memory, which stay as they are until this is adopted whole. */
export async function readBooks(db: LedgerDb, { limitsOf, scopes }: WhatMatters): Promise<RecordedBooks> {
  const [receipts, marks, issued] = await Promise.all([listOpenReceipts(db), findMarks(db), findIssued(db)])
  const accounts = new Map<AccountRow, AccountBooks>()
  const turns = new Map<RequestId, OpenTurn>()
  for (const receipt of receipts) {
    const account = receipt.account as AccountRow
    const shelved = accounts.get(account) ?? (await loadAccountBooks(db, account))
    accounts.set(account, shelved)
    const turn = openTurnOf(receipt, shelved, limitsOf(receipt.request_id as RequestId))
    turns.set(turn.requestId, turn)
  }
  const claims = await readClaims(db, new Set([...scopes, ...receipts.flatMap(({ scope }) => scope ?? [])]))
  return { accounts, turns, issued, claims, marks: new Map(marks.flatMap(({ packed }) => [...unpackMarks(packed)])) }
}

/** In one step, without waiting: nobody ever meets books of which one half is old and the other new. */
export function adoptBooks(core: LedgerCore, { accounts, turns, marks, issued, claims }: RecordedBooks): void {
  // Places are counted anew from the turns that are left: those whose hold was lost will not give theirs back.
  Object.assign(core.books, { accounts, turns, issued, claims, running: countAllRunning(turns.values()) })
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

export function openTurnOf(receipt: OpenReceiptRow, account: AccountBooks, limits: readonly AppliedLimit[]): OpenTurn {
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
function countedOf({ row, caps, key }: OpenReceiptRow, { counters }: AccountBooks): CountedSpend[] {
  const names = caps === null ? [] : caps.split(' ')
  return names.flatMap((name) => {
    const counter = counters.get(subjectOfCap(key as KeyRow, name))
    return counter && counter.firstReceipt <= row ? { counter, name } : []
  })
}

function bucketsOf(receipt: OpenReceiptRow, { wallet, periods, outlived }: AccountBooks): Bucket[] {
  const there = [wallet, ...periods.values(), ...outlived]
  return (JSON.parse(receipt.buckets) as number[]).map((row) => {
    const bucket = there.find((candidate) => candidate.row === row)
    if (bucket) return bucket
    throw new Error(`Receipt ${receipt.request_id} holds on bucket ${row}, which its account does not have`)
  })
}
