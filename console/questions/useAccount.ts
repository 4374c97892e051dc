import { useQuery } from '@tanstack/react-query'
import { questionOf } from './question.ts'

export const useAccount = (account: string) =>
  useQuery(questionOf('GET /operate/accounts/:account', { params: { account } }))
