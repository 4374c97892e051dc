import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

const EVERY_MS = 15_000

/** One key, with how its caps stand now. */
export const useKey = (key: string) =>
  useQuery({ ...questionOf('GET /keys/:key', { params: { key } }), refetchInterval: EVERY_MS })
