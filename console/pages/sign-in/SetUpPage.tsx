import { useQueryClient } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { asProblem } from '../../lib/console-problem.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { sessionQuery, useInvitation, useSessionState } from '../../queries/session.ts'
import { addressOf, setupCode } from '../../shell/landing.ts'
import { homeOf } from '../../shell/nav-items.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Form, TextField } from '../../ui/Form.tsx'
import { NewPasswordField } from '../../ui/NewPasswordField.tsx'
import { ProblemNote, Skeleton } from '../../ui/QueryView.tsx'
import { SignInLayout } from '../../ui/SignInLayout.tsx'
import { TimeText } from '../../ui/values.tsx'

export function SetUpPage() {
  const { setUp } = useMessages().people
  const [code, setCode] = useState(setupCode())
  const { data: invitation, error } = useInvitation(code)

  if (code === undefined) {
    return (
      <SignInLayout title={setUp.byCode}>
        <CodeForm onCode={setCode} />
      </SignInLayout>
    )
  }
  if (invitation === undefined) {
    return (
      <SignInLayout title={error === null ? setUp.byCode : setUp.uselessTitle}>
        {error === null ? <Skeleton /> : <Useless error={error} onAgain={() => setCode(undefined)} />}
      </SignInLayout>
    )
  }
  const { role, resets, email } = invitation
  return (
    <SignInLayout
      title={resets ? setUp.resets : role === 'operator' ? setUp.operator : setUp.owner}
      about={resets ? setUp.resetsText(email ?? '') : role === 'operator' ? setUp.operatorText : setUp.ownerText}
    >
      <SignUpForm code={code} invitation={invitation} />
    </SignInLayout>
  )
}

function CodeForm({ onCode }: { onCode: (code: string) => void }) {
  const { setUp } = useMessages().people
  const [typed, setTyped] = useState('')
  const send = () => {
    if (typed.trim() !== '') onCode(typed.trim())
  }
  return (
    <Form onSend={send}>
      <TextField
        label={setUp.code}
        hint={setUp.codeHint}
        spellCheck={false}
        autoCapitalize="characters"
        value={typed}
        onText={setTyped}
        className="font-mono"
      />
      <Button tone="primary" type="submit" disabled={typed.trim() === ''}>
        {setUp.check}
      </Button>
      <Elsewhere />
    </Form>
  )
}

/** Explains why a code does not work and what to do next. */
function Useless({ error, onAgain }: { error: unknown; onAgain?: () => void }) {
  const { setUp } = useMessages().people
  const { setup_needed } = useSessionState()
  const isSpent = asProblem(error).code === 'invite_not_valid'
  return (
    <div className="grid gap-4">
      {isSpent ? (
        <div role="alert" className="grid gap-2">
          <p className="font-medium">{setUp.useless}</p>
          <p>{setup_needed ? setUp.uselessAtFirst : setUp.uselessNext}</p>
        </div>
      ) : (
        <ProblemNote error={error} />
      )}
      {onAgain !== undefined && <Button onClick={onAgain}>{setUp.otherCode}</Button>}
      <Elsewhere />
    </div>
  )
}

function Elsewhere() {
  const { setUp } = useMessages().people
  const { person, setup_needed } = useSessionState()
  if (setup_needed) return null
  return person === null ? (
    <Link to="/sign-in" className={buttonClass('plain')}>
      {setUp.toSignIn}
    </Link>
  ) : (
    <Link to={homeOf(person)} className={buttonClass('plain')}>
      {setUp.goBack}
    </Link>
  )
}

interface SignUpFormProps {
  readonly code: string
  readonly invitation: AnswerOf<'POST /invitation'>
}

function SignUpForm({ code, invitation }: SignUpFormProps) {
  const { people } = useMessages()
  const client = useQueryClient()
  const router = useRouter()
  const [email, setEmail] = useState(invitation.email ?? '')
  const [password, setPassword] = useState('')
  const signUp = useApiMutation('POST /sign-up', {
    problem: 'shown-here',
    onDone: (session) => {
      client.setQueryData(sessionQuery.queryKey, session)
      router.history.replace(addressOf(session.person === null ? '/sign-in' : homeOf(session.person)))
    },
  })
  const send = () => {
    signUp.mutate({ body: { code, password, ...(invitation.email === null && { email: email.trim() }) } })
  }
  return (
    <Form onSend={send}>
      <TextField
        label={people.email}
        type="email"
        autoComplete="username"
        required
        readOnly={invitation.email !== null}
        value={email}
        onText={setEmail}
      />
      <NewPasswordField value={password} onText={setPassword} />
      {signUp.error !== null && <Useless error={signUp.error} />}
      <Button tone="primary" type="submit" busy={signUp.isPending} className="min-h-10">
        {people.setUp.go}
      </Button>
      <p className="text-center text-xs text-faint">
        <TimeText message={people.setUp.expires} at={invitation.expires_at} />
      </p>
    </Form>
  )
}
