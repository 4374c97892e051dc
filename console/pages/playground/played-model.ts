import type { AnswerOf } from '../../../src/contract/console-api.ts'

export type ModelItem = AnswerOf<'GET /models'>['items'][number]

export interface ModelChoice {
  readonly id: string
  readonly model: ModelItem
  /** The id has an effort in it already. */
  readonly decided: boolean
}

/** Every id that can be asked: each model, and behind it its ids with an effort. */
export const modelChoices = (models: readonly ModelItem[]): ModelChoice[] =>
  models.flatMap((model) => [
    { id: model.id, model, decided: false },
    ...model.variants.map((id) => ({ id, model, decided: true })),
  ])

/** What was asked for in the address, else the first that would be answered now. */
export function firstChoice(choices: readonly ModelChoice[], wanted: string | undefined): ModelChoice | undefined {
  return choices.find(({ id }) => id === wanted) ?? choices.find(({ model }) => model.available) ?? choices[0]
}
