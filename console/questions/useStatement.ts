import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import type { QueryOf } from '../../src/contract/console-api.ts'
import { pagesOf } from './question.ts'

const EVERY_MS = 15_000
const LIVE_PAGES = 3

/** Every movement of the wallet, newest first, as far as the filters let it through; it stands still for whoever reads. */
export const useStatement = (filters: QueryOf<'GET /wallet/statement.csv'>, { still }: { still: boolean }) =>
  useInfiniteQuery({
    ...pagesOf('GET /wallet/statement', { query: { ...filters, limit: 50 } }),
    // Only the first pages are kept up to date: all of them are asked again each time.
    refetchInterval: ({ state }) => (still || (state.data?.pages.length ?? 0) > LIVE_PAGES ? false : EVERY_MS),
    refetchOnWindowFocus: !still,
    placeholderData: keepPreviousData,
  })
