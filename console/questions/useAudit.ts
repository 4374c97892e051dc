import { useInfiniteQuery } from '@tanstack/react-query'
import { pagesOf } from './question.ts'

/** The trail of one's own account. */
export const useAudit = () => useInfiniteQuery(pagesOf('GET /audit', {}))
