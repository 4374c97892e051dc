import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

const EVERY_MS = 5_000

/** The subscription that builder keys draw on, and how its windows stand. */
export const usePlan = () => useQuery({ ...questionOf('GET /plan', {}), refetchInterval: EVERY_MS })
