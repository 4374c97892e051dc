import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'
import { REQUESTS_PAGE, type RequestFilter } from './useRequestPages.ts'

const EVERY_MS = 2_000

/** The newest requests, again and again, for as long as somebody follows them. */
export const useNewestRequests = (filter: RequestFilter, following: boolean) =>
  useQuery({
    ...questionOf('GET /requests', { query: { ...filter, limit: REQUESTS_PAGE } }),
    enabled: following,
    refetchInterval: EVERY_MS,
  })
