import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

const EVERY_MS = 15_000

/** One key, with how its caps stand now; `anew` for whoever must not take what was heard before. */
export const useKey = (key: string, { anew = false }: { readonly anew?: boolean } = {}) =>
  useQuery({
    ...questionOf('GET /keys/:key', { params: { key } }),
    refetchInterval: EVERY_MS,
    ...(anew && { refetchOnMount: 'always' as const }),
  })
