import { useState, useSyncExternalStore } from 'react'
import { useAct } from '../questions/useAct.ts'
import { useSession } from '../questions/useSession.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog, DialogActions } from '../ui/Dialog.tsx'
import { Field } from '../ui/Field.tsx'
import { PasswordInput } from '../ui/PasswordInput.tsx'
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
  const { shell, common } = useWords()
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
      <Field label={shell.confirm.password} error={confirm.error === null ? undefined : textOf(confirm.error)}>
        {(control) => (
          <PasswordInput
            {...control}
            data-autofocus
            required
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        )}
      </Field>
      <DialogActions>
        <Button onClick={() => answerPassword(false)}>{common.cancel}</Button>
        <Button tone="primary" type="submit" busy={confirm.isPending} disabled={password === ''}>
          {shell.confirm.go}
        </Button>
      </DialogActions>
    </form>
  )
}
