import { useState } from 'react'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { useApiMutation } from '../queries/mutations.ts'
import { usePasskey } from '../queries/passkeys.ts'
import { useSession } from '../queries/session.ts'
import { Form, FormEnd, TextField } from '../ui/Form.tsx'
import { PasswordInput } from '../ui/inputs.tsx'
import { hasPasskeys, PasskeyButton } from '../ui/PasskeyButton.tsx'
import { useProblemText } from '../ui/QueryView.tsx'

/** Resolves the prompt, with false when the person cancels. */
export function PasswordForm({ onDone }: { onDone: (confirmed: boolean) => void }) {
  const { shell, common } = useMessages()
  const { person, session } = useSession()
  const textOf = useProblemText()
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const passkey = usePasskey('POST /session/confirm/passkey', () => onDone(true))
  const needsCode = session.factors?.code === true
  const confirm = useApiMutation('POST /session/confirm', {
    problem: 'shown-here',
    onDone: () => onDone(true),
  })
  const isAboutCode = confirm.error?.param === 'code'
  const error = confirm.error === null ? undefined : textOf(confirm.error)
  return (
    <Form onSend={() => confirm.mutate({ body: { password, ...(needsCode && { code: code.trim() }) } })}>
      <p className="text-soft">{shell.confirm.text}</p>
      {session.factors?.passkey === true && hasPasskeys() && <PasskeyButton passkey={passkey} />}
      <input type="hidden" name="username" autoComplete="username" value={person.email} />
      <TextField
        as={PasswordInput}
        label={shell.confirm.password}
        error={isAboutCode ? undefined : error}
        autoFocus
        required
        autoComplete="current-password"
        value={password}
        onText={setPassword}
      />
      {needsCode && (
        <TextField
          label={common.code}
          hint={common.codeHint}
          error={isAboutCode ? error : undefined}
          required
          autoComplete="one-time-code"
          spellCheck={false}
          value={code}
          onText={setCode}
        />
      )}
      <FormEnd
        mutation={confirm}
        errorShownAtField
        go={shell.confirm.go}
        disabled={password === ''}
        onCancel={() => onDone(false)}
      />
    </Form>
  )
}
