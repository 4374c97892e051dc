import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { QueryOf } from '../../src/contract/console-api.ts'
import { questionOf } from './question.ts'

const EVERY_MS = 60_000

/** What was used in a range. While another range is on its way, the one before stays to be looked at. */
export const useUsage = (query: QueryOf<'GET /usage'>) =>
  useQuery({ ...questionOf('GET /usage', { query }), placeholderData: keepPreviousData, refetchInterval: EVERY_MS })
