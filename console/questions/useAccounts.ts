import { useInfiniteQuery } from '@tanstack/react-query'
import { pagesOf } from './question.ts'

/** Everybody, or those that have the words in e-mail or id. */
export const useAccounts = (search: string) =>
  useInfiniteQuery(pagesOf('GET /operate/accounts', { query: search === '' ? {} : { search } }))
