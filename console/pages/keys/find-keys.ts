import { SEARCH_TERMS_MAX, searchTerms } from '../../../src/lib/anywhere/text.ts'
import type { KeyFacts, ListedKey } from './key-facts.tsx'

export interface KeyFilters {
  readonly text: string
  readonly kind: ListedKey['kind'] | undefined
  readonly revoked: boolean
}

/** The search text that may be sent to the server. Returns '' for anything that could be part of a secret. */
export function askableSearch(text: string): string {
  const terms = searchTerms(text)
  const isTooMuch = terms.length > SEARCH_TERMS_MAX || terms.some((term) => term.includes('mr_') || term.length > 30)
  return isTooMuch ? '' : terms.join(' ')
}

/** Every search term must match the key. `about` are the keys that the server found. */
export function findKeys(
  loaded: readonly ListedKey[],
  { text, kind, revoked }: KeyFilters,
  about: readonly ListedKey[] = [],
): ListedKey[] {
  const terms = searchTerms(text)
  const known = new Set(loaded.map(({ id }) => id))
  const found = new Set(about.map(({ id }) => id))
  return [...loaded, ...about.filter(({ id }) => !known.has(id))].filter(
    (key) =>
      (revoked || key.state !== 'revoked') &&
      (kind === undefined || key.kind === kind) &&
      (found.has(key.id) || terms.every((term) => isAbout(key, term))),
  )
}

/** Matches only what a row shows, so that the reason for a match is visible. */
const isAbout = (key: ListedKey, term: string): boolean =>
  [key.name, ...(key.playground ? [] : [key.shown]), ...(key.models?.first ?? [])].some((each) => has(each, term)) ||
  isItsSecret(key, term)

const has = (text: string, term: string): boolean => text.toLowerCase().includes(term)

export function modelsFound({ models }: Pick<ListedKey, 'models'>, text: string): string[] {
  const terms = searchTerms(text)
  return models?.first.filter((model) => terms.some((term) => has(model, term))) ?? []
}

/** The beginning and end of a secret are known, so a pasted secret finds its key. */
function isItsSecret({ shown, former }: KeyFacts, term: string): boolean {
  return [shown, former?.shown].some((each) => {
    const [start = '', end = ''] = each?.toLowerCase().split('...') ?? []
    return end !== '' && term.length > start.length + end.length && term.startsWith(start) && term.endsWith(end)
  })
}
