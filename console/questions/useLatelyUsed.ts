import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

const EVERY_MS = 5_000

/** What the account has used since midnight in a zone, and in the last 24 hours. */
export const useLatelyUsed = (zone: string) =>
  useQuery({
    ...questionOf('GET /overview/usage', { query: { zone } }),
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  })
