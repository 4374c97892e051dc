import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useAct } from '../../questions/useAct.ts'
import { sessionQuestion } from '../../questions/useSession.ts'
import { homeOf } from '../../shell/areas.ts'
import { addressOf } from '../../shell/landing.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { PasswordInput } from '../../ui/PasswordInput.tsx'
import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { TextInput } from '../../ui/TextInput.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'

const PASSWORD_MIN = 10

interface SignUpFormProps {
  readonly code: string
  readonly invitation: AnswerOf<'GET /invitation'>
}

export function SignUpForm({ code, invitation }: SignUpFormProps) {
  const { people } = useWords()
  const formats = useFormats()
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
      <Field label={people.email}>
        {(control) => (
          <TextInput
            {...control}
            type="email"
            autoComplete="username"
            required
            readOnly={invitation.email !== null}
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        )}
      </Field>
      <Field label={people.newPassword} hint={people.newPasswordHint}>
        {(control) => (
          <PasswordInput
            {...control}
            autoComplete="new-password"
            required
            minLength={PASSWORD_MIN}
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        )}
      </Field>
      {signUp.error !== null && <ProblemNote error={signUp.error} />}
      <Button tone="primary" type="submit" busy={signUp.isPending} className="min-h-10">
        {people.setUp.go}
      </Button>
      <p className="text-center text-xs text-faint">{people.setUp.expires(formats.time(invitation.expires_at))}</p>
    </form>
  )
}
