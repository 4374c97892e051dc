import { leavePage } from '../lib/leave-page.ts'
import { useAct } from '../questions/acts.ts'
import { signInAddress } from './landing.ts'

/** Ends the session and leaves everything that was shown in it. */
export function useSignOut(): () => void {
  const { mutate } = useAct('DELETE /session', { onDone: () => leavePage(signInAddress()) })
  return () => mutate({})
}
