import { useQuery } from '@tanstack/react-query'
import { asProblem } from '../lib/console-problem.ts'
import { questionOf } from './question.ts'

const AGAIN_MS = 1_000
/** A provider may be read to its end for a minute after its client has left; what takes longer is left to the receipt. */
const TIMES_MAX = 90

/** One request, asked for again and again until its charge is settled. */
export function useSettledRequest(request: string) {
  const question = useQuery({
    ...questionOf('GET /requests/:request', { params: { request } }),
    refetchInterval: ({ state }) =>
      state.data?.state === 'open' && state.dataUpdateCount < TIMES_MAX ? AGAIN_MS : false,
    // Its receipt is written a moment after the client has gone.
    retry: (failures, error) => failures < 5 && asProblem(error).status === 404,
    retryDelay: AGAIN_MS,
  })
  return { ...question, settled: question.data !== undefined && question.data.state !== 'open' }
}
