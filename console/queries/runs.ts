import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import { pagedQueryFor, queryFor } from './query.ts'

export type Run = AnswerOf<'GET /runs/:run'>
export type RunItem = AnswerOf<'GET /runs'>['items'][number]

export const useRuns = () => useInfiniteQuery(pagedQueryFor('GET /runs', {}))

export const useRun = (run: string) =>
  useQuery({
    ...queryFor('GET /runs/:run', { params: { run } }),
    refetchInterval: ({ state }) => (state.data?.state === 'open' ? 5_000 : false),
  })
