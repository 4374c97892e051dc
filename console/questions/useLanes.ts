import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

/** Lanes of all models, as their health is now. */
export const useLanes = () => useQuery({ ...questionOf('GET /operate/lanes', {}), refetchInterval: 5_000 })
