import { type ComponentProps, type ComponentType, type ReactNode, useId, useState } from 'react'
import { type ConsoleProblem, wasCancelled } from '../lib/console-problem.ts'
import type { Catalogue } from '../messages/catalogue.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { Button } from './Button.tsx'
import { Dialog, DialogActions } from './Dialog.tsx'
import { TextInput } from './inputs.tsx'
import { ProblemNote } from './QueryView.tsx'

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit' | 'noValidate'> {
  readonly onSend: () => void
  /** `send`: `onSend` validates the fields itself, with better messages. */
  readonly validatedBy?: 'fields' | 'send'
}

/**
 * A form that stays on the page. An invalid field shows its own message (`TextField`), because the browser's bubble
 * disappears, uses the browser's language and is not read by every screen reader.
 */
export const Form = ({ onSend, validatedBy = 'fields', className = 'grid gap-4', ...rest }: FormProps) => (
  <form
    {...rest}
    noValidate
    className={className}
    onSubmit={(event) => {
      event.preventDefault()
      const form = event.currentTarget
      if (validatedBy === 'send' || form.checkValidity()) onSend()
      else form.querySelector<HTMLElement>('input:invalid, textarea:invalid, select:invalid')?.focus()
    }}
  />
)

interface FormEndProps {
  readonly mutation: { readonly error: ConsoleProblem | null; readonly isPending: boolean }
  /** The error is already shown at a field. */
  readonly errorShownAtField?: boolean
  readonly go: string
  readonly disabled?: boolean
  readonly onCancel: () => void
}

/** The error, unless the user cancelled, and the buttons of a form in a dialog. */
export function FormEnd({
  mutation: { error, isPending },
  errorShownAtField = false,
  go,
  disabled = false,
  onCancel,
}: FormEndProps) {
  const { common } = useMessages()
  return (
    <>
      {error !== null && !errorShownAtField && !wasCancelled(error) && <ProblemNote error={error} />}
      <DialogActions>
        {/* A running mutation cannot be cancelled, and its result would not be seen. */}
        <Button onClick={onCancel} disabled={isPending}>
          {common.cancel}
        </Button>
        <Button tone="primary" type="submit" busy={isPending} disabled={disabled}>
          {go}
        </Button>
      </DialogActions>
    </>
  )
}

/** Connects a control with its label, hint and error. */
interface ControlProps {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

interface FieldProps {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly optional?: boolean
  readonly children: (control: ControlProps) => ReactNode
}

export function Field({ label, hint, error, optional = false, children }: FieldProps) {
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
  /** The input component, such as `MoneyInput` or `PasswordInput`. */
  readonly as?: ComponentType<InputProps>
}

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

function faultOf({ validity, minLength }: HTMLInputElement, faults: Catalogue['common']['faults']): string {
  if (validity.valueMissing) return faults.missing
  if (validity.tooShort) return faults.tooShort(String(minLength))
  return validity.typeMismatch ? faults.email : faults.wrong
}

interface ConfirmByNameProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly title: string
  /** What will be lost. */
  readonly text: ReactNode
  readonly name: string
  readonly action: string
  readonly busy: boolean
  readonly onConfirm: () => void
}

/** Confirms an action that cannot be undone by typing a name. */
export function ConfirmByName(props: ConfirmByNameProps) {
  return (
    <Dialog title={props.title} open={props.open} onClose={props.onClose}>
      <Confirmation {...props} />
    </Dialog>
  )
}

function Confirmation({ text, name, action, busy, onConfirm, onClose }: ConfirmByNameProps) {
  const { common } = useMessages()
  const [typed, setTyped] = useState('')
  const matches = typed.trim() === name.trim()
  return (
    <Form
      onSend={() => {
        if (matches) onConfirm()
      }}
    >
      <div className="text-soft">{text}</div>
      <TextField label={common.typeName(name)} data-autofocus value={typed} onText={setTyped} />
      <DialogActions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button tone="danger" type="submit" disabled={!matches} busy={busy}>
          {action}
        </Button>
      </DialogActions>
    </Form>
  )
}
