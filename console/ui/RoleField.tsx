import type { AnswerOf } from '../../src/contract/console-api.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { Field } from './Form.tsx'
import { choicesOf, Select } from './inputs.tsx'

type Role = AnswerOf<'GET /members'>['items'][number]['role']

interface RoleFieldProps<Choice extends Role> {
  readonly roles: readonly Choice[]
  readonly role: Choice
  readonly onPick: (role: Choice) => void
}

/** Says below the choice what the chosen role may do. */
export function RoleField<const Choice extends Role>({ roles, role, onPick }: RoleFieldProps<Choice>) {
  const { members } = useMessages()
  const names: Record<Choice, string> = members.roles
  const hints: Record<Choice, string> = members.hints
  return (
    <Field label={members.role} hint={hints[role]}>
      {(control) => <Select {...control} value={role} options={choicesOf(roles, names)} onPick={onPick} />}
    </Field>
  )
}
