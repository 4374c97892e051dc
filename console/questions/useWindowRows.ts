import { useInfiniteQuery } from '@tanstack/react-query'
import { pagesOf } from './question.ts'

const EVERY_MS = 10_000
const LIVE_PAGES = 3

/** The requests that make the bar of one window of the plan, newest first. */
export const useWindowRows = (window: string) =>
  useInfiniteQuery({
    ...pagesOf('GET /plan/windows/:window', { params: { window }, query: { limit: 100 } }),
    // Only the first pages are kept up to date: all of them are asked again each time.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > LIVE_PAGES ? false : EVERY_MS),
  })
