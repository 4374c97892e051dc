import { SEARCH_TERMS_MAX, searchTerms } from '../../../src/lib/anywhere/words-of-search.ts'
import type { KeyFacts, ListedKey } from './own-key.ts'

export interface KeyFilters {
  readonly text: string
  readonly kind: ListedKey['kind'] | undefined
  readonly revoked: boolean
}

/** What the server may be asked to find: nothing that could be a secret, or the larger part of one; empty for nothing. */
export function askableSearch(text: string): string {
  const words = searchTerms(text)
  const isTooMuch = words.length > SEARCH_TERMS_MAX || words.some((word) => word.includes('mr_') || word.length > 30)
  return isTooMuch ? '' : words.join(' ')
}

/**
 * Those that the search and the filters leave. Every word of the search has to be found somewhere in a key; `about` are those
 * in which the server has found it.
 */
export function findKeys(
  loaded: readonly ListedKey[],
  { text, kind, revoked }: KeyFilters,
  about: readonly ListedKey[] = [],
): ListedKey[] {
  const words = searchTerms(text)
  const known = new Set(loaded.map(({ id }) => id))
  const found = new Set(about.map(({ id }) => id))
  return [...loaded, ...about.filter(({ id }) => !known.has(id))].filter(
    (key) =>
      (revoked || key.state !== 'revoked') &&
      (kind === undefined || key.kind === kind) &&
      (found.has(key.id) || words.every((word) => isAbout(key, word))),
  )
}

/** Matches only what a row shows, so that the reason for a hit is visible. */
const isAbout = (key: ListedKey, word: string): boolean =>
  [key.name, ...(key.playground ? [] : [key.shown]), ...(key.models?.first ?? [])].some((each) => has(each, word)) ||
  isItsSecret(key, word)

const has = (text: string, word: string): boolean => text.toLowerCase().includes(word)

/** The known models of a key that match the search. */
export function modelsFound({ models }: Pick<ListedKey, 'models'>, text: string): string[] {
  const words = searchTerms(text)
  return models?.first.filter((model) => words.some((word) => has(model, word))) ?? []
}

/** Somebody who has a secret and wonders which key it is pastes it: its beginning and its end are known. */
function isItsSecret({ shown, former }: KeyFacts, word: string): boolean {
  return [shown, former?.shown].some((each) => {
    const [start = '', end = ''] = each?.toLowerCase().split('...') ?? []
    return end !== '' && word.length > start.length + end.length && word.startsWith(start) && word.endsWith(end)
  })
}
