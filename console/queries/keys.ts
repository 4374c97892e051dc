import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { fetchQuery } from '../lib/api-client.ts'
import { pagedQueryFor, queryFor } from './query.ts'

/** Most accounts have all their keys on the first page. */
const PAGE = 200
/** Debounce of the search. */
const PAUSE_MS = 200

/** All keys, newest first, including revoked ones. Refetched because their spending changes. */
export const useKeys = () =>
  useInfiniteQuery({ ...pagedQueryFor('GET /keys', { query: { limit: PAGE } }), refetchInterval: 30_000 })

/** Searches all keys and all their models. The list contains only the first models of each key. */
export function useKeySearch(search: string) {
  const options = { query: { search, limit: PAGE } }
  return useQuery({
    ...queryFor('GET /keys', options),
    queryFn: async ({ signal }) => {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      signal.throwIfAborted()
      return fetchQuery('GET /keys', options, signal)
    },
    enabled: search !== '',
  })
}

/** `fresh` refetches on mount instead of using the cache. */
export const useKey = (key: string, { fresh = false }: { readonly fresh?: boolean } = {}) =>
  useQuery({
    ...queryFor('GET /keys/:key', { params: { key } }),
    refetchInterval: 15_000,
    ...(fresh && { refetchOnMount: 'always' as const }),
  })
