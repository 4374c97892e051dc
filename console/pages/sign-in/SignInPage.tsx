import { useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useAct } from '../../questions/useAct.ts'
import { sessionQuestion, useStanding } from '../../questions/useSession.ts'
import { homeOf } from '../../shell/areas.ts'
import { FrontDoor } from '../../shell/FrontDoor.tsx'
import { addressOf, landingOf } from '../../shell/landing.ts'
import { Button } from '../../ui/Button.tsx'
import { PasswordInput } from '../../ui/PasswordInput.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { SignInRefusal } from './SignInRefusal.tsx'

export function SignInPage() {
  const { people } = useWords()
  // Looked at here once more: the router also hands on what the route's own check has left out.
  const { next } = landingOf(useSearch({ from: '/sign-in' }))
  const { setup_needed } = useStanding()
  return (
    <FrontDoor title={people.signIn.title} about={next === undefined ? undefined : people.signIn.ended}>
      {setup_needed ? <p>{people.signIn.setupNeeded}</p> : <SignInForm next={next} />}
    </FrontDoor>
  )
}

function SignInForm({ next }: { next: string | undefined }) {
  const { people } = useWords()
  const client = useQueryClient()
  const router = useRouter()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const signIn = useAct('POST /session', {
    changes: [],
    problem: 'shown-here',
    onDone: (standing) => {
      if (standing.person === null) return
      client.setQueryData(sessionQuestion.queryKey, standing)
      router.history.replace(addressOf(next ?? homeOf(standing.person)))
    },
  })
  const send = (event: FormEvent) => {
    event.preventDefault()
    signIn.mutate({ body: { email: email.trim(), password } })
  }
  return (
    <form className="grid gap-4" onSubmit={send}>
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
      {signIn.error !== null && <SignInRefusal key={signIn.submittedAt} problem={signIn.error} />}
      <Button tone="primary" type="submit" busy={signIn.isPending} className="min-h-10">
        {people.signIn.go}
      </Button>
      <p className="text-center text-xs text-faint">{people.signIn.forgotten}</p>
    </form>
  )
}
