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
 * What can be refused before the body is read, which spares a client from sending megabytes first: an empty wallet, unless the
 * key may call something that costs nothing, and a limit of its key or account on how many requests. Nothing is taken here. What
 * a turn takes of tokens, and of a model's limits, is known when it has been read. Where no waiting helps, that is what is said.
 */
export async function earlyRefusal(deps: EarlyDeps, caller: Caller): Promise<Problem | undefined> {
  if (!deps.ledger.available) return undefined
  if (caller.kind === 'wallet' && (await isEmpty(deps, caller)) && !mayCallSomethingFree(deps.catalog, caller)) {
    return problem(
      'insufficient_balance',
      'The wallet is empty. Add funds to the account, then send the request again.',
    )
  }
  // Without a plan it is refused by that, which admission says.
  if (caller.kind === 'builder' && caller.plan === undefined) return undefined
  const limits = limitsOfCaller(deps.limits, caller).filter(({ kind }) => kind !== 'tokens')
  const limited = deps.ledger.limitRefusal(limits)
  return limited && rateProblem(limited)
}

async function isEmpty({ ledger }: EarlyDeps, { account }: Caller): Promise<boolean> {
  const { balance } = await ledger.standing(account)
  return balance <= 0n
}

const mayCallSomethingFree = (catalog: Catalog, caller: Caller): boolean =>
  visibleModels(catalog, caller).some((entry) => entry.model.price !== undefined && isFree(entry.model.price))
