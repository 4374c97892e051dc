import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { AnswerOf, QueryOf } from '../../src/contract/console-api.ts'
import { asProblem, mayPass } from '../lib/console-problem.ts'
import { itemsOf, pagedQueryFor, queryFor } from './query.ts'

export type RequestDetail = AnswerOf<'GET /requests/:request'>
/** `from` and `to` are days in `zone`. */
export type RequestFilter = Pick<
  QueryOf<'GET /requests'>,
  'key' | 'model' | 'outcome' | 'kind' | 'tag' | 'from' | 'to' | 'zone'
>

const PAGE = 50

/** Newest first. Long-running requests can drop out of the newest page, so they are refetched too. */
export const useRequestPages = (filter: RequestFilter, following: boolean) =>
  useInfiniteQuery({
    ...pagedQueryFor('GET /requests', { query: { ...filter, limit: PAGE } }),
    refetchInterval: ({ state }) =>
      following && itemsOf(state.data).some((request) => request.state === 'open') ? 15_000 : false,
  })

export const useNewestRequests = (filter: RequestFilter, following: boolean) =>
  useQuery({
    ...queryFor('GET /requests', { query: { ...filter, limit: PAGE } }),
    enabled: following,
    refetchInterval: 2_000,
  })

export const useKeyRequests = (key: string, limit: number) =>
  useQuery({ ...queryFor('GET /requests', { query: { key, limit } }), refetchInterval: 5_000 })

const RUNNING_MS = 1_000

export const useRequest = (request: string) =>
  useQuery({
    ...queryFor('GET /requests/:request', { params: { request } }),
    refetchInterval: ({ state }) => (state.data?.state === 'open' ? RUNNING_MS : false),
  })

/**
 * The gateway reads a provider for up to a minute after the client disconnects. After that the charge is on the receipt
 * only.
 */
const TIMES_MAX = 90

/** The receipt is written shortly after the disconnect, and a lost connection can come back. */
export function mayStillSettle(failures: number, error: Error): boolean {
  const problem = asProblem(error)
  return failures < TIMES_MAX && (problem.status === 404 || mayPass(problem))
}

/** Refetches a request until its charge is settled. */
export function useSettledRequest(request: string) {
  const query = useQuery({
    ...queryFor('GET /requests/:request', { params: { request } }),
    refetchInterval: ({ state }) =>
      state.data?.state === 'open' && state.dataUpdateCount < TIMES_MAX ? RUNNING_MS : false,
    retry: mayStillSettle,
    retryDelay: RUNNING_MS,
  })
  return { ...query, settled: query.data !== undefined && query.data.state !== 'open' }
}
