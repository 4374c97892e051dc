import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import { now } from '../lib/clock.ts'
import { addDays, dayIn } from '../lib/time-zones.ts'
import { useUsage } from './account.ts'
import { pagedQueryFor, queryFor } from './query.ts'

export type Team = AnswerOf<'GET /teams/:team'>
export type CappedMember = AnswerOf<'GET /members/:person'>

const EVERY_MS = 15_000
const PAGE = 200

/** Refetched because their spending changes. */
export const useTeams = ({ enabled = true }: { readonly enabled?: boolean } = {}) =>
  useInfiniteQuery({
    ...pagedQueryFor('GET /teams', { query: { limit: PAGE } }),
    refetchInterval: EVERY_MS,
    enabled,
  })

export const useTeam = (team: string) =>
  useQuery({ ...queryFor('GET /teams/:team', { params: { team } }), refetchInterval: EVERY_MS })

export const useMember = (person: string) =>
  useQuery({ ...queryFor('GET /members/:person', { params: { person } }), refetchInterval: EVERY_MS })

export const useNewKeyCaps = () => useQuery(queryFor('GET /new-key-caps', {}))

/** The keys of a team or of a person, newest first. */
export const useKeysOf = (of: { readonly team: string } | { readonly person: string }) =>
  useInfiniteQuery({
    ...pagedQueryFor('GET /keys', { query: { ...of, limit: 50 } }),
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
  })

/** The running month in UTC, as monthly caps count it. */
export function useMonthByTeam() {
  const today = dayIn('UTC', now())
  return useUsage({ from: `${today.slice(0, 7)}-01`, to: addDays(today, 1), zone: 'UTC', step: 'month', by: 'team' })
}

const DAYS = 30

/** The last 30 days of a team by person. */
export function useTeamUsage(team: string, zone: string) {
  const to = addDays(dayIn(zone, now()), 1)
  return useUsage({ from: addDays(to, -DAYS), to, zone, step: 'day', by: 'person', team })
}
