import type { Effort } from '../model/effort.ts'
import type { Price } from '../model/price.ts'
import { type Problem, problem, type Refused, refused } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { Catalog, CatalogEntry } from './catalog.ts'
import { isSentAsNamed } from './describe-for-codex.ts'
import { type ModelRights, mayCall, visibleModels } from './visible-models.ts'

const SHOWN_MAX = 128

/** As received, but never a screenful of it. */
const quoted = (text: string): string => `'${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text}'`

export type EffortRequest = Pick<TurnRequest, 'effort' | 'effortParam'>

/** An id that ends in an effort has decided; a field beside it may only say the same. */
function refuseEffort(entry: CatalogEntry, { effort, effortParam }: EffortRequest): Problem | undefined {
  if (effort === undefined) return undefined
  const { model, suffixEffort } = entry
  if (suffixEffort !== undefined) {
    return effort === suffixEffort ? undefined : conflict(entry, suffixEffort, effort, effortParam)
  }
  if (model.efforts === undefined || model.efforts.includes(effort)) return undefined
  const allowed =
    model.efforts.length === 0
      ? // Whoever reads this may never have set one.
        `the model ${quoted(model.id)} has no effort levels: leave ${effortParam} out. A client that sends it unasked has a setting for the effort of this model.${forCodex(effortParam, LIST)}`
      : `the model ${quoted(model.id)} has ${model.efforts.join(', ')}.${forCodex(effortParam, ONE_OF_THEM)}`
  return problem('unsupported_value', `${effortParam} is ${quoted(effort)}, but ${allowed}`, { param: effortParam })
}

function conflict(entry: CatalogEntry, suffix: Effort, field: Effort, param: string): Problem {
  const cure = `Leave ${param} out, or send it with the model ${quoted(entry.model.id)}.`
  const set = isSentAsNamed(suffix) ? `set model_reasoning_effort = "${suffix}"` : LIST
  const message = `The model ${quoted(entry.id)} fixes the effort to ${quoted(suffix)}, but ${param} is ${quoted(field)}. ${cure}${forCodex(param, set)}`
  return problem('reasoning_effort_conflict', message, { param })
}

const LIST = 'set model_catalog_url = "<base_url>/models" for this provider'
const ONE_OF_THEM = 'set model_reasoning_effort to one of them'

/**
 * Codex sends an effort of its own for ids that begin like a model it knows, and its user cannot leave the field out: what
 * helps is written in its settings. It speaks Responses, so the field of Chat is not its.
 */
const forCodex = (param: string, cure: string): string => (param === 'reasoning.effort' ? ` In Codex, ${cure}.` : '')

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

export type ModelResolution = ResolvedModel | Refused

/** Rights first, then the effort: nobody learns from a refused effort that a model is there. */
export function resolveModel(catalog: Catalog, rights: ModelRights, request: ModelRequest): ModelResolution {
  const found = findModel(catalog, rights, request.model)
  if (found.kind === 'refused') return found
  const { entry, price } = found
  const refusal = refuseEffort(entry, request)
  if (refusal !== undefined) return refused(refusal)
  return { kind: 'resolved', entry, price, effort: entry.suffixEffort ?? request.effort }
}

export type FoundModel = { readonly kind: 'found'; readonly entry: CatalogEntry; readonly price: Price } | Refused

/** One id for one caller. A model that is not there and one that is not for this key get the same answer. */
export function findModel(catalog: Catalog, rights: ModelRights, id: string): FoundModel {
  const entry = catalog.entries.get(id)
  const price = entry?.model.price
  if (entry !== undefined && price !== undefined && mayCall(catalog, rights, entry))
    return { kind: 'found', entry, price }
  const count = visibleModels(catalog, rights).length
  const may = count === 0 ? 'it may use none' : `it may use ${count}: GET /v1/models lists them`
  const message = `The model ${quoted(id)} does not exist or is not available to this key; ${may}.`
  return refused(problem('model_not_found', message, { param: 'model' }))
}
