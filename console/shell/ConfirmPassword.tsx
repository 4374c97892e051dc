import { useEffect, useState, useSyncExternalStore } from 'react'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { useApiMutation } from '../queries/mutations.ts'
import { useSession } from '../queries/session.ts'
import { Dialog } from '../ui/Dialog.tsx'
import { Form, FormEnd, TextField } from '../ui/Form.tsx'
import { PasswordInput } from '../ui/inputs.tsx'
import { useProblemText } from '../ui/QueryView.tsx'

export function ConfirmPassword() {
  const { shell } = useMessages()
  const isOpen = useSyncExternalStore(onPasswordPrompt, isPasswordPromptOpen)
  useEffect(() => cancelPasswordPrompt, [])
  return (
    <Dialog title={shell.confirm.title} open={isOpen} onClose={cancelPasswordPrompt}>
      <PasswordForm />
    </Dialog>
  )
}

function PasswordForm() {
  const { shell } = useMessages()
  const { person } = useSession()
  const textOf = useProblemText()
  const [password, setPassword] = useState('')
  const confirm = useApiMutation('POST /session/confirm', {
    problem: 'shown-here',
    onDone: () => resolvePasswordPrompt(true),
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
      <FormEnd
        mutation={confirm}
        errorShownAtField
        go={shell.confirm.go}
        disabled={password === ''}
        onCancel={cancelPasswordPrompt}
      />
    </Form>
  )
}

let waiting: ((confirmed: boolean) => void)[] = []
const listeners = new Set<() => void>()

const notifyListeners = () => {
  for (const listener of listeners) listener()
}

/** Opens the password dialog. Concurrent mutations share one answer. */
export const requestPassword = (): Promise<boolean> =>
  new Promise((resolve) => {
    waiting = [...waiting, resolve]
    notifyListeners()
  })

function resolvePasswordPrompt(confirmed: boolean): void {
  const resolvers = waiting
  waiting = []
  notifyListeners()
  for (const resolve of resolvers) resolve(confirmed)
}

export const cancelPasswordPrompt = (): void => resolvePasswordPrompt(false)

const isPasswordPromptOpen = (): boolean => waiting.length > 0

function onPasswordPrompt(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
