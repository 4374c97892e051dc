import type { AccountId } from '../model/ids.ts'
import { type OfferedModelsDeps, offeredModels } from './offered-models.ts'

/** A model to begin with: one that answers now and has a price, else whatever there is. */
export async function suggestModel(deps: OfferedModelsDeps, account: AccountId): Promise<string | null> {
  const models = await offeredModels(deps, account)
  const ready = models.find(({ available, price }) => available && price !== null)
  return (ready ?? models[0])?.id ?? null
}
