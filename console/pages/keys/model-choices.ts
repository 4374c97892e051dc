import type { AnswerOf } from '../../../src/contract/console-api.ts'
import type { OwnKey } from './own-key.ts'

type Model = AnswerOf<'GET /models'>['items'][number]

export interface ModelChoices {
  /** What the list shows: what is chosen and found first in the order of the models, then patterns and what is gone. */
  readonly rows: readonly string[]
  /** A pattern that is typed and not on the list yet. */
  readonly pattern: string | undefined
}

/** What can be chosen for a key of a kind, as far as it fits the search; whatever is chosen stays in sight. */
export function modelChoices(
  models: readonly Model[],
  kind: OwnKey['kind'],
  chosen: readonly string[],
  typed: string,
): ModelChoices {
  const ids = models.filter((model) => model.kinds.includes(kind)).map(({ id }) => id)
  const others = chosen.filter((each) => !ids.includes(each))
  const text = typed.trim().toLowerCase()
  const isFound = (id: string) => id.toLowerCase().includes(text.replaceAll('*', ''))
  const isNewPattern = typed.includes('*') && !chosen.includes(typed.trim())
  return {
    rows: [...others, ...ids].filter(isFound),
    pattern: isNewPattern ? typed.trim() : undefined,
  }
}
