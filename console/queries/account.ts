import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import { pagedQueryFor, queryFor } from './query.ts'

const EVERY_MS = 5_000
/** Whoever waits for their first request looks at nothing else. */
const WAITING_MS = 1_500

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
