import type { Effort } from '../model/effort.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { CatalogEntry } from './catalog.ts'
import { isSentAsNamed } from './describe-for-codex.ts'
import { quoted } from './quoted.ts'

export type EffortRequest = Pick<TurnRequest, 'effort' | 'effortParam'>

/** An id that ends in an effort has decided; a field beside it may only say the same. */
export function refuseEffort(entry: CatalogEntry, { effort, effortParam }: EffortRequest): Problem | undefined {
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
