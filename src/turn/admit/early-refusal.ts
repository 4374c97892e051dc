import type { Catalog } from '../../catalog/catalog.ts'
import { visibleModels } from '../../catalog/visible-models.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Caller } from '../../model/caller.ts'
import { isFree } from '../../model/price.ts'
import { type Problem, problem } from '../../model/problem.ts'

/**
 * What can be refused before the body is read: an empty wallet, unless the key may call something that costs nothing. It
 * spares a client with nothing to spend from sending megabytes first.
 */
export async function earlyRefusal(
  deps: { readonly ledger: Ledger; readonly catalog: Catalog },
  caller: Caller,
): Promise<Problem | undefined> {
  if (caller.kind !== 'wallet' || !deps.ledger.available) return undefined
  const { balance } = await deps.ledger.standing(caller.account)
  if (balance > 0n || mayCallSomethingFree(deps.catalog, caller)) return undefined
  return problem('insufficient_balance', 'The wallet is empty. Add funds to the account, then send the request again.')
}

const mayCallSomethingFree = (catalog: Catalog, caller: Caller): boolean =>
  visibleModels(catalog, caller).some((entry) => entry.model.price !== undefined && isFree(entry.model.price))
