import type { AnswerOf } from '../../../src/contract/console-api.ts'

export type OperatorModel = AnswerOf<'GET /operate/lanes'>['items'][number]

type ModelState = 'good' | 'some-aside' | 'all-aside' | 'no-lanes'

export function stateOf({ lanes }: OperatorModel): ModelState {
  if (lanes.length === 0) return 'no-lanes'
  if (lanes.every(({ aside }) => aside === null)) return 'good'
  // The time of the open lane has passed, so the next request tries it.
  return lanes.every(({ first_percent }) => first_percent === 0) ? 'all-aside' : 'some-aside'
}

/** Matches the model id and the names of its providers. With `trouble`, keeps only models with issues. */
export function findModels(
  models: readonly OperatorModel[],
  { search, trouble }: { readonly search: string; readonly trouble: boolean },
): readonly OperatorModel[] {
  const terms = search.toLowerCase().split(/\s+/).filter(Boolean)
  return models.filter((model) => {
    if (trouble && stateOf(model) === 'good' && model.counted_beyond_context === null) return false
    const names = [model.id, ...model.lanes.flatMap(({ upstream, upstream_model }) => [upstream, upstream_model])]
    const text = names.join('\n').toLowerCase()
    return terms.every((term) => text.includes(term))
  })
}
