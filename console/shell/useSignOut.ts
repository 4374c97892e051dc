import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useAct } from '../questions/acts.ts'
import { sessionQuestion } from '../questions/session.ts'

/** Ends the session and forgets everything that was shown in it. */
export function useSignOut(): () => void {
  const client = useQueryClient()
  const navigate = useNavigate()
  const { mutate } = useAct('DELETE /session', {
    onDone: () => {
      // What is still on the page belongs to somebody: it goes first, and only then what it shows.
      client.removeQueries({ queryKey: sessionQuestion.queryKey })
      void navigate({ to: '/sign-in', search: {} }).then(() => client.clear())
    },
  })
  return () => mutate({})
}
