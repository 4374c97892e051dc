import type { Effort } from '../model/effort.ts'

/** The id of a model with its effort fixed. Such ids are registered, never taken apart. */
export const variantId = (modelId: string, effort: string): string => `${modelId}-${effort}`

export interface VariantId {
  readonly id: string
  readonly effort: Effort
}

export const variantsOf = (modelId: string, efforts: readonly Effort[] | undefined): VariantId[] =>
  (efforts ?? []).map((effort) => ({ id: variantId(modelId, effort), effort }))
