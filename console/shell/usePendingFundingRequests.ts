import { useFundingRequests } from '../queries/operate.ts'
import { itemsOf } from '../queries/query.ts'
import { useSession } from '../queries/session.ts'

/** How many accounts wait for funds; 0 for anybody but an operator. */
export function usePendingFundingRequests(): number {
  const { person } = useSession()
  const { data } = useFundingRequests({ enabled: person.role === 'operator' })
  return itemsOf(data).length
}
