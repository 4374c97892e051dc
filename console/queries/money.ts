import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { QueryOf } from '../../src/contract/console-api.ts'
import { pagedQueryFor, queryFor } from './query.ts'


export const useWallet = () => useQuery({ ...queryFor('GET /wallet', {}), refetchInterval: EVERY_MS })

export const usePlan = () => useQuery({ ...queryFor('GET /plan', {}), refetchInterval: EVERY_MS })

interface Reading {
  /** The user is reading, so rows must not move. */
  readonly still: boolean
}

export const useStatement = (filters: QueryOf<'GET /wallet/statement.csv'>, { still }: Reading) =>
  useInfiniteQuery({
    ...pagedQueryFor('GET /wallet/statement', { query: { ...filters, limit: 50 } }),
    ...live(15_000, still),
    placeholderData: keepPreviousData,
  })

export const useWindowRows = (window: string, { still }: Reading) =>
  useInfiniteQuery({
    ...pagedQueryFor('GET /plan/windows/:window', { params: { window }, query: { limit: 100 } }),
    ...live(10_000, still),
  })

const LIVE_PAGES = 3

interface Grown {
  readonly state: { readonly data: { readonly pages: readonly unknown[] } | undefined }
}

/** Refetches a list while it is short and the user is not reading, because each refetch loads all of its pages. */
const live = (everyMs: number, still: boolean) => ({
  refetchInterval: ({ state }: Grown) => (still || (state.data?.pages.length ?? 0) > LIVE_PAGES ? false : everyMs),
  refetchOnWindowFocus: !still,
})
