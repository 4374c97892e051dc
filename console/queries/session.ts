import { skipToken, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import type { ROLES_OF } from '../../src/contract/values.ts'
import { runMutation } from '../lib/api-client.ts'
import { queryFor } from './query.ts'

export type SessionState = AnswerOf<'GET /session'>
export type Person = NonNullable<SessionState['person']>

/** The router loads the session before any page is shown, so pages never wait for it. */
export const sessionQuery = { ...queryFor('GET /session', {}), staleTime: 60_000 }

export const useSessionState = (): SessionState => useSuspenseQuery(sessionQuery).data

/** For pages behind the sign-in. */
export function useSession(): { person: Person; session: SessionState } {
  const session = useSessionState()
  if (session.person === null) throw new Error('no one is signed in')
  return { person: session.person, session }
}

/** Of the contract; its type does not allow other roles here. */
const ROLES: Omit<typeof ROLES_OF, 'any-role'> = {
  viewer: ['viewer', 'admin', 'owner'],
  member: ['member', 'admin', 'owner'],
  admin: ['admin', 'owner'],
  owner: ['owner'],
}

export type Right = keyof typeof ROLES

/** Whether a person may use the routes of their account that need this. An operator is as its owner. */
export function may({ role, account }: Person, right: Right): boolean {
  const roles: readonly string[] = ROLES[right]
  return account !== null && roles.includes(role === 'operator' ? 'owner' : role)
}

/** What a person may not do is not shown. */
export function useMay(): (right: Right) => boolean {
  const { person } = useSession()
  return (right) => may(person, right)
}

export const useFactors = () => useQuery(queryFor('GET /factors', {}))

export const useSessions = () => useQuery(queryFor('GET /sessions', {}))

/** Fetched once per code, because a wrong code counts against the rate limit. */
export const useInvitation = (code: string | undefined) =>
  useQuery({
    queryKey: ['POST /invitation', code],
    queryFn: code === undefined ? skipToken : () => runMutation('POST /invitation', { body: { code } }),
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
