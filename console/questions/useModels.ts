import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

/** The models that this account can call, with their prices. */
export const useModels = () => useQuery({ ...questionOf('GET /models', {}), staleTime: 30_000 })
