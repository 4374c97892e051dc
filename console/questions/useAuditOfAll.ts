import { useInfiniteQuery } from '@tanstack/react-query'
import { pagesOf } from './question.ts'

export const useAuditOfAll = () => useInfiniteQuery(pagesOf('GET /operate/audit', {}))
