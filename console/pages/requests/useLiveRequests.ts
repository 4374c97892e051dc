import { useEffect } from 'react'
import { itemsOf } from '../../questions/question.ts'
import { useNewestRequests } from '../../questions/useNewestRequests.ts'
import { type RequestFilter, useRequestPages } from '../../questions/useRequestPages.ts'
import { useHeldRows } from '../../ui/useHeldRows.ts'
import { mergeRequests } from './merge-requests.ts'

/** A list that is live: changes come in place, and new rows as soon as that disturbs nobody. */
export function useLiveRequests(filter: RequestFilter, following: boolean) {
  const pages = useRequestPages(filter, following)
  const newest = useNewestRequests(filter, following)
  const { rows, gap } = mergeRequests(newest.data, itemsOf(pages.data))
  const { refetch } = pages
  const isLoaded = pages.data !== undefined && !pages.isFetching
  useEffect(() => {
    if (gap && isLoaded) void refetch()
  }, [gap, isLoaded, refetch])
  return { pages, ...useHeldRows(rows, { idOf: ({ id }) => id, scrolling: 'counts' }) }
}
