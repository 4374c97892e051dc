import { useMessages } from '../messages/MessagesProvider.tsx'
import { TextField } from './Form.tsx'
import { PasswordInput } from './inputs.tsx'

/** The server's minimum. */
const LENGTH_MIN = 10

export function NewPasswordField({ value, onText }: { value: string; onText: (password: string) => void }) {
  const { people } = useMessages()
  return (
    <TextField
      as={PasswordInput}
      label={people.newPassword}
      hint={people.newPasswordHint}
      autoComplete="new-password"
      required
      minLength={LENGTH_MIN}
      value={value}
      onText={onText}
    />
  )
}
