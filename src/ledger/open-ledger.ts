import { forgetIdleCounters, type IdleWindow, listIdleWindows } from '../db/allowances.ts'
import { forgetExpiredClaims } from '../db/claims.ts'
import { forgetSums } from '../db/proofs.ts'
import { findTransferByRef } from '../db/statement.ts'
import type { AccountRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { admit, allowanceReport, statusOf, takeRequest } from './admit.ts'
import type { LedgerCore } from './core.ts'
import { auditLedger, createCore, type LedgerDeps, type LedgerObserver } from './create-core.ts'
import type { CreditOrder, CreditOutcome, Ledger } from './ledger.ts'
import {
  adoptLedger,
  NO_LIMITS,
  READ_BACK_PAUSE_MS,
  readBackUntilItWorks,
  readBooks,
  record,
  replayJournal,
  resolveOrphans,
} from './recovery.ts'
import { closePeriod } from './state/allowances.ts'
import { accountStateOf, type Change } from './state/state.ts'
import { assignPlan, endPlan } from './state/subscriptions.ts'
import { transferMoney } from './state/transfer-money.ts'
import { forgetEarnedBackRates, limitStatusesOf, lookAtLimits } from './state/turn-limits.ts'

const ACCOUNTS_IN_MEMORY_MAX = 10_000

/** Opens the books: whatever a dead process left open is resolved before the first request is admitted. */
export async function openLedger(deps: LedgerDeps): Promise<Ledger> {
  const closing = new AbortController()
  const core = await createCore(deps, closing.signal)
  adoptLedger(core, await readBooks(deps.db, { limitsOf: () => NO_LIMITS, scopes: [] }))
  if (!(await replayJournal(core))) throw new Error('The books could not be brought up to their journal')
  await resolveAndTell(core, deps.observer)

  return {
    ...createOperatorCommands(core),
    get available() {
      return core.gate.open
    },
    onOutage: (listener) => core.gate.onOutage(listener),
    get openHolds() {
      return core.ledgerState.turns.size
    },
    standing: (account) => core.cache.withState(account, statusOf),
    limitStatuses: (limits) => limitStatusesOf(core.ledgerState, limits, core.nowMicros()),
    limitRefusal: (limits) => lookAtLimits(core.ledgerState, limits, core.nowMicros()),
    admit: (request, judged) => admit(core, request, judged),
    takeRequest: (limits) => takeRequest(core, limits),
    lookUpClaim: (scope) => core.claims.lookUp(scope),
    allowanceStatuses: (account, allowances) => allowanceReport(core, account, allowances),
    audit: (options) => auditLedger(core, options),
    async sweep() {
      core.cache.tidy(ACCOUNTS_IN_MEMORY_MAX)
      await core.claims.tidy()
      forgetEarnedBackRates(core.ledgerState, core.nowMicros())
      if (!core.gate.open) return 0
      const resolved = await resolveAndTell(core, deps.observer)
      if (core.gate.open) await forgetAllExpiredClaims(core)
      if (core.gate.open) await closeIdlePeriods(core)
      return resolved
    },
    whileClosed: (work) => whileClosed(core, work, { closing: closing.signal, onFailure: deps.observer.batchFailed }),
    async close() {
      closing.abort()
      core.marks.stop()
      await core.batcher.idle()
    },
  }
}

/** Deleted at a time, so that no request waits behind more. */
const CLAIMS_AT_ONCE = 200

async function forgetAllExpiredClaims(core: LedgerCore): Promise<void> {
  for (;;) if ((await forgetExpiredClaims(core.file, core.now(), CLAIMS_AT_ONCE)) < CLAIMS_AT_ONCE) return
}

async function resolveAndTell(core: LedgerCore, observer: LedgerObserver): Promise<number> {
  const resolved = await resolveOrphans(core)
  if (resolved > 0) observer.recovered(resolved)
  return resolved
}

/** What operators order. */
function createOperatorCommands(core: LedgerCore): Pick<Ledger, 'credit' | 'assignPlan' | 'endPlan'> {
  const credits = new Map<AccountRow, Promise<unknown>>()
  return {
    /** One after another on an account: between looking a reference up and recording it, no second order with it may pass. */
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
    assignPlan: (order) => carryOut(core, order.account, (at) => assignPlan(core.ledgerState, { ...order, at })),
    endPlan: (order) => carryOut(core, order.account, (at) => endPlan(core.ledgerState, { endsAt: at, ...order, at })),
  }
}

/** Money by the operator's word, once per reference. */
async function creditOnce(core: LedgerCore, order: CreditOrder): Promise<CreditOutcome> {
  const { account } = order
  await waitForLedger(core)
  const known = await findTransferByRef(core.db, account, order.kind, order.ref)
  if (known && known.amount_nano !== order.amount) return { kind: 'ref-taken', amount: known.amount_nano as NanoUsd }
  if (known) return { kind: 'exists', standing: await core.cache.withState(account, statusOf) }
  const { moved, standing } = await carryOut(core, account, (at) => {
    const outcome = transferMoney(core.ledgerState, { ...order, at })
    const changes = outcome.kind === 'transferred' ? outcome.changes : undefined
    return { moved: outcome, changes, standing: statusOf(accountStateOf(core.ledgerState, account)) }
  })
  if (moved.kind === 'too-much') return moved
  return { kind: moved.kind === 'short' ? 'short' : 'credited', standing }
}

/** An operator waits as long as this for books that are being read back; then the command fails, and may be given again. */
const ORDER_WAIT_MS = 10_000

/** Throws when the books cannot be looked at in time. */
async function waitForLedger(core: LedgerCore): Promise<void> {
  if (!(await core.gate.whenOpen(ORDER_WAIT_MS))) throw new Error('The ledger is being read back; nothing was changed')
}

/** Decided at once, durable before anybody hears of it. */
async function carryOut<Outcome extends object>(
  core: LedgerCore,
  account: AccountRow,
  decide: (at: number) => Outcome & { readonly changes?: readonly Change[] | undefined },
): Promise<Outcome> {
  await waitForLedger(core)
  return core.cache.withState(account, async () => {
    // From here to the enqueue nothing waits.
    if (!core.gate.open) throw new Error('The ledger failed meanwhile; nothing was changed')
    const outcome = decide(core.now())
    if (outcome.changes && (await record(core, account, outcome.changes)) !== 'durable')
      throw new Error(
        'The ledger could not record the change: look whether it is there, and give the order again if not',
      )
    return outcome
  })
}

/** An operator waits as long as this for books that are being read back. */
const OPEN_WAIT_MS = 10_000

/**
 * Changes the file while nothing is decided on it, and reads the books back afterwards, whatever came of the work. Requests
 * that come meanwhile get `ledger_unavailable`; turns that end wait, or write their end into the journal.
 */
async function whileClosed<Result>(
  core: LedgerCore,
  work: () => Promise<Result>,
  { closing, onFailure }: { readonly closing: AbortSignal; readonly onFailure: (error: unknown) => void },
): Promise<Result> {
  // Two that waited for the same opening: the first one shuts it again.
  if (!(await core.gate.whenOpen(OPEN_WAIT_MS)) || !core.gate.open)
    throw new Error('The ledger is being read back; nothing was changed')
  core.gate.shut()
  await core.batcher.idle()
  // The last batch failed: its own reading back has begun and opens the gate. Two of them would adopt old books.
  if ((await core.batcher.recorded()) === 'lost')
    throw new Error('The ledger could not record its last batch; nothing was changed')
  try {
    return await work()
  } finally {
    const retries = { failuresBefore: 0, pauseMs: READ_BACK_PAUSE_MS }
    await readBackUntilItWorks(core, closing, { batchFailed: onFailure }, retries)
  }
}

const DAY_MS = 86_400_000
/** After its end, for whoever looks at what was used a moment ago. */
const WINDOW_IDLE_MS = 32 * DAY_MS
/** At a time, so that no request waits behind more. */
const WINDOWS_AT_ONCE = 50
const ROWS_AT_ONCE = 200

/**
 * Ends periods that nobody uses any more, a few with every sweep. One that is used again is ended by the next of its kind;
 * those of accounts that went away, and the counters of keys that were revoked, would stand for ever.
 */
async function closeIdlePeriods(core: LedgerCore): Promise<void> {
  const endedBefore = core.now() - WINDOW_IDLE_MS
  const windows = await listIdleWindows(core.db, { endedBefore, limit: WINDOWS_AT_ONCE })
  const closed = await Promise.allSettled(windows.map((window) => closeWindow(core, window, endedBefore)))
  const yesterday = core.now() - DAY_MS
  for (const { account, subject, period_start } of await forgetIdleCounters(core.file, {
    endedBefore: yesterday,
    limit: ROWS_AT_ONCE,
  })) {
    const counters = core.ledgerState.accounts.get(account as AccountRow)?.counters
    const counter = counters?.get(subject)
    // In memory it may have begun its next period, or be in use by a turn that is not in the file yet.
    if (counter?.start === period_start && counter.held === 0n) counters?.delete(subject)
  }
  await forgetSums(core.file, yesterday, ROWS_AT_ONCE)
  // An account that cannot be read is told of, and keeps nothing else from going.
  const failed = closed.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** By what memory says of it, which may be ahead of the file. */
const closeWindow = (core: LedgerCore, { row, account, subject }: IdleWindow, endedBefore: number): Promise<void> =>
  core.cache.withState(account as AccountRow, async (ledgerState) => {
    const window = [ledgerState.periods.get(subject), ...ledgerState.outlived].find((bucket) => bucket?.row === row)
    if (!window || window.end >= endedBefore || window.held !== 0n || ledgerState.frozen || !core.gate.open) return
    await record(core, ledgerState.account, closePeriod(core.ledgerState, ledgerState, window, core.now()))
  })
