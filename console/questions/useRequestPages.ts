import { useInfiniteQuery } from '@tanstack/react-query'
import type { QueryOf } from '../../src/contract/console-api.ts'
import { itemsOf, pagesOf } from './question.ts'

export type RequestFilter = Pick<QueryOf<'GET /requests'>, 'key' | 'model' | 'outcome' | 'kind'>

export const REQUESTS_PAGE = 50
const RUNNING_EVERY_MS = 15_000

/** Requests, newest first. What runs longer than anybody watches the newest ones is looked at again now and then. */
export const useRequestPages = (filter: RequestFilter, following: boolean) =>
  useInfiniteQuery({
    ...pagesOf('GET /requests', { query: { ...filter, limit: REQUESTS_PAGE } }),
    refetchInterval: ({ state }) =>
      following && itemsOf(state.data).some((request) => request.state === 'open') ? RUNNING_EVERY_MS : false,
  })
