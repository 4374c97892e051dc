import { useState } from 'react'
import { useApiMutation } from '../../queries/mutations.ts'
import { useSession } from '../../queries/session.ts'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/Field.tsx'
import { Form } from '../../ui/Form.tsx'
import { NewPasswordField } from '../../ui/NewPasswordField.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { PasswordInput } from '../../ui/PasswordInput.tsx'
import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'

export function PasswordPanel() {
  const { settings } = useMessages()
  const { person } = useSession()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const change = useApiMutation('PUT /password', {
    done: settings.changed,
    problem: 'shown-here',
    onDone: () => {
      setCurrent('')
      setNext('')
    },
  })
  const send = () => {
    change.mutate({ body: { current, next } })
  }
  const { error } = change
  const isWrong = error?.code === 'wrong_password'
  return (
    <Panel title={settings.password} about={settings.passwordAbout}>
      <Form className="grid gap-4 py-1 sm:grid-cols-2" onSend={send}>
        <input type="hidden" name="username" autoComplete="username" value={person.email} />
        <TextField
          as={PasswordInput}
          label={settings.current}
          error={isWrong ? settings.wrong : undefined}
          autoComplete="current-password"
          required
          value={current}
          onText={setCurrent}
        />
        <NewPasswordField value={next} onText={setNext} />
        {error !== null && !isWrong && (
          <div className="sm:col-span-2">
            <ProblemNote error={error} />
          </div>
        )}
        <div className="sm:col-span-2">
          <Button tone="primary" type="submit" busy={change.isPending}>
            {settings.change}
          </Button>
        </div>
      </Form>
    </Panel>
  )
}
