import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { AnswerOf, QueryOf } from '../../src/contract/console-api.ts'
import { fetchOpenApi, fetchQuery } from '../lib/api-client.ts'
import { now } from '../lib/clock.ts'
import { addDays, dayIn } from '../lib/time-zones.ts'
import { pagedQueryFor, queryFor } from './query.ts'

const EVERY_MS = 5_000
/** A new account waits for its first request, so ask more often. */
const WAITING_MS = 1_500

export type OverviewData = AnswerOf<'GET /overview'>

export const useOverview = () =>
  useQuery({
    ...queryFor('GET /overview', {}),
    refetchInterval: ({ state }) => (state.data?.recent.length === 0 ? WAITING_MS : EVERY_MS),
  })

/** Usage since midnight and in the last 24 hours. */
export const useRecentUsage = (zone: string) =>
  useQuery({
    ...queryFor('GET /overview/usage', { query: { zone } }),
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  })

export type ModelItem = AnswerOf<'GET /models'>['items'][number]

export const useModels = () => useQuery({ ...queryFor('GET /models', {}), staleTime: 30_000 })

/** The person's own saved conversations. */
export const useConversations = () => useQuery(queryFor('GET /conversations', {}))

/** It changes with the server only. */
export const useOpenApi = () =>
  useQuery({
    queryKey: ['openapi.json'],
    queryFn: ({ signal }) => fetchOpenApi(signal),
    staleTime: Number.POSITIVE_INFINITY,
  })

export type Member = AnswerOf<'GET /members'>['items'][number]

export const useFactorRule = () => useQuery(queryFor('GET /second-factor', {}))

export const useMembers = () => useInfiniteQuery(pagedQueryFor('GET /members', { query: { limit: 200 } }))

/** The audit log of the account, or of one target in it. */
export const useAudit = (target?: string) => useInfiniteQuery(pagedQueryFor('GET /audit', { query: { target } }))

/** Keeps the previous range visible while the next one loads. */
const SLOWLY = { placeholderData: keepPreviousData, refetchInterval: 60_000 }

export const useUsage = (query: QueryOf<'GET /usage'>) => useQuery({ ...queryFor('GET /usage', { query }), ...SLOWLY })

/** Refused requests in the same steps as the usage. */
export const useRefusedTurns = (query: QueryOf<'GET /usage/refused'>) =>
  useQuery({ ...queryFor('GET /usage/refused', { query }), ...SLOWLY })

const DAYS = 30

export function useKeyUsage(key: string, zone: string) {
  const to = addDays(dayIn(zone, now()), 1)
  return useUsage({ from: addDays(to, -DAYS), to, zone, step: 'day', by: 'model', key })
}

/** Most accounts have all their keys on the first page. */
const PAGE = 200
/** Debounce of the search. */
const PAUSE_MS = 200

/** All keys, newest first, including revoked ones. Refetched because their spending changes. */
export const useKeys = () =>
  useInfiniteQuery({ ...pagedQueryFor('GET /keys', { query: { limit: PAGE } }), refetchInterval: 30_000 })

/** Searches all keys and all their models. The list contains only the first models of each key. */
export function useKeySearch(search: string) {
  const options = { query: { search, limit: PAGE } }
  return useQuery({
    ...queryFor('GET /keys', options),
    queryFn: async ({ signal }) => {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      signal.throwIfAborted()
      return fetchQuery('GET /keys', options, signal)
    },
    enabled: search !== '',
  })
}

/** `fresh` refetches on mount instead of using the cache. */
export const useKey = (key: string, { fresh = false }: { readonly fresh?: boolean } = {}) =>
  useQuery({
    ...queryFor('GET /keys/:key', { params: { key } }),
    refetchInterval: 15_000,
    ...(fresh && { refetchOnMount: 'always' as const }),
  })

/** A member may not ask for it. */
interface Asked {
  readonly enabled?: boolean
}

export const useWallet = (asked: Asked = {}) =>
  useQuery({ ...queryFor('GET /wallet', {}), refetchInterval: EVERY_MS, ...asked })

export const usePlan = (asked: Asked = {}) =>
  useQuery({ ...queryFor('GET /plan', {}), refetchInterval: EVERY_MS, ...asked })

interface Reading {
  /** The user is reading, so rows must not move. */
  readonly still: boolean
}

export const useStatement = (filters: QueryOf<'GET /wallet/statement.csv'>, { still }: Reading) =>
  useInfiniteQuery({
    ...pagedQueryFor('GET /wallet/statement', { query: { ...filters, limit: 50 } }),
    ...live(15_000, still),
    placeholderData: keepPreviousData,
  })

export const useWindowRows = (window: string, { still }: Reading) =>
  useInfiniteQuery({
    ...pagedQueryFor('GET /plan/windows/:window', { params: { window }, query: { limit: 100 } }),
    ...live(10_000, still),
  })

const LIVE_PAGES = 3

interface Grown {
  readonly state: { readonly data: { readonly pages: readonly unknown[] } | undefined }
}

/** Refetches a list while it is short and the user is not reading, because each refetch loads all of its pages. */
const live = (everyMs: number, still: boolean) => ({
  refetchInterval: ({ state }: Grown) => (still || (state.data?.pages.length ?? 0) > LIVE_PAGES ? false : everyMs),
  refetchOnWindowFocus: !still,
})
