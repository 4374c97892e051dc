import { createRequire } from 'node:module'
import type { ModelTraits } from '../model/model-traits.ts'
import type { Upstream } from './catalog.ts'
import type { KnownModel, KnownModels } from './known-model.ts'
import { readKnownModels, type Snapshot } from './read-known-models.ts'

let loaded: KnownModels | undefined

/** Read when somebody first asks, and once. */
export function knownModels(): KnownModels {
  loaded ??= readKnownModels(createRequire(import.meta.url)('./known-models.json') as Snapshot)
  return loaded
}

/** By the exact name that the provider knows it by: nothing is ever read out of a name. */
export const knownModel = (dialect: string, model: string): KnownModel | undefined =>
  knownModels().providers.get(dialect)?.models.get(model)

/** How a model on this upstream wants to be asked, as far as the snapshot knows. */
export function knownTraits(
  { wire, dialect }: Pick<Upstream, 'wire' | 'dialect'>,
  model: string,
): Partial<ModelTraits> {
  if (wire === 'demo' || !knownModels().providers.get(dialect)?.wires.includes(wire)) return {}
  return knownModel(dialect, model)?.traits ?? {}
}
