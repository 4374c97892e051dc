import { useEffect, useState, useSyncExternalStore } from 'react'
import { useAct } from '../questions/acts.ts'
import { useSession } from '../questions/session.ts'
import { Dialog } from '../ui/Dialog.tsx'
import { TextField } from '../ui/Field.tsx'
import { Form, FormEnd } from '../ui/Form.tsx'
import { PasswordInput } from '../ui/PasswordInput.tsx'
import { useProblemText } from '../ui/ProblemNote.tsx'
import { useWords } from '../words/WordsProvider.tsx'

/** Shown when the server wants to be sure who is there, before keys are made or money moves. */
export function ConfirmPassword() {
  const { shell } = useWords()
  const asked = useSyncExternalStore(onPasswordAsked, isPasswordAsked)
  useEffect(() => dropPasswordQuestion, [])
  return (
    <Dialog title={shell.confirm.title} open={asked} onClose={dropPasswordQuestion}>
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
    problem: 'shown-here',
    onDone: () => answerPassword(true),
  })
  return (
    <Form onSend={() => confirm.mutate({ body: { password } })}>
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
      <FormEnd act={confirm} isSaid go={shell.confirm.go} disabled={password === ''} onCancel={dropPasswordQuestion} />
    </Form>
  )
}

let waiting: ((confirmed: boolean) => void)[] = []
const listeners = new Set<() => void>()

const tellAll = () => {
  for (const listener of listeners) listener()
}

/** Opens the question for the password; several acts that need it at once share one answer. */
export const askPassword = (): Promise<boolean> =>
  new Promise((resolve) => {
    waiting = [...waiting, resolve]
    tellAll()
  })

function answerPassword(confirmed: boolean): void {
  const told = waiting
  waiting = []
  tellAll()
  for (const tell of told) tell(confirmed)
}

/** Whoever was asked is gone, or would rather not: what waits for it is not done. */
export const dropPasswordQuestion = (): void => answerPassword(false)

const isPasswordAsked = (): boolean => waiting.length > 0

function onPasswordAsked(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
