import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { QueryOf } from '../../src/contract/console-api.ts'
import { questionOf } from './question.ts'

const EVERY_MS = 60_000

/** What was refused before it began, in the steps of the usage beside which it is shown. */
export const useRefusedTurns = (query: QueryOf<'GET /usage/refused'>) =>
  useQuery({
    ...questionOf('GET /usage/refused', { query }),
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  })
