import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

export const useSystem = () => useQuery({ ...questionOf('GET /operate/system', {}), refetchInterval: 5_000 })
