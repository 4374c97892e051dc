import { useMessages } from '../messages/MessagesProvider.tsx'
import { TextField } from './Form.tsx'
import { PasswordInput } from './inputs.tsx'

/** As the server wants it. */
const LENGTH_MIN = 10

/** Where somebody chooses a password: when they sign up, and when they change it. */
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
