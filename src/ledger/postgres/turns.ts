import { asJson } from '../../db/postgres/pool.ts'
import { isUnavailable } from '../../db/sql-store.ts'
import type { AppliedLimit, LimitStatus } from '../../model/caller.ts'
import { type Ending, readEnding } from '../../model/ending.ts'
import type { AccountRow, RequestId } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import { inputTokensOf, type Price } from '../../model/price.ts'
import type { JournaledEnds, TurnEnd } from '../journal.ts'
import type { Admission, AdmittedTurn, SettleOutcome, TakenRequest } from '../ledger.ts'
import { unpackMarks } from '../marks.ts'
import { priceFrom } from '../prices.ts'
import { chargeForDelivered, recoveredEnding } from '../recovery.ts'
import { type AdmitRequest, chargeWithin } from '../state/turns.ts'
import {
  type AdmitRow,
  type CloseOp,
  type LimitStates,
  type PostgresCore,
  refusalOf,
  refusedByLimit,
  SOLVENT_MICROS,
} from './core.ts'
import { isLeasedLimit, type TakenUnits } from './leased-limits.ts'

const UNAVAILABLE: Admission = { kind: 'refused', refusal: { kind: 'unavailable' }, statuses: [] }

/** The hold is committed when the database answers. */
export async function admitOnPostgres(core: PostgresCore, request: AdmitRequest): Promise<Admission> {
  // No request waits for a database that does not answer; the renewal of the lease notices when it does again.
  if (!core.gate.open) return UNAVAILABLE
  const shared = request.limits.filter(isLeasedLimit)
  if (shared.length === 0) return (await askForHold(core, request, NOTHING_TAKEN)) ?? UNAVAILABLE
  const taken = await core.leased.take(shared)
  if (taken.kind === 'unavailable') return UNAVAILABLE
  if (taken.kind !== 'taken')
    return { kind: 'refused', refusal: taken, statuses: limitStatusesOnPostgres(core, request.limits) }
  const { units } = taken
  let admission: Admission | undefined
  try {
    admission = await askForHold(
      core,
      { ...request, limits: request.limits.filter((each) => !isLeasedLimit(each)) },
      units,
    )
  } finally {
    if (admission?.kind === 'admitted') units.admitted()
    else units.giveBack()
  }
  if (admission === undefined) return UNAVAILABLE
  return { ...admission, statuses: [...admission.statuses, ...core.leased.statuses(shared)] }
}

const NOTHING_TAKEN: TakenUnits = { admitted() {}, giveBack() {}, end() {} }

/** For the `x-ratelimit-*` headers. */
export const limitStatusesOnPostgres = (core: PostgresCore, limits: readonly AppliedLimit[]): LimitStatus[] => [
  ...core.limits.statuses(limits.filter((limit) => !isLeasedLimit(limit))),
  ...core.leased.statuses(limits.filter(isLeasedLimit)),
]

/** Undefined if the database did not answer, or this node may not take turns any more. */
async function askForHold(
  core: PostgresCore,
  request: AdmitRequest,
  units: TakenUnits,
): Promise<Admission | undefined> {
  const { requestId } = request
  // Before the call: the sweeper resolves a hold that no turn attends.
  core.attended.add(requestId)
  const { node } = core
  const row = await core.turns.admit(request).catch((error: unknown) => {
    core.attended.delete(requestId)
    if (!isUnavailable(error)) throw error
    return undefined
  })
  if (!row) return undefined
  const statuses = core.limits.learn(request.limits, row)
  // The lease ended meanwhile: other nodes may resolve the hold, and so may this one's next sweep.
  if (row.kind === 'held' && !isLeased(core, node)) {
    core.attended.delete(requestId)
    return undefined
  }
  if (row.kind === 'held') {
    if (request.kind === 'wallet') core.solventUntil.set(request.account, core.nowMicros() + SOLVENT_MICROS)
    return admittedTurn(core, { request, row, node, statuses, units })
  }
  core.attended.delete(requestId)
  if (row.kind === 'money') core.solventUntil.delete(request.account)
  return { kind: 'refused', refusal: refusalOf(request, row), statuses }
}

/** Whether this process still has the lease under which a turn was admitted. One that stood still may have lost it. */
const isLeased = (core: PostgresCore, node: number) => core.node === node && core.nowMicros() < core.leaseEndsMicros

interface Held {
  readonly request: AdmitRequest
  readonly row: Extract<AdmitRow, { kind: 'held' }>
  readonly node: number
  readonly statuses: AdmittedTurn['statuses']
  readonly units: TakenUnits
}

function admittedTurn(core: PostgresCore, { request, row, node, statuses, units }: Held): AdmittedTurn {
  const { requestId, account, limits } = request
  const { receipt, cap, hold } = row
  core.open.set(requestId, receipt)
  const heldAmount = BigInt(hold) as NanoUsd
  let hasUnits = true
  const endUnits = (tokensUsed: number | undefined) => {
    if (hasUnits) units.end(tokensUsed)
    hasUnits = false
  }
  return {
    kind: 'admitted',
    cap,
    heldAmount,
    statuses,
    mayCallBeforeDurable: true,
    durable: Promise.resolve('durable'),
    hurry() {},
    mark(deliveredTokens) {
      core.marks.set(receipt, deliveredTokens)
      return isLeased(core, node)
    },
    settle(ending) {
      const tokensUsed = tokensOf(ending)
      core.limits.release(limits, tokensUsed)
      endUnits(tokensUsed)
      return settleOnPostgres(core, { requestId, receipt, account, node, heldAmount }, ending)
    },
    detach() {
      endUnits(undefined)
      core.attended.delete(requestId)
      // An open hold keeps its marks, because the sweeper charges by them.
      if (!core.open.has(requestId)) core.marks.forget(receipt)
    },
  }
}

/** A replayed answer counts as one request on the limits of all nodes. */
export async function takeRequestOnPostgres(
  core: PostgresCore,
  limits: readonly AppliedLimit[],
): Promise<TakenRequest> {
  const counted = limits.filter(({ kind }) => kind === 'requests')
  const row = await core.call<LimitStates & { readonly number: number | null }>('take_request($1)', [asJson(counted)])
  core.limits.learn(counted, row)
  const statuses = core.limits.statuses(limits)
  const { number } = row
  if (number === null) return { kind: 'taken', statuses }
  return { kind: 'refused', refusal: refusedByLimit({ limits: counted }, { ...row, number }), statuses }
}

const tokensOf = ({ owed }: Ending): number => (owed ? inputTokensOf(owed.usage) + owed.usage.output : 0)

interface HeldTurn {
  readonly requestId: RequestId
  readonly receipt: number
  readonly account: AccountRow
  /** The lease under which the hold was placed. */
  readonly node: number
}

/** An end that the database could not be told is written into the journal, while this node may end its turns. */
async function settleOnPostgres(
  core: PostgresCore,
  turn: HeldTurn & { readonly heldAmount: NanoUsd },
  ending: Ending,
): Promise<SettleOutcome> {
  const { journaled } = core
  const outcome =
    core.gate.open || journaled === undefined ? await closeInTime(core, turn, ending) : ({ kind: 'lost' } as const)
  if (outcome.kind !== 'lost') return outcome
  // Other nodes resolve the hold, by what was kept of the answer or by its marks.
  if (journaled === undefined || !isLeased(core, turn.node)) return { kind: 'not-ours' }
  if (!(await journaled.write({ requestId: turn.requestId, ending }))) return { kind: 'not-ours' }
  // The database may answer again meanwhile, and then only this replay finds the end.
  if (core.gate.open) void replayOnPostgres(core, journaled)
  const { owed } = ending
  const { charge, shortfall } = chargeWithin(turn.heldAmount, owed)
  return owed ? { kind: 'settled', charge, shortfall, tier: owed.tier } : { kind: 'released' }
}

/** How long the end of an answer waits for a database that does not answer; then it goes into the journal. */
const END_WAIT_MS = 1000

/** `lost` if the database has not answered in time. Its answer may still come, and then the journaled end finds nothing open. */
async function closeInTime(core: PostgresCore, turn: HeldTurn, ending: Ending): Promise<SettleOutcome> {
  const closed = closeOnPostgres(core, turn, ending, { recovers: false })
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, END_WAIT_MS, undefined)
  })
  const outcome = await Promise.race([closed, late]).finally(() => clearTimeout(timer))
  if (outcome !== undefined) return outcome
  closed.catch(core.onTrouble)
  return { kind: 'lost' }
}

/** Brings journaled ends to the database. False when it cannot be reached again. */
export const replayOnPostgres = (core: PostgresCore, journaled: JournaledEnds): Promise<boolean> =>
  journaled.replay(async ({ requestId, ending }: TurnEnd) => {
    try {
      const op = { ...closeOp(requestId, ending, `${core.node}.${++closings}`), recovers: true }
      const { kind } = await core.turns.close(op, undefined)
      forgetTurn(core, requestId)
      return { kind: kind === 'not-open' ? 'not-open' : 'recorded' }
    } catch (error) {
      if (isUnavailable(error)) return { kind: 'lost' }
      // What the database refuses is recovered by its marks.
      core.onTrouble(error)
      return { kind: 'not-open' }
    }
  })

async function closeOnPostgres(
  core: PostgresCore,
  { requestId, receipt, account }: HeldTurn,
  ending: Ending,
  { recovers }: Pick<CloseOp, 'recovers'>,
): Promise<SettleOutcome> {
  const op = { ...closeOp(requestId, ending, `${core.node}.${++closings}`), recovers }
  const row = await core.turns.close(op, account).catch((error: unknown) => {
    if (!isUnavailable(error)) throw error
    return undefined
  })
  // Unknown whether the hold is closed: recovery finds it as it is.
  if (!row) return { kind: 'lost' }
  forgetTurn(core, requestId)
  core.marks.forget(receipt)
  if (row.kind === 'not-open') return { kind: 'not-ours', isReleased: row.released }
  core.onClosed(account)
  if (!ending.owed) return { kind: 'released' }
  const { charge, shortfall } = row
  return {
    kind: 'settled',
    charge: BigInt(charge) as NanoUsd,
    shortfall: BigInt(shortfall) as NanoUsd,
    tier: ending.owed.tier,
  }
}

/** It is not open any more. */
function forgetTurn(core: PostgresCore, requestId: RequestId): void {
  const receipt = core.open.get(requestId)
  if (receipt === undefined) return
  core.open.delete(requestId)
  core.marks.forget(receipt)
}

let closings = 0

const closeOp = (requestId: RequestId, { owed, ...ending }: Ending, closing: string) => ({
  ...ending,
  requestId,
  attempts: JSON.stringify(ending.attempts),
  closing,
  ...owed,
})

/** A grace that no lease has ended before. */
const NEVER_MS = 1e12

interface AbandonedTurn extends HeldTurn {
  readonly model: string
  readonly priceVersion: number
  readonly inputEstimate: number
  readonly cachedEstimate: number
  readonly outputBound: number
  readonly asked?: string | null
}

interface Abandoned {
  readonly turns: readonly AbandonedTurn[]
  /** By node: its packed marks in hexadecimal. */
  readonly marks: Readonly<Record<string, string>>
}

/**
 * Resolves holds that no turn attends: of nodes whose lease has ended, and of turns that this process has lost. An ended
 * lease stays ended, so listed holds are abandoned for good; if such a node settles first, the close finds nothing open.
 * Returns how many were resolved.
 */
export async function recoverOnPostgres(core: PostgresCore): Promise<number> {
  const { turns, marks } = await core.call<Abandoned>('abandoned_turns($1, $2, $3)', [
    core.node,
    [...core.attended],
    core.nowMicros() < core.patientUntilMicros ? NEVER_MS : core.recoveryGraceMs,
  ])
  const delivered = newestOf(marks)
  const prices = new Map<string, Price>()
  // A turn that was admitted here after the list was made is on its way.
  const isAbandoned = ({ requestId }: AbandonedTurn) =>
    !core.attended.has(requestId) && core.journaled?.has(requestId) !== true
  const abandoned = turns.filter(isAbandoned)
  const kept = await core.findKeptFacts(abandoned.map(({ requestId }) => requestId))
  // One that the database refuses to end is left as it is, and does not keep the others.
  const resolved = await Promise.allSettled(
    abandoned.map(async (turn) => {
      // The answer is whole, and can still be had: only its charge was missing.
      const known = kept.get(turn.requestId)
      if (known !== undefined) {
        const ending = { ...readEnding(known.facts), kept: known.isReplayable }
        return closeOnPostgres(core, turn, ending, { recovers: true })
      }
      const tokens = (turn.node === core.node ? core.marks.get(turn.receipt) : undefined) ?? delivered.get(turn.receipt)
      const owed =
        tokens === undefined ? undefined : chargeForDelivered(turn, tokens, await priceOf(core, prices, turn))
      return closeOnPostgres(core, turn, recoveredEnding(owed), { recovers: true })
    }),
  )
  for (const each of resolved) if (each.status === 'rejected') core.onTrouble(each.reason)
  await forgetEnded(core)
  return resolved.filter((each) => each.status === 'fulfilled' && RESOLVED.has(each.value.kind)).length
}

/** Turns of this process that other nodes have ended. */
async function forgetEnded(core: PostgresCore): Promise<void> {
  const left = [...core.open.keys()].filter((requestId) => !core.attended.has(requestId))
  if (left.length === 0) return
  for (const requestId of await core.call<RequestId[]>('ended_turns($1)', [left])) forgetTurn(core, requestId)
}

const RESOLVED: ReadonlySet<SettleOutcome['kind']> = new Set(['settled', 'released'])

/** A process that lost its lease goes on marking under its next one, so a turn may have marks of several nodes. */
function newestOf(marks: Abandoned['marks']): Map<number, number> {
  const delivered = new Map<number, number>()
  for (const packed of Object.values(marks))
    for (const [receipt, tokens] of unpackMarks(Buffer.from(packed, 'hex')))
      delivered.set(receipt, Math.max(tokens, delivered.get(receipt) ?? 0))
  return delivered
}

async function priceOf(core: PostgresCore, known: Map<string, Price>, turn: AbandonedTurn): Promise<Price> {
  const { model, priceVersion } = turn
  const name = `${priceVersion} ${model}`
  const found = known.get(name)
  if (found) return found
  const terms = await core.call<string | null>('price_terms($1, $2)', [model, priceVersion])
  if (terms === null) throw new Error(`Price version ${priceVersion} of model ${model} is not in the ledger`)
  const price = priceFrom(priceVersion, terms)
  known.set(name, price)
  return price
}
