import { useState, useSyncExternalStore } from 'react'
import { useAct } from '../questions/useAct.ts'
import { useSession } from '../questions/useSession.ts'
import { Dialog } from '../ui/Dialog.tsx'
import { FormEnd } from '../ui/FormEnd.tsx'
import { PasswordInput } from '../ui/PasswordInput.tsx'
import { TextField } from '../ui/TextField.tsx'
import { useProblemText } from '../ui/useProblemText.ts'
import { useWords } from '../words/WordsProvider.tsx'
import { answerPassword, isPasswordAsked, onPasswordAsked } from './ask-password.ts'

/** Shown when the server wants to be sure who is there, before keys are made or money moves. */
export function ConfirmPassword() {
  const { shell } = useWords()
  const asked = useSyncExternalStore(onPasswordAsked, isPasswordAsked)
  return (
    <Dialog title={shell.confirm.title} open={asked} onClose={() => answerPassword(false)}>
      <PasswordForm />
    </Dialog>
  )
}

function PasswordForm() {
  const { shell } = useWords()
  const { person } = useSession()
  const textOf = useProblemText()
  const [password, setPassword] = useState('')
  const confirm = useAct('POST /session/confirm', {
    changes: ['GET /session'],
    problem: 'shown-here',
    onDone: () => answerPassword(true),
  })
  return (
    <form
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        confirm.mutate({ body: { password } })
      }}
    >
      <p className="text-soft">{shell.confirm.text}</p>
      <input type="hidden" name="username" autoComplete="username" value={person.email} />
      <TextField
        as={PasswordInput}
        label={shell.confirm.password}
        error={confirm.error === null ? undefined : textOf(confirm.error)}
        data-autofocus
        required
        autoComplete="current-password"
        value={password}
        onText={setPassword}
      />
      <FormEnd
        act={confirm}
        isSaid
        go={shell.confirm.go}
        disabled={password === ''}
        onCancel={() => answerPassword(false)}
      />
    </form>
  )
}
