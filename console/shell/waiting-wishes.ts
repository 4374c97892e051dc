import { useWishes } from '../questions/operate.ts'
import { itemsOf } from '../questions/question.ts'
import { useSession } from '../questions/session.ts'

/** How many accounts wait for funds; 0 for anybody but an operator. */
export function useWaitingWishes(): number {
  const { person } = useSession()
  const { data } = useWishes({ enabled: person.role === 'operator' })
  return itemsOf(data).length
}
