import { useInfiniteQuery } from '@tanstack/react-query'
import { pagesOf } from './question.ts'

const EVERY_MS = 10_000
const LIVE_PAGES = 3

/** The requests that make the bar of one window of the plan, newest first; it stands still for whoever reads. */
export const useWindowRows = (window: string, { still }: { still: boolean }) =>
  useInfiniteQuery({
    ...pagesOf('GET /plan/windows/:window', { params: { window }, query: { limit: 100 } }),
    // Only the first pages are kept up to date: all of them are asked again each time.
    refetchInterval: ({ state }) => (still || (state.data?.pages.length ?? 0) > LIVE_PAGES ? false : EVERY_MS),
    refetchOnWindowFocus: !still,
  })
