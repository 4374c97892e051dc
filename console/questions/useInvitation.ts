import { skipToken, useQuery } from '@tanstack/react-query'
import { ask } from '../lib/ask.ts'
import { questionOf } from './question.ts'

/** What a set-up code is for. Asked once for each code, and never again by itself: a guess counts against the guesser. */
export const useInvitation = (code: string | undefined) =>
  useQuery({
    ...questionOf('GET /invitation', { query: { code: code ?? '' } }),
    queryFn: code === undefined ? skipToken : ({ signal }) => ask('GET /invitation', { query: { code } }, signal),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
