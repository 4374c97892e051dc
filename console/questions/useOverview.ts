import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

const EVERY_MS = 5_000
/** Whoever waits for their first request looks at nothing else. */
const WAITING_MS = 1_500

/** How the account stands: its money, its plan, its keys, and what has just run. */
export const useOverview = () =>
  useQuery({
    ...questionOf('GET /overview', {}),
    refetchInterval: ({ state }) => (state.data?.recent.length === 0 ? WAITING_MS : EVERY_MS),
  })
