import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { AnswerOf, QueryOf } from '../../src/contract/console-api.ts'
import { now } from '../lib/clock.ts'
import { addDays, dayIn } from '../lib/zone-days.ts'
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
