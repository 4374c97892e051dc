import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

const EVERY_MS = 5_000

/** Balance, holds of what runs now, and what is left to spend. */
export const useWallet = () => useQuery({ ...questionOf('GET /wallet', {}), refetchInterval: EVERY_MS })
