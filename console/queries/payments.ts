import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { pagedQueryFor, queryFor } from './query.ts'

const WAITING_MS = 2_000

export const useCard = () => useQuery({ ...queryFor('GET /card', {}), refetchInterval: 15_000 })

export const usePayments = () => useInfiniteQuery(pagedQueryFor('GET /payments', {}))

/** Asked again while it is open, because the provider may still be working on it. */
export const usePayment = (payment: string) =>
  useQuery({
    ...queryFor('GET /payments/:payment', { params: { payment } }),
    refetchInterval: ({ state }) => (state.data === undefined || state.data.state === 'open' ? WAITING_MS : false),
  })

export const usePlansSold = () => useQuery(queryFor('GET /plans/sold', {}))

/** Of all accounts; only operators may query this. */
export const useAllPayments = (owed: boolean) =>
  useInfiniteQuery(pagedQueryFor('GET /operate/payments', { query: owed ? { owed: 'true' } : {} }))
