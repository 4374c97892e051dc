import { useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { usePasskey } from '../../queries/passkeys.ts'
import { type SessionState, sessionQuery, useSession } from '../../queries/session.ts'
import { useSignOut } from '../../shell/AccountMenu.tsx'
import { ConfirmPassword } from '../../shell/ConfirmPassword.tsx'
import { addressOf, landingOf } from '../../shell/landing.ts'
import { homeOf } from '../../shell/nav-items.ts'
import { Button } from '../../ui/Button.tsx'
import { Form, TextField } from '../../ui/Form.tsx'
import { hasPasskeys, PasskeyButton } from '../../ui/PasskeyButton.tsx'
import { ProblemNote } from '../../ui/QueryView.tsx'
import { SignInLayout } from '../../ui/SignInLayout.tsx'
import { FactorPanels } from './FactorPanels.tsx'

/** For a person who needs a second step and has not given it in this session. Nothing else is open to them. */
export function SecondStepPage() {
  const { secondStep } = useMessages().people
  const { shell } = useMessages()
  const { person, session } = useSession()
  const { next } = landingOf(useSearch({ from: '/second-step' }))
  const router = useRouter()
  const signOut = useSignOut()
  // It stays while the recovery codes of a new second step are shown.
  const [wasNeeded] = useState(session.second_factor)
  const goOn = () => router.history.replace(addressOf(next ?? homeOf(person)))
  return (
    <SignInLayout
      title={secondStep.title}
      about={wasNeeded === 'enrol' ? secondStep.add : secondStep.give}
      isWide={wasNeeded === 'enrol'}
    >
      {wasNeeded === 'enrol' ? <FactorPanels /> : <GiveForm onDone={goOn} />}
      <div className="mt-4 flex flex-wrap justify-center gap-3">
        {wasNeeded === 'enrol' && session.second_factor === null && (
          <Button tone="primary" onClick={goOn}>
            {secondStep.goOn}
          </Button>
        )}
        <Button onClick={signOut}>{shell.signOut}</Button>
      </div>
      <ConfirmPassword />
    </SignInLayout>
  )
}

function GiveForm({ onDone }: { onDone: () => void }) {
  const { common, people } = useMessages()
  const { factors } = useSession().session
  const client = useQueryClient()
  const [code, setCode] = useState('')
  const goOn = (session: SessionState) => {
    client.setQueryData(sessionQuery.queryKey, session)
    onDone()
  }
  const give = useApiMutation('POST /session/factor', { problem: 'shown-here', onDone: goOn })
  const passkey = usePasskey('POST /session/confirm/passkey', goOn)
  return (
    <Form onSend={() => give.mutate({ body: { code: code.trim() } })}>
      {factors?.passkey === true && hasPasskeys() && <PasskeyButton passkey={passkey} />}
      <TextField
        label={common.code}
        hint={common.codeHint}
        required
        autoFocus
        autoComplete="one-time-code"
        spellCheck={false}
        value={code}
        onText={setCode}
      />
      {give.error !== null && <ProblemNote error={give.error} />}
      <Button tone="primary" type="submit" busy={give.isPending} disabled={code.trim() === ''}>
        {people.secondStep.goOn}
      </Button>
    </Form>
  )
}
