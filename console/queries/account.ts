import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { AnswerOf, QueryOf } from '../../src/contract/console-api.ts'
import { now } from '../lib/clock.ts'
import { addDays, dayIn } from '../lib/zone-days.ts'
import { pagedQueryFor, queryFor } from './query.ts'

const EVERY_MS = 5_000
/** Whoever waits for their first request looks at nothing else. */
const WAITING_MS = 1_500

export type OverviewData = AnswerOf<'GET /overview'>

/** How the account stands: its money, its plan, its keys, and what has just run. */
export const useOverview = () =>
  useQuery({
    ...queryFor('GET /overview', {}),
    refetchInterval: ({ state }) => (state.data?.recent.length === 0 ? WAITING_MS : EVERY_MS),
  })

/** What the account has used since midnight in a zone, and in the last 24 hours. */
export const useRecentUsage = (zone: string) =>
  useQuery({
    ...queryFor('GET /overview/usage', { query: { zone } }),
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  })

export type ModelItem = AnswerOf<'GET /models'>['items'][number]

/** The models that this account can call, with their prices. */
export const useModels = () => useQuery({ ...queryFor('GET /models', {}), staleTime: 30_000 })

/** The trail of one's own account, or of one thing in it by its id. */
export const useAudit = (target?: string) => useInfiniteQuery(pagedQueryFor('GET /audit', { query: { target } }))

/** While another range is on its way, the one before stays to be looked at. */
const SLOWLY = { placeholderData: keepPreviousData, refetchInterval: 60_000 }

/** What was used in a range. */
export const useUsage = (query: QueryOf<'GET /usage'>) => useQuery({ ...queryFor('GET /usage', { query }), ...SLOWLY })

/** What was refused before it began, in the steps of the usage beside which it is shown. */
export const useRefusedTurns = (query: QueryOf<'GET /usage/refused'>) =>
  useQuery({ ...queryFor('GET /usage/refused', { query }), ...SLOWLY })

const DAYS = 30

/** What one key has used in the last thirty days, day by day in a zone, by model. */
export function useKeyUsage(key: string, zone: string) {
  const to = addDays(dayIn(zone, now()), 1)
  return useUsage({ from: addDays(to, -DAYS), to, zone, step: 'day', by: 'model', key })
}
