import { type ComponentProps, type ComponentType, type ReactNode, useId, useState } from 'react'
import type { Catalogue } from '../messages/catalogue.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { TextInput } from './TextInput.tsx'

/** What the control inside has to carry, so that label, hint and error belong to it. */
interface FieldProps {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

interface Props {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly optional?: boolean
  readonly children: (control: FieldProps) => ReactNode
}

/** A label, its control, and what there is to say about it. */
export function Field({ label, hint, error, optional = false, children }: Props) {
  const id = useId()
  const { common } = useMessages()
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="grid content-start gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
        {optional && <span className="ms-1.5 font-normal text-faint">{common.optional}</span>}
      </label>
      {children({
        id,
        'aria-describedby': described || undefined,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <div id={`${id}-hint`} className="text-xs text-faint">
          {hint}
        </div>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="text-xs font-medium text-bad">
          {error}
        </p>
      )}
    </div>
  )
}

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
  const { common } = useMessages()
  const [fault, setFault] = useState<string>()
  return (
    <Field label={label} hint={hint} error={error ?? fault} optional={optional}>
      {(control) => (
        <Input
          {...control}
          {...rest}
          onInvalid={({ currentTarget }) => setFault(faultOf(currentTarget, common.faults))}
          onChange={({ currentTarget }) => {
            if (fault !== undefined && currentTarget.validity.valid) setFault(undefined)
            onText(currentTarget.value)
          }}
        />
      )}
    </Field>
  )
}

/** What is wrong with the value of a field, according to its attributes. */
function faultOf({ validity, minLength }: HTMLInputElement, faults: Catalogue['common']['faults']): string {
  if (validity.valueMissing) return faults.missing
  if (validity.tooShort) return faults.tooShort(String(minLength))
  return validity.typeMismatch ? faults.email : faults.wrong
}
