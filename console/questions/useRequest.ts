import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

const EVERY_MS = 1_000

/** One request of one's own, asked again and again while it runs. */
export const useRequest = (request: string) =>
  useQuery({
    ...questionOf('GET /requests/:request', { params: { request } }),
    refetchInterval: ({ state }) => (state.data?.state === 'open' ? EVERY_MS : false),
  })
