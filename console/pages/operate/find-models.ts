import type { AnswerOf } from '../../../src/contract/console-api.ts'

export type OperatorModel = AnswerOf<'GET /operate/lanes'>['items'][number]

type ModelState = 'good' | 'some-aside' | 'all-aside' | 'no-lanes'

export function stateOf({ lanes }: OperatorModel): ModelState {
  if (lanes.length === 0) return 'no-lanes'
  if (lanes.every(({ aside }) => aside === null)) return 'good'
  // One whose time is over is asked by the next request, and stands in front of the others.
  return lanes.every(({ first_percent }) => first_percent === 0) ? 'all-aside' : 'some-aside'
}

/** By words that stand in the name of the model or of one of its providers; with `trouble` only what is not all well. */
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
