import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useInvitation } from '../../questions/useInvitation.ts'
import { FrontDoor } from '../../shell/FrontDoor.tsx'
import { setupCode } from '../../shell/setup-code.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { SignUpForm } from './SignUpForm.tsx'

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
  const send = (event: FormEvent) => {
    event.preventDefault()
    if (typed.trim() !== '') onCode(typed.trim())
  }
  return (
    <form className="grid gap-4" onSubmit={send}>
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
    </form>
  )
}

function Useless({ error, onAgain }: { error: unknown; onAgain: () => void }) {
  const { common, people } = useWords()
  return (
    <div className="grid gap-4">
      <p>{people.setUp.useless}</p>
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
