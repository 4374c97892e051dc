import { useInfiniteQuery } from '@tanstack/react-query'
import { pagesOf } from './question.ts'

/** Most accounts have all of their keys in the first page, so that searching them needs no server. */
const PAGE = 200
/** What keys have spent changes while somebody looks. */
const EVERY_MS = 30_000

/** The keys of this account, newest first, revoked ones included. */
export const useKeys = () =>
  useInfiniteQuery({ ...pagesOf('GET /keys', { query: { limit: PAGE } }), refetchInterval: EVERY_MS })
