import type { AppliedLimit } from '../../model/limit.ts'
import { asJson } from '../../store/postgres/postgres-pool.ts'
import type { TakenRequest } from '../take-request.ts'
import { type LimitStates, refusedByLimit } from './admit-row.ts'
import type { PostgresCore } from './postgres-core.ts'

/** An answer that is given again counts as one request on every node's limits. */
export async function takeRequestOnPostgres(
  core: PostgresCore,
  limits: readonly AppliedLimit[],
): Promise<TakenRequest> {
  const counted = limits.filter(({ kind }) => kind === 'requests')
  const row = await core.call<LimitStates & { readonly number: number | null }>('take_request($1)', [asJson(counted)])
  core.limits.learn(counted, row)
  const standings = core.limits.standings(limits)
  const { number } = row
  if (number === null) return { kind: 'taken', standings }
  return { kind: 'refused', refusal: refusedByLimit({ limits: counted }, { ...row, number }), standings }
}
