import { useQueryClient } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { asProblem } from '../../lib/console-problem.ts'
import { useAct } from '../../questions/acts.ts'
import { sessionQuestion, useInvitation } from '../../questions/session.ts'
import { homeOf } from '../../shell/areas.ts'
import { addressOf } from '../../shell/landing.ts'
import { setupCode } from '../../shell/setup-code.ts'
import { Skeleton } from '../../ui/Answer.tsx'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { TextField } from '../../ui/Field.tsx'
import { Form } from '../../ui/Form.tsx'
import { NewPasswordField } from '../../ui/NewPasswordField.tsx'
import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { TimeText } from '../../ui/Time.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { FrontDoor } from './FrontDoor.tsx'

/** The first page that anybody ever sees: a code becomes a person with a password. */
export function SetUpPage() {
  const { setUp } = useWords().people
  const [code, setCode] = useState(setupCode())
  const { data: invitation, error } = useInvitation(code)

  if (code === undefined) {
    return (
      <FrontDoor title={setUp.operator}>
        <CodeForm onCode={setCode} />
      </FrontDoor>
    )
  }
  if (invitation === undefined) {
    return (
      <FrontDoor title={setUp.operator}>
        {error === null ? <Skeleton /> : <Useless error={error} onAgain={() => setCode(undefined)} />}
      </FrontDoor>
    )
  }
  const { role, resets, email } = invitation
  return (
    <FrontDoor
      title={resets ? setUp.resets : setUp[role]}
      about={resets ? setUp.resetsText(email ?? '') : role === 'operator' ? setUp.operatorText : setUp.ownerText}
    >
      <SignUpForm code={code} invitation={invitation} />
    </FrontDoor>
  )
}

function CodeForm({ onCode }: { onCode: (code: string) => void }) {
  const { setUp } = useWords().people
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
    </Form>
  )
}

function Useless({ error, onAgain }: { error: unknown; onAgain: () => void }) {
  const { common, people } = useWords()
  return (
    <div className="grid gap-4">
      {asProblem(error).code === 'invite_not_valid' && <p>{people.setUp.useless}</p>}
      <ProblemNote error={error} />
      <div className="flex flex-wrap justify-center gap-2">
        <Button onClick={onAgain}>{common.retry}</Button>
        <Link to="/sign-in" className={buttonClass('quiet')}>
          {people.setUp.toSignIn}
        </Link>
      </div>
    </div>
  )
}

interface SignUpFormProps {
  readonly code: string
  readonly invitation: AnswerOf<'POST /invitation'>
}

function SignUpForm({ code, invitation }: SignUpFormProps) {
  const { people } = useWords()
  const client = useQueryClient()
  const router = useRouter()
  const [email, setEmail] = useState(invitation.email ?? '')
  const [password, setPassword] = useState('')
  const signUp = useAct('POST /sign-up', {
    problem: 'shown-here',
    onDone: (standing) => {
      client.setQueryData(sessionQuestion.queryKey, standing)
      router.history.replace(addressOf(standing.person === null ? '/sign-in' : homeOf(standing.person)))
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
      {signUp.error !== null && <ProblemNote error={signUp.error} />}
      <Button tone="primary" type="submit" busy={signUp.isPending} className="min-h-10">
        {people.setUp.go}
      </Button>
      <p className="text-center text-xs text-faint">
        <TimeText say={people.setUp.expires} at={invitation.expires_at} />
      </p>
    </Form>
  )
}
