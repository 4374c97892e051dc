import { useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { announceConfirmation } from '../../shell/confirmation.ts'
import { landingOf } from '../../shell/landing.ts'
import { SignInLayout } from '../../ui/SignInLayout.tsx'
import { SignOnRefusal } from './sign-on-parts.tsx'

/** Where a provider sends the window back that a confirmation has opened. */
export function ConfirmedPage() {
  const { signOn } = useMessages().people
  const { problem } = landingOf(useSearch({ from: '/confirmed' }))
  useEffect(() => {
    if (problem !== undefined) return
    announceConfirmation()
    window.close()
  }, [problem])
  return (
    <SignInLayout title={problem === undefined ? signOn.confirmed : signOn.notConfirmed}>
      {problem === undefined ? <p>{signOn.closeWindow}</p> : <SignOnRefusal problem={problem} />}
    </SignInLayout>
  )
}
