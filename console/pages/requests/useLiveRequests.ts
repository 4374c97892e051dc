import { useEffect, useState } from 'react'
import { itemsOf } from '../../questions/question.ts'
import { useNewestRequests } from '../../questions/useNewestRequests.ts'
import { type RequestFilter, useRequestPages } from '../../questions/useRequestPages.ts'
import { holdBack, mergeRequests } from './merge-requests.ts'

interface Following {
  readonly following: boolean
  /** Somebody reads in it: what is new has to wait, or rows would move under the pointer. */
  readonly isRead: boolean
}

/** A list that is live: changes come in place, and new rows as soon as that disturbs nobody. */
export function useLiveRequests(filter: RequestFilter, { following, isRead }: Following) {
  const pages = useRequestPages(filter, following)
  const newest = useNewestRequests(filter, following)
  const { rows, gap } = mergeRequests(newest.data, itemsOf(pages.data))
  const { refetch } = pages
  const isLoaded = pages.data !== undefined && !pages.isFetching
  useEffect(() => {
    if (gap && isLoaded) void refetch()
  }, [gap, isLoaded, refetch])

  const newestId = rows[0]?.id
  const [firstId, setFirstId] = useState(newestId)
  useEffect(() => {
    if (!isRead) setFirstId(newestId)
  }, [isRead, newestId])
  const { shown, waiting } = holdBack(rows, isRead ? firstId : undefined)
  return { pages, rows: shown, waiting, takeIn: () => setFirstId(newestId) }
}
