import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { QueryOf } from '../../src/contract/console-api.ts'
import { now } from '../lib/clock.ts'
import { addDays, dayIn } from '../lib/zone-days.ts'
import { queryFor } from './query.ts'

/** While another range is on its way, the one before stays to be looked at. */
const SLOWLY = { placeholderData: keepPreviousData, refetchInterval: 60_000 }

/** What was used in a range. */
export const useUsage = (query: QueryOf<'GET /usage'>) =>
  useQuery({ ...queryFor('GET /usage', { query }), ...SLOWLY })

/** What was refused before it began, in the steps of the usage beside which it is shown. */
export const useRefusedTurns = (query: QueryOf<'GET /usage/refused'>) =>
  useQuery({ ...queryFor('GET /usage/refused', { query }), ...SLOWLY })

const DAYS = 30

/** What one key has used in the last thirty days, day by day in a zone, by model. */
export function useKeyUsage(key: string, zone: string) {
  const to = addDays(dayIn(zone, now()), 1)
  return useUsage({ from: addDays(to, -DAYS), to, zone, step: 'day', by: 'model', key })
}
