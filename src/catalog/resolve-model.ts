import type { Effort } from '../model/effort.ts'
import type { Price } from '../model/price.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { Catalog, CatalogEntry } from './catalog.ts'
import { quoted } from './quoted.ts'
import { type EffortRequest, refuseEffort } from './refuse-effort.ts'
import { type ModelRights, mayCall, visibleModels } from './visible-models.ts'

export interface ModelRequest extends EffortRequest {
  /** As the client wrote it, effort suffix included. */
  readonly model: string
}

/** What a turn runs on: the entry, its price, and the effort that the provider is asked for. */
export interface ResolvedModel {
  readonly kind: 'resolved'
  readonly entry: CatalogEntry
  readonly price: Price
  /** Undefined: the provider's own default, nothing is sent. */
  readonly effort: Effort | undefined
}

export type ModelResolution = ResolvedModel | { readonly kind: 'refused'; readonly problem: Problem }

/** Rights first, then the effort: nobody learns from a refused effort that a model is there. */
export function resolveModel(catalog: Catalog, rights: ModelRights, request: ModelRequest): ModelResolution {
  const found = findModel(catalog, rights, request.model)
  if (found.kind === 'refused') return found
  const { entry, price } = found
  const refusal = refuseEffort(entry, request)
  if (refusal !== undefined) return { kind: 'refused', problem: refusal }
  return { kind: 'resolved', entry, price, effort: entry.suffixEffort ?? request.effort }
}

export type FoundModel =
  | { readonly kind: 'found'; readonly entry: CatalogEntry; readonly price: Price }
  | { readonly kind: 'refused'; readonly problem: Problem }

/** One id for one caller. A model that is not there and one that is not for this key get the same answer. */
export function findModel(catalog: Catalog, rights: ModelRights, id: string): FoundModel {
  const entry = catalog.entries.get(id)
  const price = entry?.model.price
  if (entry !== undefined && price !== undefined && mayCall(catalog, rights, entry))
    return { kind: 'found', entry, price }
  const count = visibleModels(catalog, rights).length
  const may = count === 0 ? 'it may use none' : `it may use ${count}: GET /v1/models lists them`
  const message = `The model ${quoted(id)} does not exist or is not available to this key; ${may}.`
  return { kind: 'refused', problem: problem('model_not_found', message, { param: 'model' }) }
}
