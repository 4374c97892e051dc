import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { AnswerOf, QueryOf } from '../../src/contract/console-api.ts'
import { pagedQueryFor, queryFor } from './query.ts'

/** Keeps the previous range visible while the next one loads. */
const SLOWLY = { placeholderData: keepPreviousData, refetchInterval: 30_000 }

export type Served = AnswerOf<'GET /operate/overview'>

export const useServed = (query: QueryOf<'GET /operate/overview'>) =>
  useQuery({ ...queryFor('GET /operate/overview', { query }), ...SLOWLY })

export const useLaneCalls = () => useQuery({ ...queryFor('GET /operate/lanes/calls', {}), refetchInterval: 15_000 })

export type OperatedRequest = AnswerOf<'GET /operate/requests'>['items'][number]

export const useAllRequests = (query: QueryOf<'GET /operate/requests'>) =>
  useInfiniteQuery({ ...pagedQueryFor('GET /operate/requests', { query }), placeholderData: keepPreviousData })

export const useKeysOf = (account: string) =>
  useInfiniteQuery(pagedQueryFor('GET /operate/accounts/:account/keys', { params: { account }, query: {} }))

export const useUsageOf = (account: string, query: QueryOf<'GET /operate/accounts/:account/usage'>) =>
  useQuery({ ...queryFor('GET /operate/accounts/:account/usage', { params: { account }, query }), ...SLOWLY })

/** Its charges by days of this zone. */
export const useStatementOf = (account: string, zone: string) =>
  useInfiniteQuery(
    pagedQueryFor('GET /operate/accounts/:account/statement', { params: { account }, query: { by: 'day', zone } }),
  )

export type Invoice = AnswerOf<'GET /invoice'>

export const useInvoice = (query: QueryOf<'GET /invoice'>) =>
  useQuery({ ...queryFor('GET /invoice', { query }), placeholderData: keepPreviousData })

export const useInvoiceOf = (account: string, query: QueryOf<'GET /invoice'>) =>
  useQuery({
    ...queryFor('GET /operate/accounts/:account/invoice', { params: { account }, query }),
    placeholderData: keepPreviousData,
  })
