import type { Caller } from '../model/caller.ts'
import type { Effort } from '../model/effort.ts'
import type { Price } from '../model/price.ts'
import { type Problem, problem, type Refused, refused } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { Catalog, CatalogEntry, Plan } from './catalog.ts'
import { isSentAsNamed } from './describe-model.ts'

const SHOWN_MAX = 128

/** As received, but shortened. */
const quoted = (text: string): string => `'${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text}'`

/** An id with an effort suffix fixes the effort; the effort field may only repeat it. */
function refuseEffort(entry: CatalogEntry, effort: Effort, effortParam: string): Problem | undefined {
  const { model, suffixEffort } = entry
  if (suffixEffort !== undefined) {
    return effort === suffixEffort ? undefined : conflict(entry, suffixEffort, effort, effortParam)
  }
  if (model.efforts === undefined || model.efforts.includes(effort)) return undefined
  const allowed =
    model.efforts.length === 0
      ? // The reader may never have set an effort.
        `the model ${quoted(model.id)} has no effort levels: leave ${effortParam} out. If your client adds it by itself, turn off its effort setting for this model.${forCodex(effortParam, LIST)}`
      : `the model ${quoted(model.id)} supports only ${model.efforts.join(', ')}.${forCodex(effortParam, ONE_OF_THEM)}`
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
 * Codex sends its own effort for ids that begin like a model it knows, and its user cannot omit the field; a setting helps. It
 * uses the Responses API, so the field of Chat Completions is not from Codex.
 */
const forCodex = (param: string, cure: string): string => (param === 'reasoning.effort' ? ` In Codex, ${cure}.` : '')

/** `model` is as received, including an effort suffix. */
type ModelRequest = Pick<TurnRequest, 'model'> & Partial<Pick<TurnRequest, 'effort' | 'effortParam'>>

/** The entry, its price, and the effort for the provider. */
interface ResolvedModel {
  readonly kind: 'resolved'
  readonly entry: CatalogEntry
  readonly price: Price
  /** Undefined: none is sent, and the provider's default applies. */
  readonly effort: Effort | undefined
}

type ModelResolution = ResolvedModel | Refused

/**
 * An unknown model and one that the key may not use get the same answer. Rights are checked before the effort, so that a refused
 * effort does not reveal that a model exists.
 */
export function resolveModel(catalog: Catalog, rights: ModelRights, request: ModelRequest): ModelResolution {
  const { model: id, effort, effortParam = 'effort' } = request
  const entry = catalog.entries.get(id)
  const price = entry?.model.price
  if (entry !== undefined && price !== undefined && mayCall(catalog, rights, entry)) {
    const refusal = effort === undefined ? undefined : refuseEffort(entry, effort, effortParam)
    if (refusal !== undefined) return refused(refusal)
    return { kind: 'resolved', entry, price, effort: entry.suffixEffort ?? effort }
  }
  const count = visibleModels(catalog, rights).length
  const may = count === 0 ? 'This key has access to no models' : `GET /v1/models lists what the key may use (${count})`
  const message = `The model ${quoted(id)} does not exist or is not available to this key. ${may}.`
  return refused(problem('model_not_found', message, { param: 'model' }))
}

/** Key and plan decide which models exist for a caller; an outage does not. */
type ModelRights = Pick<Caller, 'kind' | 'models' | 'plan'>

/** The models that a caller may call, effort variants included, in configuration order. */
export const visibleModels = (catalog: Catalog, rights: ModelRights): CatalogEntry[] =>
  [...catalog.entries.values()].filter((entry) => mayCall(catalog, rights, entry))

function mayCall(catalog: Catalog, { kind, models, plan }: ModelRights, entry: CatalogEntry): boolean {
  const { model } = entry
  if (model.price === undefined || !model.kinds.includes(kind)) return false
  if (models !== undefined && !isListed(models, entry)) return false
  // Without a configured plan, the models stay listed, and a call reports the missing plan.
  const covered = kind === 'builder' && plan !== undefined ? catalog.plans.get(plan.id)?.models : undefined
  return covered === undefined || isListed(covered, entry)
}

const isListed = (names: readonly string[], entry: CatalogEntry): boolean => names.some((name) => admits(name, entry))

/** A base id admits its variants, a variant only itself, and a pattern is matched against base ids. */
export const admits = (listed: string, entry: CatalogEntry): boolean =>
  isGlob(listed) ? matchesGlob(listed, entry.model.id) : listed === entry.id || listed === entry.model.id

/** The base ids of the models that builder keys on a plan may call: those with a price and for builder keys. */
export function modelsOfPlan(entries: Iterable<CatalogEntry>, { models }: Plan): string[] {
  const found = new Set<string>()
  for (const entry of entries) {
    const { id, price, kinds } = entry.model
    if (price === undefined || !kinds.includes('builder')) continue
    if (models.some((name) => admits(name, entry))) found.add(id)
  }
  return [...found]
}

/** The id of a model with a fixed effort. Such ids are registered, never parsed. */
export const variantId = (modelId: string, effort: string): string => `${modelId}-${effort}`

export const variantsOf = (modelId: string, efforts: readonly Effort[] | undefined) =>
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
