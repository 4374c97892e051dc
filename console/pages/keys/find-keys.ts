import type { KeyFacts, ListedKey } from './own-key.ts'

export interface KeyFilters {
  readonly text: string
  readonly kind: ListedKey['kind'] | undefined
  readonly revoked: boolean
}

/** Those that the search and the filters leave. Every word of the search has to be found somewhere in a key. */
export function findKeys(keys: readonly ListedKey[], { text, kind, revoked }: KeyFilters): ListedKey[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return keys.filter(
    (key) =>
      (revoked || key.state !== 'revoked') &&
      (kind === undefined || key.kind === kind) &&
      words.every((word) => isAbout(key, word)),
  )
}

const isAbout = (key: ListedKey, word: string): boolean =>
  [key.name, key.id, key.shown, key.kind, ...(key.models?.first ?? [])].some((each) =>
    each.toLowerCase().includes(word),
  ) || isItsSecret(key, word)

/** Somebody who has a secret and wonders which key it is pastes it: its beginning and its end are known. */
function isItsSecret({ shown, former }: KeyFacts, word: string): boolean {
  return [shown, former?.shown].some((each) => {
    const [start = '', end = ''] = each?.toLowerCase().split('...') ?? []
    return end !== '' && word.length > start.length + end.length && word.startsWith(start) && word.endsWith(end)
  })
}
