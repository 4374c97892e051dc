import { asJson } from '../../db/postgres/pool.ts'
import type { AppliedLimit } from '../../model/limit.ts'
import type { NanoUsd } from '../../model/money.ts'
import type { Admission, AdmittedTurn, TakenRequest } from '../ledger.ts'
import type { AdmitRequest } from '../state/admit-turn.ts'
import { type AdmitRow, type LimitStates, type PostgresCore, refusalOf, refusedByLimit } from './core.ts'
import { closeOnPostgres } from './settle.ts'

const UNAVAILABLE: Admission = { kind: 'refused', refusal: { kind: 'unavailable' }, statuses: [] }

/** When the answer comes the hold is committed, so nothing is left to wait for. */
export async function admitOnPostgres(core: PostgresCore, request: AdmitRequest): Promise<Admission> {
  const { requestId } = request
  // Nobody waits behind a database that does not answer; the renewal of the lease finds out when it does again.
  if (!core.available) return UNAVAILABLE
  // Before the question: a hold that the database places and nobody here attends is the sweeper's.
  core.attended.add(requestId)
  const row = await core.admissions.enqueue(request).catch((error: unknown) => {
    core.attended.delete(requestId)
    if (core.available) throw error
    return undefined
  })
  if (!row) return UNAVAILABLE
  const statuses = core.limits.learn(request.limits, row)
  if (row.kind === 'held') return admittedTurn(core, request, row, statuses)
  core.attended.delete(requestId)
  return { kind: 'refused', refusal: refusalOf(request, row), statuses }
}

function admittedTurn(
  core: PostgresCore,
  { requestId }: AdmitRequest,
  { receipt, cap, hold }: Extract<AdmitRow, { kind: 'held' }>,
  statuses: AdmittedTurn['statuses'],
): AdmittedTurn {
  core.open.add(requestId)
  return {
    kind: 'admitted',
    cap,
    amount: BigInt(hold) as NanoUsd,
    statuses,
    overlap: true,
    durable: Promise.resolve('durable'),
    mark: (deliveredTokens) => core.marks.set(receipt, deliveredTokens),
    settle: (ending) => closeOnPostgres(core, { requestId, receipt }, ending),
    detach() {
      core.attended.delete(requestId)
      // A hold that is still open keeps its progress, because the sweeper charges by it.
      if (!core.open.has(requestId)) core.marks.forget(receipt)
    },
  }
}

/** An answer that is given again counts as one request on every node's limits. */
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
