import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { QueryOf } from '../../src/contract/console-api.ts'
import { itemsOf, pagedQueryFor, queryFor } from './query.ts'
import { useSession } from './session.ts'

const EVERY_MS = 5_000

/** All accounts, or those that match the search in email or id. */
export const useAccounts = (search: string) =>
  useInfiniteQuery(pagedQueryFor('GET /operate/accounts', { query: search === '' ? {} : { search } }))

export const useAccount = (account: string) =>
  useQuery(queryFor('GET /operate/accounts/:account', { params: { account } }))

/** Only operators may query this. */
export const useFundingRequests = ({ enabled = true }: { readonly enabled?: boolean } = {}) =>
  useInfiniteQuery({ ...pagedQueryFor('GET /operate/wishes', {}), refetchInterval: 15_000, enabled })

export const useCodes = () => useInfiniteQuery(pagedQueryFor('GET /operate/codes', {}))

export const usePlans = () => useQuery(queryFor('GET /operate/plans', {}))

export const useManaged = () => useQuery(queryFor('GET /operate/managed', {}))

export const useManagedHistory = (query: QueryOf<'GET /operate/managed/history'>) =>
  useQuery(queryFor('GET /operate/managed/history', { query }))

export const useLanes = () => useQuery({ ...queryFor('GET /operate/lanes', {}), refetchInterval: EVERY_MS })

export const useFoundRequest = (request: string) =>
  useQuery({
    ...queryFor('GET /operate/requests/:request', { params: { request } }),
    refetchInterval: ({ state }) => (state.data?.request.state === 'open' ? 2_000 : false),
  })

export const useOperatorAudit = (query: QueryOf<'GET /operate/audit'>) =>
  useInfiniteQuery(pagedQueryFor('GET /operate/audit', { query }))

export const useSystem = () => useQuery({ ...queryFor('GET /operate/system', {}), refetchInterval: EVERY_MS })

/** The number of open funding requests, 0 for owners. */
export function usePendingFundingRequests(): number {
  const { person } = useSession()
  const { data } = useFundingRequests({ enabled: person.role === 'operator' })
  return itemsOf(data).length
}
