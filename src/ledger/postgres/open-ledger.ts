import { asJson, callLedger, type PostgresPool } from '../../db/postgres/pool.ts'
import type { SettleJournal } from '../../db/settle-journal.ts'
import { RETRY_MS, retryUnavailable } from '../../db/sql-store.ts'
import type { Clock } from '../../lib/clock.ts'
import { createLruMap } from '../../lib/collections.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { Batcher } from '../batcher.ts'
import { createLedgerGate, type FindKeptFacts } from '../core.ts'
import { openJournaledEnds } from '../journal.ts'
import type { AccountStatusReport, CreditOutcome, Ledger } from '../ledger.ts'
import { createMarkKeeper } from '../marks.ts'
import type { PlanOutcome } from '../state/operator-commands.ts'
import type { Claim, Subscription } from '../state/state.ts'
import {
  type AmountsRow,
  allowanceStatusFrom,
  createSeenLimits,
  createTurnCalls,
  type PostgresCore,
  SOLVENT_MICROS,
  type TurnResults,
} from './core.ts'
import { createLeasedLimits, isLeasedLimit } from './leased-limits.ts'
import { proveOnPostgres } from './proof.ts'
import {
  admitOnPostgres,
  limitStatusesOnPostgres,
  recoverOnPostgres,
  replayOnPostgres,
  takeRequestOnPostgres,
} from './turns.ts'

interface PostgresLedgerOptions {
  readonly pool: PostgresPool
  /** For the lease and the marks, which must not wait behind requests; by default the same. */
  readonly leasePool?: PostgresPool
  /** For proofs, which take as long as they need; by default the same. */
  readonly proofPool?: PostgresPool
  readonly clock: Pick<Clock, 'nowMicros'>
  /** What the lease of this node is measured by; by default the same clock. */
  readonly leaseNowMicros?: (() => number) | undefined
  readonly markIntervalMs: number
  /** How long other nodes wait for a sign of life before they resolve this one's holds. */
  readonly leaseMs: number
  /** How long an operation is retried when the database does not answer. */
  readonly retryMs?: number | undefined
  readonly observer: PostgresLedgerObserver
  /** How long after the end of its lease a node may still bring the ends of its turns. */
  readonly recoveryGraceMs?: number
  /** Undefined for a command, which has no turns. */
  readonly journal?: SettleJournal | undefined
  readonly findKeptFacts?: FindKeptFacts
}

interface PostgresLedgerObserver {
  /** A call failed, and is retried. */
  trouble(error: unknown): void
  recovered(holds: number): void
  /** The lease of this node ended before it was renewed: other nodes may resolve its holds. */
  leaseLost(): void
  /** A call has made so many operations durable. */
  recorded(batch: { readonly operations: number; readonly seconds: number }): void
  /** A turn of this account has ended here. */
  closed(account: AccountRow): void
}

/** How often a lease is renewed while it lasts. */
const RENEWALS_A_LEASE = 3

/**
 * The ledger of one node of several. The database decides, in one call for a batch of turns. This process keeps which turns
 * are alive here, and how far their answers have got.
 */
export async function openPostgresLedger(deps: PostgresLedgerOptions): Promise<Ledger> {
  const { observer } = deps
  const core = await createCore(deps)
  if (core.journaled !== undefined) await replayOnPostgres(core, core.journaled)
  const sweep = async () => {
    const resolved = await recoverOnPostgres(core)
    if (resolved > 0) observer.recovered(resolved)
    return resolved
  }
  await sweep()
  const stopRenewing = keepLease(core, deps)
  const commands = createOperatorCommands(core)
  let lastProof: Promise<unknown> = Promise.resolve()
  return {
    ...commands,
    gate: core.gate,
    get openHolds() {
      return core.open.size
    },
    // Beside the gate: a proof that takes long or fails says nothing about the ledger's own calls.
    audit(options) {
      // One at a time: they share a connection.
      const proof = lastProof.then(() => proveOnPostgres(deps.proofPool ?? deps.pool, options))
      lastProof = proof.catch(() => {})
      return proof
    },
    async isWalletEmpty(account) {
      if ((core.solventUntil.get(account) ?? 0) > core.nowMicros()) return false
      const { balance } = await commands.accountStatus(account)
      if (balance > 0n) core.solventUntil.set(account, core.nowMicros() + SOLVENT_MICROS)
      return balance <= 0n
    },
    limitStatuses: (limits) => limitStatusesOnPostgres(core, limits),
    // A shared limit refuses after the body, which names the model.
    limitRefusal: (limits) => core.limits.refusal(limits.filter((limit) => !isLeasedLimit(limit))),
    admit: (request) => admitOnPostgres(core, request),
    takeRequest: (limits) => takeRequestOnPostgres(core, limits),
    async sweep() {
      core.limits.evict()
      await core.call('tidy_ledger()', [])
      return sweep()
    },
    // The clock of the database decides here, and no process can set it back.
    whileClosed: undefined,
    async close() {
      stopRenewing()
      core.marks.stop()
      await core.turns.idle()
      await core.leased.close()
      // Other nodes may resolve the rest at once. If the database does not answer, they wait for the lease to end.
      await callLedger(deps.pool, 'end_node($1)', [core.node]).catch(() => {})
    },
  }
}

async function createCore(deps: PostgresLedgerOptions): Promise<PostgresCore> {
  const { pool, leasePool = pool, retryMs = RETRY_MS, leaseMs, observer } = deps
  // Other nodes may resolve this one's holds when its lease ends.
  const gate = createLedgerGate(leaseMs)
  const onTrouble = (error: unknown) => {
    // Each is tried again; only the first one is news.
    const isFirst = gate.open
    gate.shut()
    if (isFirst) observer.trouble(error)
  }
  const callOver =
    (connections: PostgresPool) =>
    async <Result>(expression: string, values: readonly unknown[]): Promise<Result> => {
      const result = await retryUnavailable(() => callLedger<Result>(connections, expression, values), {
        ...{ retryMs, onTrouble },
      })
      if (!gate.open && !isReopening) void reopen()
      return result
    }
  const call = callOver(pool)
  const callBeside = callOver(leasePool)
  const keepNode = async (packed: Uint8Array | null): Promise<boolean> => {
    const { node } = core
    const isKept = await callBeside<boolean>('keep_node($1, $2, $3)', [node, leaseMs, packed])
    // A machine that was suspended does not know by its own clock. From now on no turn of this lease begins or goes on.
    if (!isKept && core.node === node) core.leaseEndsMicros = 0
    return isKept
  }
  let isReopening = false
  /** Before anything is admitted, the ends of turns that the database could not be told. */
  const reopen = async (): Promise<void> => {
    isReopening = true
    try {
      if (core.journaled !== undefined && !(await replayOnPostgres(core, core.journaled))) return
      core.patientUntilMicros = nowMicros() + core.recoveryGraceMs * 1000
      gate.reopen()
      // An end that was journaled in this moment found the gate shut.
      if (core.journaled?.isEmpty === false) await replayOnPostgres(core, core.journaled)
    } catch (error) {
      observer.trouble(error)
    } finally {
      isReopening = false
    }
  }
  const nowMicros = deps.leaseNowMicros ?? (() => deps.clock.nowMicros())
  const begunAt = nowMicros()
  const core: PostgresCore = {
    call,
    keepNode,
    onTrouble: observer.trouble,
    node: await beginNode({ call }, leaseMs),
    leaseEndsMicros: begunAt + leaseMs * 1000,
    nowMicros,
    findKeptFacts: deps.findKeptFacts ?? (async () => new Map()),
    journaled: deps.journal && (await openJournaledEnds(deps.journal, NO_TABLE)),
    recoveryGraceMs: deps.recoveryGraceMs ?? 0,
    patientUntilMicros: 0,
    onClosed: observer.closed,
    onRecorded: observer.recorded,
    solventUntil: createLruMap(SOLVENT_MAX),
    attended: new Set(),
    open: new Map(),
    limits: createSeenLimits(() => deps.clock.nowMicros()),
    leased: createLeasedLimits({
      call,
      node: () => core.node,
      nowMicros: () => deps.clock.nowMicros(),
      onTrouble: observer.trouble,
    }),
    marks: createMarkKeeper(newestOnly(keepNode), { open: true }, { now: () => 0, intervalMs: deps.markIntervalMs }),
    turns: createTurnCalls(async (admissions, closes) => {
      const sentAt = nowMicros()
      const results = await call<TurnResults>('run_turns($1, $2, $3)', [asJson(admissions), asJson(closes), core.node])
      const operations = admissions.length + closes.length
      observer.recorded({ operations, seconds: (nowMicros() - sentAt) / 1_000_000 })
      return results
    }),
    gate,
  }
  return core
}

/** One record in flight at a time: while the database does not answer, only the newest waits. */
function newestOnly(send: (packed: Uint8Array) => Promise<unknown>): Pick<Batcher, 'mark'> {
  let waiting: Uint8Array | undefined
  let isSending = false
  const sendWaiting = async () => {
    isSending = true
    for (let packed = waiting; packed; packed = waiting) {
      waiting = undefined
      await send(packed).catch(() => {})
    }
    isSending = false
  }
  return {
    mark({ packed }) {
      waiting = packed
      if (!isSending) void sendWaiting()
    },
  }
}

/** Wallets that are remembered to have money. */
const SOLVENT_MAX = 10_000

/** While the database does not answer, it is asked this often. */
const PROBE_MS = 500

/** Before the end of its lease a node that cannot renew it cuts off its turns. */
const LAST_WRITES_MS = 1000

function keepLease(core: PostgresCore, { leaseMs, observer }: PostgresLedgerOptions): () => void {
  let isRenewing = false
  let renewedAt = core.nowMicros()
  const renew = async () => {
    const askedAt = core.nowMicros()
    if (!(await core.keepNode(null))) {
      observer.leaseLost()
      core.gate.expire()
      core.node = await beginNode(core, leaseMs)
    }
    core.leaseEndsMicros = askedAt + leaseMs * 1000
    renewedAt = askedAt
  }
  const renewIfDue = async () => {
    // The turns are cut off while this node may still write down what they owe.
    if (!core.gate.open && core.nowMicros() >= core.leaseEndsMicros - LAST_WRITES_MS * 1000) core.gate.expire()
    const isLost = core.leaseEndsMicros === 0
    const isDue = isLost || core.nowMicros() - renewedAt >= (leaseMs / RENEWALS_A_LEASE) * 1000
    if (isRenewing || (core.gate.open && !isDue)) return
    isRenewing = true
    await renew().catch(() => {})
    isRenewing = false
  }
  const timer = setInterval(() => void renewIfDue(), Math.min(PROBE_MS, leaseMs / RENEWALS_A_LEASE))
  timer.unref()
  return () => clearInterval(timer)
}

const beginNode = async ({ call }: Pick<PostgresCore, 'call'>, leaseMs: number): Promise<number> =>
  Number(await call<string>('begin_node($1)', [leaseMs]))

/** No end waits for its account: the database ends turns of frozen accounts too. */
const NO_TABLE = { read: async () => [], add: async () => {}, remove: async () => {} }

type OperatorCommands = Pick<
  Ledger,
  'accountStatus' | 'credit' | 'lookUpClaim' | 'allowanceStatuses' | 'assignPlan' | 'endPlan'
>

/** One call each. */
const createOperatorCommands = (core: PostgresCore): OperatorCommands => ({
  async accountStatus(account) {
    const row = await core.call<StatusRow | null>('account_standing($1)', [account])
    if (!row) throw new Error(`Account ${account} has no wallet`)
    return accountStatusOf(row)
  },
  async credit(order) {
    const sentAt = core.nowMicros()
    const row = await core.call<CreditRow>('transfer_money($1)', [asJson(order)])
    if (row.kind === 'credited') core.onRecorded({ operations: 1, seconds: (core.nowMicros() - sentAt) / 1_000_000 })
    return creditOutcomeOf(row)
  },
  async lookUpClaim(scope) {
    const { at, claim } = await core.call<LookedUpRow>('look_up_claim($1)', [scope])
    // What this reads is committed.
    return { claim: claim ?? undefined, at, durable: Promise.resolve('durable'), release() {} }
  },
  async allowanceStatuses(account, allowances) {
    const report = await core.call<ReportRow>('allowance_report($1, $2)', [account, asJson(allowances)])
    const statuses = allowances.flatMap((allowance, index) => {
      const amounts = report.draws[index]
      return amounts ? [allowanceStatusFrom(allowance, amounts, report.opened[index] ?? undefined)] : []
    })
    return { subscription: report.subscription ? subscriptionOf(report.subscription) : undefined, statuses }
  },
  assignPlan: async (order) => planOutcomeOf(await core.call<PlanRow>('assign_plan($1)', [asJson(order)])),
  endPlan: async ({ account, endsAt }) =>
    planOutcomeOf(await core.call<PlanRow>('end_plan($1, $2)', [account, endsAt])),
})

interface LookedUpRow {
  readonly at: number
  readonly claim: Claim | null
}

type StatusRow = Readonly<Record<keyof AccountStatusReport, string>>

type CreditRow =
  | { readonly kind: 'credited' | 'exists' | 'short'; readonly standing: StatusRow }
  | { readonly kind: 'ref-taken'; readonly amount: string }
  | { readonly kind: 'too-much'; readonly holder: 'wallet' | 'books'; readonly most: string }

interface ReportRow {
  readonly draws: readonly AmountsRow[]
  /** The buckets of windows that are running. */
  readonly opened: readonly (number | null)[]
  readonly subscription: SubscriptionRow | null
}

type SubscriptionRow = Omit<Subscription, 'endsAt'> & { readonly endsAt: number | null }

type PlanRow =
  | { readonly kind: 'changed' | 'unchanged'; readonly subscription: SubscriptionRow }
  | { readonly kind: 'no-subscription' }

const nano = (text: string) => BigInt(text) as NanoUsd

const accountStatusOf = ({ balance, held, available }: StatusRow): AccountStatusReport => ({
  balance: nano(balance),
  held: nano(held),
  available: nano(available),
})

function creditOutcomeOf(row: CreditRow): CreditOutcome {
  if (row.kind === 'ref-taken') return { kind: row.kind, amount: nano(row.amount) }
  if (row.kind === 'too-much') return { ...row, most: nano(row.most) }
  return { kind: row.kind, status: accountStatusOf(row.standing) }
}

const subscriptionOf = (row: SubscriptionRow): Subscription => ({ ...row, endsAt: row.endsAt ?? undefined })

function planOutcomeOf(row: PlanRow): PlanOutcome {
  if (row.kind === 'no-subscription') return row
  const subscription = subscriptionOf(row.subscription)
  // The database has written the changes already.
  return row.kind === 'changed' ? { kind: row.kind, subscription, changes: [] } : { kind: row.kind, subscription }
}
