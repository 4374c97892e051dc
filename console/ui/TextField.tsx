import type { ComponentProps, ComponentType, ReactNode } from 'react'
import { Field } from './Field.tsx'
import { TextInput } from './TextInput.tsx'

type InputProps = ComponentProps<'input'>

interface TextFieldProps extends Omit<InputProps, 'id' | 'value' | 'onChange'> {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly optional?: boolean
  readonly value: string
  readonly onText: (text: string) => void
  /** `MoneyInput`, `PasswordInput`: what it is typed into. */
  readonly as?: ComponentType<InputProps>
}

/** A line that somebody types, with its label. */
export function TextField({
  label,
  hint,
  error,
  optional = false,
  onText,
  as: Input = TextInput,
  ...rest
}: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(control) => <Input {...control} {...rest} onChange={(event) => onText(event.target.value)} />}
    </Field>
  )
}
