import { useInfiniteQuery } from '@tanstack/react-query'
import { pagesOf } from './question.ts'

export const useCodes = () => useInfiniteQuery(pagesOf('GET /operate/codes', {}))
