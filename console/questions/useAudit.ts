import { useInfiniteQuery } from '@tanstack/react-query'
import { pagesOf } from './question.ts'

/** The trail of one's own account, or of one thing in it by its id. */
export const useAudit = (target?: string) => useInfiniteQuery(pagesOf('GET /audit', { query: { target } }))
