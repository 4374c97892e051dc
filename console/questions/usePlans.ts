import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

/** All that the configuration offers. */
export const usePlans = () => useQuery(questionOf('GET /operate/plans', {}))
