import { setFrozen } from '../db/accounts.ts'
import { findIssued } from '../db/allowances.ts'
import { proveWritable } from '../db/meta.ts'
import { findMarks, listOpenReceipts, type OpenReceiptRow } from '../db/receipts.ts'
import type { LedgerDb } from '../db/tables.ts'
import { pauseIdly } from '../lib/async.ts'
import { measureOf, readMark, subjectOfCap } from '../model/allowance.ts'
import type { AppliedLimit } from '../model/caller.ts'
import { type Ending, type Owed, readEnding } from '../model/ending.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { type Price, parseAsked } from '../model/price.ts'
import { priceUsage } from '../pricing/price.ts'
import { loadAccountState } from './accounts.ts'
import { type RecordedEnd, recordEnd, replayJournal } from './admit.ts'
import type { Operation } from './batcher.ts'
import { readClaim } from './claims.ts'
import type { KeptFacts, LedgerCore } from './core.ts'
import { unpackMarks } from './marks.ts'
import { loadPrice } from './prices.ts'
import type { AccountState, Claim, CountedSpend, LedgerState, OpenTurn, SpendCounter } from './state/state.ts'
import { countAllRunning } from './state/turn-limits.ts'
import { heldOf } from './state/turns.ts'

/** The part of the state that the file has: open holds, their accounts, and how far their answers had got. */
interface RecordedState extends Pick<LedgerState, 'accounts' | 'turns' | 'issued' | 'claims'> {
  readonly marks: ReadonlyMap<number, number>
}

/** For turns of a dead process: their limits ended with it. */
export const NO_LIMITS: readonly AppliedLimit[] = []

/**
 * Reads a new state beside the one in memory, which stays as it is until `replaceState`. `limitsOf` gives the limits of
 * open turns, which only memory knows; `scopes` are the idempotency keys in use.
 */
export async function readLedgerState(
  db: LedgerDb,
  limitsOf: (requestId: RequestId) => readonly AppliedLimit[],
  scopes: readonly string[],
): Promise<RecordedState> {
  const [receipts, marks, issued] = await Promise.all([listOpenReceipts(db), findMarks(db), findIssued(db)])
  const accounts = new Map<AccountRow, AccountState>()
  const turns = new Map<RequestId, OpenTurn>()
  for (const receipt of receipts) {
    const account = receipt.account as AccountRow
    const state = accounts.get(account) ?? (await loadAccountState(db, account))
    accounts.set(account, state)
    const turn = openTurnOf(receipt, state, limitsOf(receipt.request_id as RequestId))
    turns.set(turn.requestId, turn)
  }
  const claims = await readClaims(db, new Set([...scopes, ...receipts.flatMap(({ scope }) => scope ?? [])]))
  return { accounts, turns, issued, claims, marks: new Map(marks.flatMap(({ packed }) => [...unpackMarks(packed)])) }
}

/** One synchronous step, so that no operation meets a state that is half old and half new. */
export function replaceState(core: LedgerCore, { accounts, turns, marks, issued, claims }: RecordedState): void {
  // Concurrency is counted from the turns that are left: a turn whose hold was lost does not give its place back.
  Object.assign(core.ledgerState, { accounts, turns, issued, claims, running: countAllRunning(turns.values()) })
  core.marks.restore(marks, new Set([...turns.values()].map((turn) => turn.receipt)))
}

async function readClaims(db: LedgerDb, scopes: Iterable<string>): Promise<Map<string, Claim | undefined>> {
  const claims = new Map<string, Claim | undefined>()
  for (const scope of scopes) claims.set(scope, await readClaim(db, scope))
  return claims
}

function openTurnOf(receipt: OpenReceiptRow, account: AccountState, limits: readonly AppliedLimit[]): OpenTurn {
  const { wallet, periods, endedWithHolds, counters } = account
  const held = [wallet, ...periods.values(), ...endedWithHolds]
  return {
    requestId: receipt.request_id as RequestId,
    receipt: receipt.row,
    account: account.account,
    model: receipt.model,
    priceVersion: receipt.price_version,
    heldAmount: receipt.hold_nano as NanoUsd,
    buckets: (JSON.parse(receipt.buckets) as number[]).map((row) => {
      const bucket = held.find((candidate) => candidate.row === row)
      if (bucket) return bucket
      throw new Error(`Receipt ${receipt.request_id} holds on bucket ${row}, which its account does not have`)
    }),
    // A counter whose next period has begun no longer counts this turn.
    counted: (receipt.caps?.split(' ') ?? []).flatMap((mark) => {
      const counter = counters.get(subjectOfCap(receipt.key, mark))
      return counter && counter.firstReceipt <= receipt.row ? countedAgain(receipt, mark, counter) : []
    }),
    limits,
    claim: receipt.scope ?? undefined,
    inputEstimate: receipt.input_estimate,
    cachedEstimate: receipt.cached_estimate,
    outputBound: receipt.output_bound,
    asked: receipt.asked ?? undefined,
  }
}

function countedAgain(receipt: OpenReceiptRow, mark: string, counter: SpendCounter): CountedSpend {
  const measure = measureOf({ unit: 'cap', name: readMark(mark).name })
  const heldTokens = receipt.input_estimate + receipt.output_bound
  return { counter, mark, measure, amount: heldOf(measure, { heldAmount: receipt.hold_nano, heldTokens }) }
}

/**
 * For an account of which the file has refused an operation. The account is frozen until an operator has looked, and memory
 * takes over its balances, its open turns and the claims of the refused operations from the file.
 */
export function freezeAndReadAgain(
  core: LedgerCore,
  account: AccountRow,
  refused: readonly Operation[],
): Promise<void> {
  // Frozen in memory at once, so that nothing more is admitted even if the read fails.
  const ahead = core.ledgerState.accounts.get(account)
  if (ahead) ahead.frozen = true
  return core.cache.readAgain(account, async () => {
    await setFrozen(core.file, account, core.clock.now())
    const { ledgerState } = core
    const turnsBefore = [...ledgerState.turns.values()].filter((turn) => turn.account === account)
    const scopes = new Set([...turnsBefore.flatMap(({ claim }) => claim ?? []), ...refused.flatMap(scopesOf)])
    const [loaded, receipts, claims] = await Promise.all([
      loadAccountState(core.db, account),
      listOpenReceipts(core.db, account),
      readClaims(core.db, scopes),
    ])
    // Nothing waits from here on: no operation meets an account that is half old and half new.
    const limits = new Map<string, readonly AppliedLimit[]>(turnsBefore.map((turn) => [turn.requestId, turn.limits]))
    for (const { requestId } of turnsBefore) ledgerState.turns.delete(requestId)
    for (const receipt of receipts) {
      const turn = openTurnOf(receipt, loaded, limits.get(receipt.request_id) ?? NO_LIMITS)
      ledgerState.turns.set(turn.requestId, turn)
    }
    ledgerState.accounts.set(account, loaded)
    for (const [scope, claim] of claims) ledgerState.claims.set(scope, claim)
    ledgerState.running = countAllRunning(ledgerState.turns.values())
  })
}

const scopesOf = ({ changes }: Operation): string[] =>
  changes.flatMap((change) => (change.kind === 'claim-opened' || change.kind === 'claim-ended' ? change.scope : []))

export const READ_BACK_PAUSE_MS = 250
const PAUSE_MAX_MS = 10_000

/**
 * A failed batch leaves memory ahead of the file. Nothing is decided until the file has taken a write again and memory
 * matches the file; running turns then find their hold as it was recorded, or not at all. `failuresBefore` counts the
 * batches that failed since the last success. Retries back off exponentially from `pauseMs`.
 */
export async function readBackUntilItWorks(
  core: LedgerCore,
  closing: AbortSignal,
  observer: { batchFailed(error: unknown): void },
  { failuresBefore, pauseMs }: { readonly failuresBefore: number; readonly pauseMs: number },
): Promise<void> {
  const { turns } = core.ledgerState
  const limitsOf = (requestId: RequestId) =>
    (core.attended.has(requestId) ? turns.get(requestId)?.limits : undefined) ?? NO_LIMITS
  for (let failures = failuresBefore; ; failures++) {
    await pauseIdly(failures === 0 ? 0 : Math.min(pauseMs * 2 ** (failures - 1), PAUSE_MAX_MS))
    try {
      await core.batcher.idle()
      if (closing.aborted) return
      await proveWritable(core.file)
      replaceState(core, await readLedgerState(core.db, limitsOf, core.claims.inUse))
      core.batcher.reopen()
      // Before the gate opens, because journaled ends are what happened. A failure here has begun another read-back.
      if (!(await replayJournal(core))) return
      core.gate.reopen()
      // An end that was journaled in this moment found the gate shut, and nothing else replays it.
      if (!core.journaled.isEmpty) void replayJournal(core)
      return
    } catch (error) {
      if (closing.aborted) return
      observer.batchFailed(error)
    }
  }
}

/**
 * Resolves every hold that no turn attends: all of them after a crash, and while running those of turns that a fault of
 * ours lost. A kept answer is charged as its ending says. Of any other answer the marked output is charged with its input,
 * and the rest is released. Returns how many are durably resolved; the next sweep retries what was lost.
 */
export async function resolveOrphans(core: LedgerCore): Promise<number> {
  const found = orphansOf(core)
  const examined = new Set(found.map(({ requestId }) => requestId))
  const prices = new Map<string, Price>()
  for (const turn of found) {
    const name = priceName(turn)
    if (!prices.has(name)) prices.set(name, await loadPrice(core.db, turn.model, turn.priceVersion))
  }
  const kept = await core.findKeptFacts([...examined])
  // Nothing waits from here to the last enqueue. Holds that became orphans since the first look wait for the next sweep.
  if (!core.gate.open) return 0
  const recorded = orphansOf(core).flatMap((turn) => {
    const price = prices.get(priceName(turn))
    return price && examined.has(turn.requestId) ? [resolve(core, turn, price, kept.get(turn.requestId))] : []
  })
  // One wait for all: after a crash under load there are thousands, and they share a few commits.
  return (await Promise.all(recorded)).filter(({ kind }) => kind === 'recorded').length
}

const orphansOf = (core: LedgerCore): OpenTurn[] =>
  [...core.ledgerState.turns.values()].filter(
    ({ requestId }) => !core.attended.has(requestId) && !core.journaled.has(requestId),
  )

function resolve(core: LedgerCore, turn: OpenTurn, price: Price, kept: KeptFacts | undefined): Promise<RecordedEnd> {
  const { requestId } = turn
  // The answer is whole, and can still be had: only its charge was missing.
  if (kept !== undefined) {
    return recordEnd(core, { requestId, ending: { ...readEnding(kept.facts), kept: kept.isReplayable } })
  }
  // Without a mark nothing was delivered, except perhaps in the last interval: the hold is released whole.
  const delivered = core.marks.get(turn.receipt)
  const owed = delivered === undefined ? undefined : chargeForDelivered(turn, delivered, price)
  return recordEnd(core, { requestId, ending: recoveredEnding(owed) })
}

const priceName = ({ model, priceVersion }: OpenTurn): string => `${priceVersion} ${model}`

/** What a lost turn owes: its input, and the output that was marked as delivered. */
export function chargeForDelivered(
  turn: Pick<OpenTurn, 'inputEstimate' | 'cachedEstimate' | 'outputBound'> & {
    readonly asked?: string | null | undefined
  },
  delivered: number,
  price: Price,
): Owed {
  const usage = {
    uncachedInput: turn.inputEstimate - turn.cachedEstimate,
    cachedInput: turn.cachedEstimate,
    cacheWrite: 0,
    output: Math.min(delivered, turn.outputBound),
    reasoning: 0,
    estimated: true,
  }
  return { usage, ...priceUsage(price, usage, parseAsked(turn.asked)) }
}

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
