import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { fetchQuery } from '../lib/api-client.ts'
import { pagedQueryFor, queryFor } from './query.ts'

/** Most accounts have all of their keys in the first page. */
const PAGE = 200
/** Whoever types on is not asked for yet. */
const PAUSE_MS = 200

/** The keys of this account, newest first, revoked ones included. What they have spent changes while somebody looks. */
export const useKeys = () =>
  useInfiniteQuery({ ...pagedQueryFor('GET /keys', { query: { limit: PAGE } }), refetchInterval: 30_000 })

/** Keys that a search is about, on whatever page and by whichever of their models: a list tells only the first of these. */
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

/** One key, with how its caps stand now; `anew` for whoever must not take what was heard before. */
export const useKey = (key: string, { anew = false }: { readonly anew?: boolean } = {}) =>
  useQuery({
    ...queryFor('GET /keys/:key', { params: { key } }),
    refetchInterval: 15_000,
    ...(anew && { refetchOnMount: 'always' as const }),
  })
