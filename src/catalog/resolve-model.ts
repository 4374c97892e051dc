import type { Caller } from '../model/caller.ts'
import type { Effort } from '../model/effort.ts'
import type { Price } from '../model/price.ts'
import { type Problem, problem, type Refused, refused } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { Catalog, CatalogEntry, Plan } from './catalog.ts'
import { isSentAsNamed } from './describe-model.ts'

const SHOWN_MAX = 128

/** As received, but never a screenful of it. */
const quoted = (text: string): string => `'${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text}'`

type EffortRequest = Pick<TurnRequest, 'effort' | 'effortParam'>

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

interface ModelRequest extends EffortRequest {
  /** As the client wrote it, effort suffix included. */
  readonly model: string
}

/** What a turn runs on: the entry, its price, and the effort that the provider is asked for. */
interface ResolvedModel {
  readonly kind: 'resolved'
  readonly entry: CatalogEntry
  readonly price: Price
  /** Undefined: the provider's own default, nothing is sent. */
  readonly effort: Effort | undefined
}

type ModelResolution = ResolvedModel | Refused

/** Rights first, then the effort: nobody learns from a refused effort that a model is there. */
export function resolveModel(catalog: Catalog, rights: ModelRights, request: ModelRequest): ModelResolution {
  const found = findModel(catalog, rights, request.model)
  if (found.kind === 'refused') return found
  const { entry, price } = found
  const refusal = refuseEffort(entry, request)
  if (refusal !== undefined) return refused(refusal)
  return { kind: 'resolved', entry, price, effort: entry.suffixEffort ?? request.effort }
}

type FoundModel = { readonly kind: 'found'; readonly entry: CatalogEntry; readonly price: Price } | Refused

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

/** What decides which models exist for somebody: configuration, key and plan, never an outage. */
type ModelRights = Pick<Caller, 'kind' | 'models' | 'plan'>

/** Exactly what a caller may call, effort variants included, in the order of the configuration. */
export const visibleModels = (catalog: Catalog, rights: ModelRights): CatalogEntry[] =>
  [...catalog.entries.values()].filter((entry) => mayCall(catalog, rights, entry))

function mayCall(catalog: Catalog, { kind, models, plan }: ModelRights, entry: CatalogEntry): boolean {
  const { model } = entry
  if (model.price === undefined || !model.kinds.includes(kind)) return false
  if (models !== undefined && !isListed(models, entry)) return false
  // Without a plan that is there, what the key could call with one stays listed: a call says what is missing.
  const covered = kind === 'builder' && plan !== undefined ? catalog.plans.get(plan.id)?.models : undefined
  return covered === undefined || isListed(covered, entry)
}

const isListed = (names: readonly string[], entry: CatalogEntry): boolean => names.some((name) => admits(name, entry))

/** A base id admits its variants, a variant admits only itself, a pattern is held against base ids. */
export const admits = (listed: string, entry: CatalogEntry): boolean =>
  isGlob(listed) ? matchesGlob(listed, entry.model.id) : listed === entry.id || listed === entry.model.id

/** The models that a plan opens to its builder keys, by their base ids. */
export function modelsOfPlan(entries: Iterable<CatalogEntry>, { models }: Plan): string[] {
  const found = new Set<string>()
  for (const entry of entries) if (models.some((name) => matchesForBuilder(name, entry))) found.add(entry.model.id)
  return [...found]
}

/** A model without a price, or for wallet keys only, is not opened by a plan that names it. */
const matchesForBuilder = (name: string, entry: CatalogEntry): boolean =>
  entry.model.price !== undefined && entry.model.kinds.includes('builder') && admits(name, entry)

/** The id of a model with its effort fixed. Such ids are registered, never taken apart. */
export const variantId = (modelId: string, effort: string): string => `${modelId}-${effort}`

interface VariantId {
  readonly id: string
  readonly effort: Effort
}

export const variantsOf = (modelId: string, efforts: readonly Effort[] | undefined): VariantId[] =>
  (efforts ?? []).map((effort) => ({ id: variantId(modelId, effort), effort }))

/** Whether an entry of a key or a plan is a pattern, not an id. */
export const isGlob = (entry: string): boolean => entry.includes('*')

/**
 * `*` matches anything, `/` included. The pieces between the stars are searched from left to right, each at its first
 * occurrence, so there is no backtracking.
 */
export function matchesGlob(pattern: string, name: string): boolean {
  const pieces = pattern.split('*')
  const first = pieces[0]!
  if (pieces.length === 1) return pattern === name
  const last = pieces[pieces.length - 1]!
  const end = name.length - last.length
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false
  let from = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, from)
    if (found < 0 || found + piece.length > end) return false
    from = found + piece.length
  }
  return true
}
