import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { QueryOf } from '../../src/contract/console-api.ts'
import { pagedQueryFor, queryFor } from './query.ts'

const EVERY_MS = 5_000

/** Balance, holds of what runs now, and what is left to spend. */
export const useWallet = () => useQuery({ ...queryFor('GET /wallet', {}), refetchInterval: EVERY_MS })

/** The subscription that builder keys draw on, and how its windows stand. */
export const usePlan = () => useQuery({ ...queryFor('GET /plan', {}), refetchInterval: EVERY_MS })

interface Reading {
  /** Somebody reads: nothing may move. */
  readonly still: boolean
}

/** Every movement of the wallet, newest first, as far as the filters let it through. */
export const useStatement = (filters: QueryOf<'GET /wallet/statement.csv'>, { still }: Reading) =>
  useInfiniteQuery({
    ...pagedQueryFor('GET /wallet/statement', { query: { ...filters, limit: 50 } }),
    ...live(15_000, still),
    placeholderData: keepPreviousData,
  })

/** The requests that make the bar of one window of the plan, newest first. */
export const useWindowRows = (window: string, { still }: Reading) =>
  useInfiniteQuery({
    ...pagedQueryFor('GET /plan/windows/:window', { params: { window }, query: { limit: 100 } }),
    ...live(10_000, still),
  })

const LIVE_PAGES = 3

interface Grown {
  readonly state: { readonly data: { readonly pages: readonly unknown[] } | undefined }
}

/** A list keeps itself up to date while it is short, as all of its pages are asked again each time, and nobody reads in it. */
const live = (everyMs: number, still: boolean) => ({
  refetchInterval: ({ state }: Grown) => (still || (state.data?.pages.length ?? 0) > LIVE_PAGES ? false : everyMs),
  refetchOnWindowFocus: !still,
})
