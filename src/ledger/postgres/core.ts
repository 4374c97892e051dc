import { isUnavailable } from '../../db/sql-store.ts'
import type { LruMap } from '../../lib/collections.ts'
import { type Allowance, measureOf } from '../../model/allowance.ts'
import type { AppliedLimit, LimitStatus } from '../../model/caller.ts'
import type { Ending, Owed } from '../../model/ending.ts'
import type { AccountRow, BucketRow, RequestId } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { FindKeptFacts, LedgerGate } from '../core.ts'
import type { JournaledEnds } from '../journal.ts'
import type { AdmissionRefusal } from '../ledger.ts'
import type { MarkKeeper } from '../marks.ts'
import { type AllowanceStatus, type Claim, createLedgerState } from '../state/state.ts'
import {
  checkLimits,
  dropRecoveredRateLimits,
  type LimitRefusal,
  limitStatusesOf,
  releaseLimits,
} from '../state/turn-limits.ts'
import { type AdmitRequest, type Draw, decideCap } from '../state/turns.ts'
import type { LeasedLimits } from './leased-limits.ts'

/** A wallet that had money is not looked at again for so long. */
export const SOLVENT_MICROS = 10_000_000

/** What the operations of a ledger on PostgreSQL share. */
export interface PostgresCore {
  /** Calls a function of the database, with retries until its outcome is known. */
  call<Result>(call: string, values: readonly unknown[]): Promise<Result>
  /** Renews the lease of this node, with marks or without. False when it has ended. */
  keepNode(packed: Uint8Array | null): Promise<boolean>
  /** Reports what failed and is tried again later. */
  onTrouble(error: unknown): void
  readonly turns: TurnCalls
  /** Until when a wallet is taken to have money. Only a refusal before the body depends on it. */
  readonly solventUntil: LruMap<AccountRow, number>
  readonly marks: MarkKeeper
  /** Of keys and accounts: the database decides with each turn. */
  readonly limits: SeenLimits
  /** Those that all accounts share. */
  readonly leased: LeasedLimits
  /** Requests whose turn is alive in this process, from before the database is asked for their hold. */
  readonly attended: Set<RequestId>
  /** Open holds of this process, and their receipts. */
  readonly open: Map<RequestId, number>
  /** The run of this process in the database. Replaced when its lease could not be renewed in time. */
  node: number
  /** Open while the database answers. */
  readonly gate: LedgerGate
  /** Until when this node may end its turns, by its own monotonic clock: the lease as it was last renewed. */
  leaseEndsMicros: number
  readonly nowMicros: () => number
  readonly findKeptFacts: FindKeptFacts
  /** Ends that the database could not be told. Undefined for a command, which has no turns. */
  readonly journaled: JournaledEnds | undefined
  /** How long after the end of its lease a node may still bring the ends of its turns. */
  readonly recoveryGraceMs: number
  /** Until when this node leaves the turns of others alone, because it could not reach the database itself. */
  patientUntilMicros: number
  /** A call has made so many operations durable. */
  onRecorded(batch: { readonly operations: number; readonly seconds: number }): void
  /** A turn of this node has ended in the database. */
  onClosed(account: AccountRow): void
}

/** The input of `run_turns` for one turn that ends. Without a charge it is a release. */
export interface CloseOp extends Omit<Ending, 'owed' | 'attempts'>, Partial<Owed> {
  readonly requestId: RequestId
  readonly attempts: string
  /** The id of this close, by which the database knows a retry. */
  readonly closing: string
  /** The hold is abandoned. Otherwise only the node that placed it may end it, while its lease lasts. */
  readonly recovers: boolean
}

export type CloseRow =
  | { readonly kind: 'settled' | 'released'; readonly charge: string; readonly shortfall: string }
  /** `released`: another node has ended it, without a charge. */
  | { readonly kind: 'not-open'; readonly released: boolean }

/** The result of `run_turns` for one turn that begins. Money is text, because JSON numbers are doubles. */
export type AdmitRow = LimitStates &
  (
    | { readonly kind: 'held'; readonly receipt: number; readonly cap: number; readonly hold: string }
    /** The lease of this node has ended; or this is a retry whose hold was resolved meanwhile. */
    | { readonly kind: 'over' }
    | { readonly kind: 'claimed'; readonly claim: Claim }
    | { readonly kind: 'frozen' }
    | { readonly kind: 'account-suspended' | 'account-closed' }
    | { readonly kind: 'no-subscription' }
    | { readonly kind: 'plan-changed' }
    | { readonly kind: 'money'; readonly at: number; readonly draws: readonly AmountsRow[] }
    | { readonly kind: 'limit'; readonly number: number }
  )

/** The limits of the turn, in its order, after the decision. */
export interface LimitStates {
  readonly ticks: number
  readonly limits: readonly { readonly reachedAt: number; readonly running: number }[]
}

/** Something that a turn draws on, as the database saw it; the wallet has neither period nor grant. */
export interface AmountsRow {
  readonly start: number | null
  readonly end: number | null
  readonly granted: string | null
  readonly posted: string
  readonly held: string
}

/** Makes a refusal by the reducer's rules, from the amounts that the database decided on. */
export function refusalOf(request: AdmitRequest, row: Exclude<AdmitRow, { kind: 'held' }>): AdmissionRefusal {
  switch (row.kind) {
    case 'claimed':
      return { kind: 'claimed', claim: row.claim, sameBody: row.claim.fingerprint === request.claim?.fingerprint }
    case 'money':
      return refusedForMoney(request, row)
    case 'limit':
      return refusedByLimit(request, row)
    case 'over':
      return { kind: 'unavailable' }
    default:
      return { kind: row.kind }
  }
}

function refusedForMoney(request: AdmitRequest, { at, draws }: Extract<AdmitRow, { kind: 'money' }>): AdmissionRefusal {
  // As the reducer: a wallet key draws on its caps only, a builder key on no wallet.
  const isWallet = request.kind === 'wallet'
  const allowances = request.allowances.filter(({ unit }) => !isWallet || unit === 'cap')
  const seen = draws.map((amounts, index) => drawOf(allowances[index - Number(isWallet)], amounts))
  const decided = decideCap(request, seen, at)
  if (decided.kind === 'decided') throw new Error(`The database refused ${request.requestId}, which the reducer admits`)
  return decided
}

export function refusedByLimit(
  { limits }: Pick<AdmitRequest, 'limits'>,
  row: LimitStates & { readonly number: number },
): LimitRefusal {
  const limit = limits[row.number]
  const state = row.limits[row.number]
  if (!limit || !state) throw new Error('The database named a limit that the request does not have')
  const ledgerState = createLedgerState({ receipt: 1, transfer: 1, bucket: 1, subscription: 1 })
  ledgerState.running.set(limit.subject, state.running)
  ledgerState.rateLimits.set(limit.subject, state.reachedAt)
  const refusal = checkLimits(ledgerState, [limit], row.ticks)
  if (!refusal) throw new Error('The database refused a request that its limits let pass')
  return refusal
}

const drawOf = (allowance: Allowance | undefined, amounts: AmountsRow): Draw => ({
  status: allowance && allowanceStatusFrom(allowance, amounts),
  measure: allowance ? measureOf(allowance) : 'usd',
  posted: BigInt(amounts.posted),
  held: BigInt(amounts.held),
})

/** `opened` is the bucket of a running window. */
export function allowanceStatusFrom(
  allowance: Allowance,
  { start, end, granted, posted, held }: AmountsRow,
  opened?: number,
): AllowanceStatus {
  const period = { start: start ?? 0, end: end ?? 0 }
  const amounts = { granted: BigInt(granted ?? 0) as NanoUsd, posted: BigInt(posted), held: BigInt(held) }
  const running =
    opened === undefined || allowance.unit === 'cap'
      ? undefined
      : { row: opened as BucketRow, unit: allowance.unit, subject: allowance.subject, ...period, ...amounts }
  return { allowance, period, running, ...amounts }
}

/**
 * The limits as this node last saw them. The database decides, by its own clock; each answer gives the difference to this
 * node's clock.
 */
interface SeenLimits {
  learn(limits: readonly AppliedLimit[], states: LimitStates): LimitStatus[]
  statuses(limits: readonly AppliedLimit[]): LimitStatus[]
  /** Of the limits on requests, which are only ever taken from: one that is used up here is used up in the database. */
  refusal(limits: readonly AppliedLimit[]): LimitRefusal | undefined
  /** A turn has ended, and its tokens are corrected. The next answer of the database replaces this. */
  release(limits: readonly AppliedLimit[], tokensUsed: number): void
  evict(): void
}

export function createSeenLimits(nowMicros: () => number): SeenLimits {
  const ledgerState = createLedgerState({ receipt: 1, transfer: 1, bucket: 1, subscription: 1 })
  let aheadMicros = 0
  return {
    learn(limits, states) {
      aheadMicros = states.ticks - nowMicros()
      for (const [index, { subject, kind }] of limits.entries()) {
        const state = states.limits[index]
        if (!state) continue
        if (kind === 'concurrent') ledgerState.running.set(subject, state.running)
        else ledgerState.rateLimits.set(subject, state.reachedAt)
      }
      return limitStatusesOf(ledgerState, limits, states.ticks)
    },
    statuses: (limits) => limitStatusesOf(ledgerState, limits, nowMicros() + aheadMicros),
    refusal: (limits) =>
      checkLimits(
        ledgerState,
        limits.filter(({ kind }) => kind === 'requests'),
        nowMicros() + aheadMicros,
      ),
    release: (limits, tokensUsed) => releaseLimits(ledgerState, limits, tokensUsed, nowMicros() + aheadMicros),
    evict: () => dropRecoveredRateLimits(ledgerState, nowMicros() + aheadMicros),
  }
}

/** What turns ask of the database. Both kinds go in one call. */
interface TurnCalls {
  admit(request: AdmitRequest): Promise<AdmitRow>
  /** The account is undefined where only the database knows it. */
  close(op: CloseOp, account: AccountRow | undefined): Promise<CloseRow>
  idle(): Promise<void>
}

interface Batch {
  readonly admissions: Waiting<AdmitRequest, AdmitRow>[]
  readonly closes: Waiting<CloseOp, CloseRow>[]
}

interface Waiting<Op, Result> {
  readonly op: Op
  readonly account: AccountRow | undefined
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Of each kind. */
const OPS_MAX = 64
/** The second call's round trip hides behind the first one's commit. */
const IN_FLIGHT_MAX = 2

/** Of a batch that the database refused: the kinds apart, then halves, so that what it refuses is found in a few calls. */
function partsOf({ admissions, closes }: Batch): Batch[] {
  if (admissions.length > 0 && closes.length > 0)
    return [
      { admissions: [], closes },
      { admissions, closes: [] },
    ]
  const half = Math.ceil((admissions.length + closes.length) / 2)
  return [
    { admissions: admissions.slice(0, half), closes: closes.slice(0, half) },
    { admissions: admissions.slice(half), closes: closes.slice(half) },
  ]
}

/** Results come in the order of the operations. */
export interface TurnResults {
  readonly admissions: readonly AdmitRow[]
  readonly closes: readonly CloseRow[]
}

type SendTurns = (admissions: readonly AdmitRequest[], closes: readonly CloseOp[]) => Promise<TurnResults>

/** Takes operations out of the list, but none whose account another call is busy with. */
function takeFree<Op, Result>(waiting: Waiting<Op, Result>[], busy: ReadonlySet<AccountRow>): Waiting<Op, Result>[] {
  const taken: Waiting<Op, Result>[] = []
  const left: Waiting<Op, Result>[] = []
  for (const each of waiting) {
    const isFree = each.account === undefined || !busy.has(each.account)
    if (isFree && taken.length < OPS_MAX) taken.push(each)
    else left.push(each)
  }
  waiting.splice(0, waiting.length, ...left)
  return taken
}

/**
 * Gathers operations into calls: while calls are in flight the next operations join, so that the window grows with the load.
 * Those of an account that a call is busy with wait for its end: in the database they would wait for its lock, in two calls.
 * If the database fails on a batch, it is divided, so that one operation does not fail the others.
 */
export function createTurnCalls(send: SendTurns): TurnCalls {
  const gathered: Batch = { admissions: [], closes: [] }
  const idleWaiters: (() => void)[] = []
  const busy = new Set<AccountRow>()
  let inFlight = 0
  let armed = false
  /** All that is gathered waits for a call to end. */
  let isBlocked = false

  const sendBatch = async ({ admissions, closes }: Batch): Promise<void> => {
    try {
      const results = await send(
        admissions.map(({ op }) => op),
        closes.map(({ op }) => op),
      )
      for (const [index, { resolve }] of admissions.entries()) resolve(results.admissions[index]!)
      for (const [index, { resolve }] of closes.entries()) resolve(results.closes[index]!)
    } catch (error) {
      if (admissions.length + closes.length === 1 || isUnavailable(error)) {
        for (const { reject } of [...admissions, ...closes]) reject(error)
        return
      }
      for (const part of partsOf({ admissions, closes })) await sendBatch(part)
    }
  }
  const isEmpty = () => gathered.admissions.length + gathered.closes.length === 0
  const pump = async (): Promise<void> => {
    armed = false
    if (isEmpty() || inFlight >= IN_FLIGHT_MAX) return
    const batch = { admissions: takeFree(gathered.admissions, busy), closes: takeFree(gathered.closes, busy) }
    const accounts = [...batch.admissions, ...batch.closes].flatMap(({ account }) => account ?? [])
    isBlocked = batch.admissions.length + batch.closes.length === 0
    if (isBlocked) return
    inFlight++
    for (const account of accounts) busy.add(account)
    await sendBatch(batch)
    for (const account of accounts) busy.delete(account)
    inFlight--
    isBlocked = false
    arm()
    if (inFlight === 0 && isEmpty()) for (const done of idleWaiters.splice(0)) done()
  }
  const arm = (): void => {
    if (armed || isBlocked || isEmpty() || inFlight >= IN_FLIGHT_MAX) return
    armed = true
    setImmediate(() => void pump().then(arm))
  }
  const enqueue = <Op, Result>(waiting: Waiting<Op, Result>[], op: Op, account: AccountRow | undefined) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ op, account, resolve, reject })
      isBlocked = false
      arm()
    })

  return {
    admit: (request) => enqueue(gathered.admissions, request, request.account),
    close: (op, account) => enqueue(gathered.closes, op, account),
    idle: () =>
      inFlight === 0 && isEmpty() ? Promise.resolve() : new Promise((resolve) => void idleWaiters.push(resolve)),
  }
}
