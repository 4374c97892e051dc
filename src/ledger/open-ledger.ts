import { forgetIdleCounters, listIdleWindows } from '../db/allowances.ts'
import { findNewestRows, forgetExpiredClaims } from '../db/receipts.ts'
import { recordBatch } from '../db/record-changes.ts'
import { forgetRuns } from '../db/runs.ts'
import { waitingEnds } from '../db/settle-journal.ts'
import { findTransferByRef } from '../db/statement.ts'
import type { LedgerDb } from '../db/tables.ts'
import { forgetSums } from '../db/verify.ts'
import type { AccountRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { RUN_KEPT_MS } from '../model/run.ts'
import { createAccountCache } from './accounts.ts'
import { admit, replayJournal, statusOf, takeRequest } from './admit.ts'
import { createBatcher } from './batcher.ts'
import { createClaimCache } from './claims.ts'
import { createLedgerGate, type LedgerCore, type LedgerOptions } from './core.ts'
import { openJournaledEnds } from './journal.ts'
import type { CreditOrder, CreditOutcome, Ledger } from './ledger.ts'
import { createMarkKeeper } from './marks.ts'
import {
  freezeAndReadAgain,
  NO_LIMITS,
  READ_BACK_PAUSE_MS,
  readBackUntilItWorks,
  readLedgerState,
  replaceState,
  resolveOrphans,
} from './recovery.ts'
import { allowanceStatusOf, closePeriod } from './state/allowances.ts'
import { assignPlan, endPlan, runningSubscription, transferMoney } from './state/operator-commands.ts'
import {
  type AccountState,
  accountStateOf,
  type Change,
  createLedgerState,
  type LedgerState,
  PERIOD_ROWS_FROM,
} from './state/state.ts'
import { checkLimits, dropRecoveredRateLimits, limitStatusesOf } from './state/turn-limits.ts'
import { auditLedger, freeze } from './verify.ts'

const ACCOUNTS_IN_MEMORY_MAX = 10_000

/** Opens the ledger. What a dead process left open is resolved before the first request is admitted. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { db, clock, observer } = options
  const closing = new AbortController()
  const core = await createCore(options, closing.signal)
  const { ledgerState, gate, cache } = core
  const sweepOrphans = async () => {
    const resolved = await resolveOrphans(core)
    if (resolved > 0) observer.recovered(resolved)
    return resolved
  }
  replaceState(core, await readLedgerState(db, () => NO_LIMITS, []))
  if (!(await replayJournal(core))) throw new Error('The ledger could not record the ends in its journal')
  await sweepOrphans()

  return {
    ...createOperatorCommands(core),
    gate,
    get openHolds() {
      return ledgerState.turns.size
    },
    accountStatus: (account) => cache.withState(account, statusOf),
    isWalletEmpty: (account) => cache.withState(account, isEmpty),
    limitStatuses: (limits) => limitStatusesOf(ledgerState, limits, clock.nowMicros()),
    limitRefusal: (limits) => checkLimits(ledgerState, limits, clock.nowMicros()),
    admit: (request, check) => cache.withState(request.account, () => admit(core, request, check)),
    takeRequest: (limits) => takeRequest(core, limits),
    lookUpClaim: core.claims.lookUp,
    allowanceStatuses: (account, allowances) =>
      cache.withState(account, (state) => {
        const at = clock.now()
        return {
          subscription: runningSubscription(state, at),
          statuses: allowances.map((allowance) => allowanceStatusOf(state, allowance, at)),
        }
      }),
    audit: (which) => auditLedger(core, which),
    async sweep() {
      cache.evict(ACCOUNTS_IN_MEMORY_MAX)
      await core.claims.evict()
      dropRecoveredRateLimits(ledgerState, clock.nowMicros())
      if (!gate.open) return 0
      const resolved = await sweepOrphans()
      if (gate.open) await forgetAllExpiredClaims(core)
      if (gate.open) await closeIdlePeriods(core)
      return resolved
    },
    whileClosed: (work) => whileClosed(core, work, closing.signal, observer),
    async close() {
      closing.abort()
      core.marks.stop()
      await core.batcher.idle()
    },
  }
}

const isEmpty = ({ wallet }: AccountState): boolean => wallet.posted <= 0n

/** The state is empty until `replaceState` puts in what the file has. */
async function createCore(options: LedgerOptions, closing: AbortSignal): Promise<LedgerCore> {
  const { db, lowPriorityDb, file, clock, observer } = options
  const ledgerState = await emptyState(db)
  const gate = createLedgerGate(options.outageGraceMs)
  const batcher = createBatcher({
    clock,
    observer,
    record: (operations, marks) => recordBatch(file, operations, marks),
    onRefused: (account, refused, error) => {
      observer.accountUnbalanced(account, error)
      void freezeAndReadAgain(core, account, refused).catch(batcher.fail)
    },
    onFailure: (error, failuresBefore) => {
      observer.batchFailed(error)
      gate.shut()
      const retries = { failuresBefore, pauseMs: options.readBackPauseMs ?? READ_BACK_PAUSE_MS }
      void readBackUntilItWorks(core, closing, observer, retries)
    },
  })
  const core: LedgerCore = {
    db,
    lowPriorityDb,
    file,
    clock,
    ledgerState,
    gate,
    batcher,
    cache: createAccountCache(db, ledgerState, clock, batcher),
    claims: createClaimCache(db, ledgerState, clock, batcher),
    findKeptFacts: options.findKeptFacts ?? (async () => new Map()),
    marks: createMarkKeeper(batcher, gate, { now: () => clock.now(), intervalMs: options.markIntervalMs }),
    journaled: await openJournaledEnds(options.journal, waitingEnds(db, file)),
    attended: new Set(),
    suspect(account, error) {
      const found = ledgerState.accounts.get(account)
      if (!found || found.frozen) return
      found.frozen = true
      observer.accountUnbalanced(account, error)
      // If the file does not take the freeze either, the next audit finds the same.
      void freeze(core, account).catch(observer.batchFailed)
    },
  }
  return core
}

/** Numbers new rows after those in the file. */
async function emptyState(db: LedgerDb): Promise<LedgerState> {
  const { receipt, transfer, bucket, subscription } = await findNewestRows(db)
  return createLedgerState({
    receipt: receipt + 1,
    transfer: transfer + 1,
    bucket: Math.max(bucket + 1, PERIOD_ROWS_FROM),
    subscription: subscription + 1,
  })
}

/** Rows deleted in one statement, so that no request waits behind more. */
const ROWS_AT_ONCE = 200

async function forgetAllExpiredClaims(core: LedgerCore): Promise<void> {
  for (;;) if ((await forgetExpiredClaims(core.file, core.clock.now(), ROWS_AT_ONCE)) < ROWS_AT_ONCE) return
}

function createOperatorCommands(core: LedgerCore): Pick<Ledger, 'credit' | 'assignPlan' | 'endPlan'> {
  const credits = new Map<AccountRow, Promise<unknown>>()
  return {
    /** One at a time per account: a second order must not pass between looking its reference up and recording it. */
    async credit(order) {
      const before = credits.get(order.account) ?? Promise.resolve()
      const mine = before.catch(() => {}).then(() => creditOnce(core, order))
      credits.set(order.account, mine)
      try {
        return await mine
      } finally {
        if (credits.get(order.account) === mine) credits.delete(order.account)
      }
    },
    assignPlan: (order) => execute(core, order.account, (at) => assignPlan(core.ledgerState, { ...order, at })),
    endPlan: (order) => execute(core, order.account, (at) => endPlan(core.ledgerState, { endsAt: at, ...order, at })),
  }
}

async function creditOnce(core: LedgerCore, order: CreditOrder): Promise<CreditOutcome> {
  const { account } = order
  await waitForGate(core)
  const known = await findTransferByRef(core.db, account, order.kind, order.ref)
  if (known && known.amount_nano !== order.amount) return { kind: 'ref-taken', amount: known.amount_nano as NanoUsd }
  if (known) return { kind: 'exists', status: await core.cache.withState(account, statusOf) }
  const { moved, status } = await execute(core, account, (at) => {
    const outcome = transferMoney(core.ledgerState, { ...order, at })
    const changes = outcome.kind === 'transferred' ? outcome.changes : undefined
    return { moved: outcome, changes, status: statusOf(accountStateOf(core.ledgerState, account)) }
  })
  if (moved.kind === 'too-much') return moved
  return { kind: moved.kind === 'short' ? 'short' : 'credited', status }
}

/** How long an operator command waits while the state is read back. Then it fails, and may be repeated. */
const COMMAND_WAIT_MS = 10_000

async function waitForGate(core: LedgerCore): Promise<void> {
  if (await core.gate.whenOpen(COMMAND_WAIT_MS)) return
  throw new Error('The ledger is being read back; nothing was changed. Repeat the command later')
}

/** Decides at once, and returns when the decision is durable. */
async function execute<Outcome extends object>(
  core: LedgerCore,
  account: AccountRow,
  decide: (at: number) => Outcome & { readonly changes?: readonly Change[] | undefined },
): Promise<Outcome> {
  await waitForGate(core)
  return core.cache.withState(account, async () => {
    // Nothing waits from here to the enqueue.
    if (!core.gate.open) throw new Error('The ledger failed meanwhile; nothing was changed. Repeat the command later')
    const outcome = decide(core.clock.now())
    if (outcome.changes && (await core.batcher.enqueue(account, outcome.changes)) !== 'durable')
      throw new Error(
        'The ledger could not confirm the change. Check whether it was applied; if not, repeat the command',
      )
    return outcome
  })
}

/**
 * Changes the file while nothing is decided on it, and reads the state back afterwards, also when the work fails. Requests
 * meanwhile get `ledger_unavailable`; turns that end wait, or write their end into the journal.
 */
async function whileClosed<Result>(
  core: LedgerCore,
  work: () => Promise<Result>,
  closing: AbortSignal,
  observer: LedgerOptions['observer'],
): Promise<Result> {
  await waitForGate(core)
  // Of two that waited for the same opening, the first one has shut the gate again.
  if (!core.gate.open) throw new Error('The ledger is being read back; nothing was changed. Repeat the command later')
  core.gate.shut()
  await core.batcher.idle()
  // The last batch failed: its own read-back has begun and opens the gate. A second one would restore an old state.
  if ((await core.batcher.recorded()) === 'lost')
    throw new Error('The ledger could not record its last batch; nothing was changed. Repeat the command later')
  try {
    return await work()
  } finally {
    await readBackUntilItWorks(core, closing, observer, { failuresBefore: 0, pauseMs: READ_BACK_PAUSE_MS })
  }
}

const DAY_MS = 86_400_000
/** A window stays open this long after its end, so that its usage can still be looked at. */
const WINDOW_IDLE_MS = 32 * DAY_MS
const WINDOWS_AT_ONCE = 50

/**
 * Closes periods that are over, a few with every sweep. A period in use is closed by the next one of its window; this
 * closes those of accounts that stopped, and the counters of revoked keys.
 */
async function closeIdlePeriods(core: LedgerCore): Promise<void> {
  const { ledgerState, clock } = core
  const endedBefore = clock.now() - WINDOW_IDLE_MS
  const windows = await listIdleWindows(core.db, { endedBefore, limit: WINDOWS_AT_ONCE })
  const closed = await Promise.allSettled(
    windows.map(({ row, account, subject }) =>
      core.cache.withState(account as AccountRow, async (state) => {
        // Decided by the state in memory, which may be ahead of the file.
        const window = [state.periods.get(subject), ...state.endedWithHolds].find((bucket) => bucket?.row === row)
        if (!window || window.end >= endedBefore || window.held !== 0n || state.frozen || !core.gate.open) return
        await core.batcher.enqueue(state.account, closePeriod(ledgerState, state, window, clock.now()))
      }),
    ),
  )
  const yesterday = clock.now() - DAY_MS
  const forgotten = await forgetIdleCounters(core.file, { endedBefore: yesterday, limit: ROWS_AT_ONCE })
  for (const { account, subject, period_start } of forgotten) {
    const counters = ledgerState.accounts.get(account as AccountRow)?.counters
    const counter = counters?.get(subject)
    // In memory its next period may have begun, or a turn may use it that is not in the file yet.
    if (counter?.start === period_start && counter.held === 0n) counters?.delete(subject)
  }
  await forgetSums(core.file, yesterday, ROWS_AT_ONCE)
  await forgetRuns(core.file, clock.now() - RUN_KEPT_MS)
  // One account that cannot be read is reported at the end, so that it does not stop the others.
  const failed = closed.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}
