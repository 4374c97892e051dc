import { skipToken, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import { act } from '../lib/ask.ts'
import { questionOf } from './question.ts'

export type Standing = AnswerOf<'GET /session'>
export type Person = NonNullable<Standing['person']>

/** Who is signed in. The router has asked before any page is shown, so pages never wait for it. */
export const sessionQuestion = { ...questionOf('GET /session', {}), staleTime: 60_000 }

export const useStanding = (): Standing => useSuspenseQuery(sessionQuestion).data

/** For pages behind the sign-in, where there always is somebody. */
export function useSession(): { person: Person; standing: Standing } {
  const standing = useStanding()
  if (standing.person === null) throw new Error('nobody is signed in')
  return { person: standing.person, standing }
}

/** Browsers that are signed in as this person. */
export const useSessions = () => useQuery(questionOf('GET /sessions', {}))

/** What a set-up code is for. Asked once for each code, and never again by itself: a guess counts against the guesser. */
export const useInvitation = (code: string | undefined) =>
  useQuery({
    queryKey: ['POST /invitation', code],
    queryFn: code === undefined ? skipToken : () => act('POST /invitation', { body: { code } }),
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
