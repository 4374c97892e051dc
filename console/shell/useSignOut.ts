import { holdPage, leavePage } from '../lib/leave-page.ts'
import { useApiMutation } from '../queries/mutations.ts'
import { signInAddress } from './landing.ts'

/** Ends the session and leaves everything that was shown in it. */
export function useSignOut(): () => void {
  const { mutateAsync } = useApiMutation('DELETE /session', { onDone: () => leavePage(signInAddress()) })
  return () => {
    // A question of the page may hear of it sooner, and would leave as if the session had ended by itself.
    const letGo = holdPage()
    void mutateAsync({}).catch(ignore).finally(letGo)
  }
}

/** Said in a toast already. */
const ignore = () => {}
