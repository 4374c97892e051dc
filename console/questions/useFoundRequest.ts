import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

/** A request of anybody, live while it runs. */
export const useFoundRequest = (request: string) =>
  useQuery({
    ...questionOf('GET /operate/requests/:request', { params: { request } }),
    refetchInterval: ({ state }) => (state.data?.request.state === 'open' ? 2_000 : false),
  })
