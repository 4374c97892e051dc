import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

/** Browsers that are signed in as this person. */
export const useSessions = () => useQuery(questionOf('GET /sessions', {}))
