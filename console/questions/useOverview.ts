import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

const EVERY_MS = 5_000
/** Whoever waits for their first request looks at nothing else. */
const WAITING_MS = 1_500

export const useOverview = (zone: string) =>
  useQuery({
    ...questionOf('GET /overview', { query: { zone } }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.recent.length === 0 ? WAITING_MS : EVERY_MS),
  })
