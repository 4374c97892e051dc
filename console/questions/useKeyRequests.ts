import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

const EVERY_MS = 5_000

/** The newest requests of one key; all of them are on the page of requests. */
export const useKeyRequests = (key: string, limit: number) =>
  useQuery({ ...questionOf('GET /requests', { query: { key, limit } }), refetchInterval: EVERY_MS })
