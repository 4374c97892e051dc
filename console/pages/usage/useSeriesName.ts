import { useWords } from '../../words/WordsProvider.tsx'
import type { By } from './usage-filter.ts'

interface Named {
  readonly id: string | null
  readonly name: string
}

/** What a series is called: the server names models and keys, the catalogue who paid, and those that stand together. */
export function useSeriesName(by: By): (series: Named) => string {
  const { usage } = useWords()
  return ({ id, name }) => {
    if (id === null) return usage.rest
    return by === 'kind' && (id === 'wallet' || id === 'builder') ? usage.kinds[id] : name
  }
}
