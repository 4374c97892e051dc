import type { AnswerOf } from '../../../../src/contract/console-api.ts'

export type OperatorModel = AnswerOf<'GET /operate/lanes'>['items'][number]

export type ModelState = 'good' | 'some-aside' | 'all-aside' | 'no-lanes'

export function stateOf({ lanes }: OperatorModel): ModelState {
  const aside = lanes.filter((lane) => lane.aside !== null).length
  if (lanes.length === 0) return 'no-lanes'
  if (aside === 0) return 'good'
  return aside === lanes.length ? 'all-aside' : 'some-aside'
}

/** By words that stand in the name of the model or of one of its providers; with `trouble` only what is not all well. */
export function findModels(
  models: readonly OperatorModel[],
  { search, trouble }: { readonly search: string; readonly trouble: boolean },
): readonly OperatorModel[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  return models.filter((model) => {
    if (trouble && stateOf(model) === 'good') return false
    const names = [model.id, ...model.lanes.flatMap(({ upstream, upstream_model }) => [upstream, upstream_model])]
    const text = names.join('\n').toLowerCase()
    return words.every((word) => text.includes(word))
  })
}
