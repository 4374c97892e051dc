import type { Effort } from '../model/effort.ts'
import type { CatalogEntry } from './catalog.ts'

/** One entry of the model list: the four fields that SDKs type, and what user interfaces like to know. */
export interface ModelDescription {
  readonly id: string
  readonly object: 'model'
  readonly created: number
  readonly owned_by: string
  readonly description?: string
  readonly context_length: number
  readonly max_output_tokens: number
  readonly input_modalities: readonly string[]
  /** Left out where any effort is passed on. */
  readonly supported_reasoning_efforts?: readonly Effort[]
}

export function describeModel({ id, model, suffixEffort }: CatalogEntry): ModelDescription {
  const efforts = suffixEffort === undefined ? model.efforts : [suffixEffort]
  return {
    id,
    object: 'model',
    created: model.createdAt,
    owned_by: model.ownedBy,
    ...(model.description === undefined ? {} : { description: model.description }),
    context_length: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    input_modalities: model.inputs,
    ...(efforts === undefined ? {} : { supported_reasoning_efforts: efforts }),
  }
}
