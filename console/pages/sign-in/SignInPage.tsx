import { useQueryClient } from '@tanstack/react-query'
import { Link, useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { now, useNow } from '../../lib/clock.ts'
import type { ConsoleProblem } from '../../lib/console-problem.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { usePasskey } from '../../queries/passkeys.ts'
import { type SessionState, sessionQuery, useSessionState } from '../../queries/session.ts'
import { addressOf, landingOf } from '../../shell/landing.ts'
import { homeOf } from '../../shell/nav-items.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Form, TextField } from '../../ui/Form.tsx'
import { PasswordInput } from '../../ui/inputs.tsx'
import { hasPasskeys, PasskeyButton } from '../../ui/PasskeyButton.tsx'
import { ProblemNote } from '../../ui/QueryView.tsx'
import { SignInLayout } from '../../ui/SignInLayout.tsx'
import { SignOnButtons, SignOnRefusal } from './sign-on-parts.tsx'

export function SignInPage() {
  const { people } = useMessages()
  // The router also passes on parameters that the route's validation dropped.
  const { next, problem } = landingOf(useSearch({ from: '/sign-in' }))
  const { setup_needed, sign_on } = useSessionState()
  return (
    <SignInLayout title={people.signIn.title} about={next === undefined ? undefined : people.signIn.ended}>
      {problem !== undefined && <SignOnRefusal problem={problem} />}
      {!setup_needed && sign_on.length > 0 && <SignOnButtons next={next} />}
      {setup_needed ? <SetUpFirst /> : <SignInForm next={next} />}
    </SignInLayout>
  )
}

/** The server has no user yet. */
function SetUpFirst() {
  const { signIn } = useMessages().people
  return (
    <div className="grid gap-4">
      <p>{signIn.setupNeeded}</p>
      <Link to="/setup" className={buttonClass('primary')}>
        {signIn.haveCode}
      </Link>
    </div>
  )
}

function SignInForm({ next }: { next: string | undefined }) {
  const { people, common } = useMessages()
  const client = useQueryClient()
  const router = useRouter()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState<string>()
  const onDone = (session: SessionState) => {
    if (session.person === null) return
    client.setQueryData(sessionQuery.queryKey, session)
    router.history.replace(addressOf(next ?? homeOf(session.person)))
  }
  const signIn = useApiMutation('POST /session', { problem: 'shown-here', onDone })
  const passkey = usePasskey('POST /session/passkey', onDone)
  const send = () => {
    const body = { email: email.trim(), password, ...(code !== undefined && { code: code.trim() }) }
    // The code is asked for once the password was right.
    signIn.mutate({ body }, { onError: (problem) => problem.code === 'code_needed' && setCode('') })
  }
  return (
    <Form onSend={send}>
      <TextField
        label={people.email}
        type="email"
        autoComplete="username"
        required
        autoFocus
        value={email}
        onText={setEmail}
      />
      <TextField
        as={PasswordInput}
        label={people.password}
        autoComplete="current-password"
        required
        value={password}
        onText={setPassword}
      />
      {code !== undefined && (
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
      )}
      {signIn.error !== null && <SignInRefusal key={signIn.submittedAt} problem={signIn.error} />}
      <Button tone="primary" type="submit" busy={signIn.isPending} className="min-h-10">
        {people.signIn.go}
      </Button>
      {hasPasskeys() && <PasskeyButton passkey={passkey} />}
      <p className="text-center text-xs text-faint">{people.signIn.forgotten}</p>
    </Form>
  )
}

/** The same message for an unknown email and a wrong password. */
function SignInRefusal({ problem }: { problem: ConsoleProblem }) {
  const { people } = useMessages()
  if (problem.status === 429 && problem.retryAfter !== null) return <Locked seconds={problem.retryAfter} />
  if (problem.code === 'wrong_password') return <Refused text={people.signIn.refused} />
  if (problem.code === 'code_needed') return <Refused text={people.signIn.codeNeeded} />
  if (problem.code === 'password_off') return <Refused text={people.signOn.passwordOff} />
  if (problem.code === 'too_many_tries') return <Refused text={people.signIn.tooMany} />
  return <ProblemNote error={problem} />
}

function Locked({ seconds }: { seconds: number }) {
  const { people } = useMessages()
  const formats = useFormats()
  const [until] = useState(() => now() + seconds * 1_000)
  const left = Math.max(0, Math.ceil((until - useNow(1_000)) / 1_000)) * 1_000
  if (left === 0) return null
  return (
    <>
      {/* Announced once, because a countdown would be announced every second. */}
      <p role="alert" className="sr-only">
        {people.signIn.locked(formats.duration(seconds * 1_000))}
      </p>
      <p role="timer" aria-live="off" className={REFUSAL}>
        {people.signIn.locked(formats.duration(left))}
      </p>
    </>
  )
}

const Refused = ({ text }: { text: string }) => (
  <p role="alert" className={REFUSAL}>
    {text}
  </p>
)

const REFUSAL = 'figures rounded-md bg-bad-wash px-3 py-2 font-medium text-bad'
