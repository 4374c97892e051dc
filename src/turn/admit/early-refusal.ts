import type { Catalog } from '../../catalog/catalog.ts'
import { visibleModels } from '../../catalog/visible-models.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { type ConfiguredLimits, limitsOfCaller } from '../../limits/limits-for-turn.ts'
import type { Caller } from '../../model/caller.ts'
import { isFree } from '../../model/price.ts'
import { type Problem, problem } from '../../model/problem.ts'
import { rateProblem } from './refusals.ts'

interface EarlyDeps {
  readonly ledger: Pick<Ledger, 'available' | 'limitRefusal' | 'standing'>
  readonly catalog: Catalog
  readonly limits: ConfiguredLimits
}

/**
 * What can be refused before the body is read, which spares a client from sending megabytes first, in the order of admission: a
 * limit of its key or account on how many requests, and an empty wallet, unless the key may call something that costs nothing.
 * Nothing is taken here. What a turn takes of tokens, and of a model's limits, is known when it has been read.
 */
export async function earlyRefusal(deps: EarlyDeps, caller: Caller): Promise<Problem | undefined> {
  if (!deps.ledger.available) return undefined
  const limits = limitsOfCaller(deps.limits, caller).filter(({ kind }) => kind !== 'tokens')
  const limited = deps.ledger.limitRefusal(limits)
  if (limited) return rateProblem(limited)
  if (caller.kind !== 'wallet') return undefined
  const { balance } = await deps.ledger.standing(caller.account)
  if (balance > 0n || mayCallSomethingFree(deps.catalog, caller)) return undefined
  return problem('insufficient_balance', 'The wallet is empty. Add funds to the account, then send the request again.')
}

const mayCallSomethingFree = (catalog: Catalog, caller: Caller): boolean =>
  visibleModels(catalog, caller).some((entry) => entry.model.price !== undefined && isFree(entry.model.price))
