import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useAct } from '../../questions/useAct.ts'
import { sessionQuestion } from '../../questions/useSession.ts'
import { homeOf } from '../../shell/areas.ts'
import { addressOf } from '../../shell/landing.ts'
import { Button } from '../../ui/Button.tsx'
import { NewPasswordField } from '../../ui/NewPasswordField.tsx'
import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { TimeText } from '../../ui/TimeText.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

interface SignUpFormProps {
  readonly code: string
  readonly invitation: AnswerOf<'GET /invitation'>
}

export function SignUpForm({ code, invitation }: SignUpFormProps) {
  const { people } = useWords()
  const client = useQueryClient()
  const router = useRouter()
  const [email, setEmail] = useState(invitation.email ?? '')
  const [password, setPassword] = useState('')
  const signUp = useAct('POST /sign-up', {
    changes: [],
    problem: 'shown-here',
    onDone: (standing) => {
      client.setQueryData(sessionQuestion.queryKey, standing)
      router.history.replace(addressOf(standing.person === null ? '/sign-in' : homeOf(standing.person)))
    },
  })
  const send = (event: FormEvent) => {
    event.preventDefault()
    signUp.mutate({ body: { code, password, ...(invitation.email === null && { email: email.trim() }) } })
  }
  return (
    <form className="grid gap-4" onSubmit={send}>
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
    </form>
  )
}
