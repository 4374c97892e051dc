import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { now } from '../lib/clock.ts'
import { addDays, dayIn } from '../lib/zone-days.ts'
import { questionOf } from './question.ts'

const DAYS = 30
const EVERY_MS = 60_000

/** What one key has used in the last thirty days, day by day in a zone, by model. */
export function useKeyUsage(key: string, zone: string) {
  const to = addDays(dayIn(zone, now()), 1)
  const query = { from: addDays(to, -DAYS), to, zone, step: 'day', by: 'model', key } as const
  return useQuery({
    ...questionOf('GET /usage', { query }),
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
  })
}
