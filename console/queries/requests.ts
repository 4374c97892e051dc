import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { AnswerOf, QueryOf } from '../../src/contract/console-api.ts'
import { asProblem, mayPass } from '../lib/console-problem.ts'
import { itemsOf, pagedQueryFor, queryFor } from './query.ts'

export type RequestDetail = AnswerOf<'GET /requests/:request'>
export type RequestFilter = Pick<QueryOf<'GET /requests'>, 'key' | 'model' | 'outcome' | 'kind'>

const PAGE = 50

/** Requests, newest first. What runs longer than anybody watches the newest ones is looked at again now and then. */
export const useRequestPages = (filter: RequestFilter, following: boolean) =>
  useInfiniteQuery({
    ...pagedQueryFor('GET /requests', { query: { ...filter, limit: PAGE } }),
    refetchInterval: ({ state }) =>
      following && itemsOf(state.data).some((request) => request.state === 'open') ? 15_000 : false,
  })

/** The newest requests, again and again, for as long as somebody follows them. */
export const useNewestRequests = (filter: RequestFilter, following: boolean) =>
  useQuery({
    ...queryFor('GET /requests', { query: { ...filter, limit: PAGE } }),
    enabled: following,
    refetchInterval: 2_000,
  })

/** The newest requests of one key; all of them are on the page of requests. */
export const useKeyRequests = (key: string, limit: number) =>
  useQuery({ ...queryFor('GET /requests', { query: { key, limit } }), refetchInterval: 5_000 })

const RUNNING_MS = 1_000

/** One request of one's own, asked again and again while it runs. */
export const useRequest = (request: string) =>
  useQuery({
    ...queryFor('GET /requests/:request', { params: { request } }),
    refetchInterval: ({ state }) => (state.data?.state === 'open' ? RUNNING_MS : false),
  })

/** A provider may be read to its end for a minute after its client has left; what takes longer is left to the receipt. */
const TIMES_MAX = 90

/** Its receipt is written a moment after the client has gone; and a connection that was lost comes back. */
export function mayStillSettle(failures: number, error: Error): boolean {
  const problem = asProblem(error)
  return failures < TIMES_MAX && (problem.status === 404 || mayPass(problem))
}

/** One request, asked for again and again until its charge is settled. */
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
