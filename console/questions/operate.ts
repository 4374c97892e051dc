import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { pagesOf, questionOf } from './question.ts'

const EVERY_MS = 5_000

/** Everybody, or those that have the words in e-mail or id. */
export const useAccounts = (search: string) =>
  useInfiniteQuery(pagesOf('GET /operate/accounts', { query: search === '' ? {} : { search } }))

export const useAccount = (account: string) =>
  useQuery(questionOf('GET /operate/accounts/:account', { params: { account } }))

/** The funding requests of all accounts. Only an operator may query them. */
export const useWishes = ({ enabled = true }: { readonly enabled?: boolean } = {}) =>
  useInfiniteQuery({ ...pagesOf('GET /operate/wishes', {}), refetchInterval: 15_000, enabled })

export const useCodes = () => useInfiniteQuery(pagesOf('GET /operate/codes', {}))

/** All that the configuration offers. */
export const usePlans = () => useQuery(questionOf('GET /operate/plans', {}))

/** Lanes of all models, as their health is now. */
export const useLanes = () => useQuery({ ...questionOf('GET /operate/lanes', {}), refetchInterval: EVERY_MS })

/** A request of anybody, live while it runs. */
export const useFoundRequest = (request: string) =>
  useQuery({
    ...questionOf('GET /operate/requests/:request', { params: { request } }),
    refetchInterval: ({ state }) => (state.data?.request.state === 'open' ? 2_000 : false),
  })

export const useAuditOfAll = () => useInfiniteQuery(pagesOf('GET /operate/audit', {}))

export const useSystem = () => useQuery({ ...questionOf('GET /operate/system', {}), refetchInterval: EVERY_MS })
