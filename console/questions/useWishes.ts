import { useInfiniteQuery } from '@tanstack/react-query'
import { pagesOf } from './question.ts'

/** For funds, of all accounts. */
export const useWishes = () => useInfiniteQuery(pagesOf('GET /operate/wishes', {}))
