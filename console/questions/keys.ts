import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { pagesOf, questionOf } from './question.ts'

/** Most accounts have all of their keys in the first page, so that searching them needs no server. */
const PAGE = 200

/** The keys of this account, newest first, revoked ones included. What they have spent changes while somebody looks. */
export const useKeys = () =>
  useInfiniteQuery({ ...pagesOf('GET /keys', { query: { limit: PAGE } }), refetchInterval: 30_000 })

/** One key, with how its caps stand now; `anew` for whoever must not take what was heard before. */
export const useKey = (key: string, { anew = false }: { readonly anew?: boolean } = {}) =>
  useQuery({
    ...questionOf('GET /keys/:key', { params: { key } }),
    refetchInterval: 15_000,
    ...(anew && { refetchOnMount: 'always' as const }),
  })
