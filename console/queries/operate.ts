import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { itemsOf, pagedQueryFor, queryFor } from './query.ts'
import { useSession } from './session.ts'

const EVERY_MS = 5_000

/** Everybody, or those that have the words in e-mail or id. */
export const useAccounts = (search: string) =>
  useInfiniteQuery(pagedQueryFor('GET /operate/accounts', { query: search === '' ? {} : { search } }))

export const useAccount = (account: string) =>
  useQuery(queryFor('GET /operate/accounts/:account', { params: { account } }))

/** The funding requests of all accounts. Only an operator may query them. */
export const useFundingRequests = ({ enabled = true }: { readonly enabled?: boolean } = {}) =>
  useInfiniteQuery({ ...pagedQueryFor('GET /operate/wishes', {}), refetchInterval: 15_000, enabled })

export const useCodes = () => useInfiniteQuery(pagedQueryFor('GET /operate/codes', {}))

/** All that the configuration offers. */
export const usePlans = () => useQuery(queryFor('GET /operate/plans', {}))

/** Lanes of all models, as their health is now. */
export const useLanes = () => useQuery({ ...queryFor('GET /operate/lanes', {}), refetchInterval: EVERY_MS })

/** A request of anybody, live while it runs. */
export const useFoundRequest = (request: string) =>
  useQuery({
    ...queryFor('GET /operate/requests/:request', { params: { request } }),
    refetchInterval: ({ state }) => (state.data?.request.state === 'open' ? 2_000 : false),
  })

export const useOperatorAudit = () => useInfiniteQuery(pagedQueryFor('GET /operate/audit', {}))

export const useSystem = () => useQuery({ ...queryFor('GET /operate/system', {}), refetchInterval: EVERY_MS })

/** How many accounts wait for funds; 0 for anybody but an operator. */
export function usePendingFundingRequests(): number {
  const { person } = useSession()
  const { data } = useFundingRequests({ enabled: person.role === 'operator' })
  return itemsOf(data).length
}
