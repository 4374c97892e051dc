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
  /** `send`: `onSend` validates the fields itself, with better messages than their attributes allow. */
  readonly judgedBy?: 'fields' | 'send'
}

/**
 * What is filled in and then sent, by its button or by Enter; the page stays. An invalid field shows its own message
 * (`TextField`): the browser's bubble disappears, is in the browser's language, and is not read by every screen reader.
 */
export const Form = ({ onSend, judgedBy = 'fields', className = 'grid gap-4', ...rest }: FormProps) => (
  <form
    {...rest}
    noValidate
    className={className}
    onSubmit={(event) => {
      event.preventDefault()
      const form = event.currentTarget
      if (judgedBy === 'send' || form.checkValidity()) onSend()
      else form.querySelector<HTMLElement>('input:invalid, textarea:invalid, select:invalid')?.focus()
    }}
  />
)

interface FormEndProps {
  /** What the form sends. */
  readonly act: { readonly error: ConsoleProblem | null; readonly isPending: boolean }
  /** Its problem stands at the field that is to blame. */
  readonly errorShownAtField?: boolean
  readonly go: string
  readonly disabled?: boolean
  readonly onCancel: () => void
}

/** The end of a form in a dialog: why it was refused, unless the person themselves would rather not, and its buttons. */
export function FormEnd({
  act: { error, isPending },
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
        {/* What is under way cannot be called back: it would be done all the same, and what it made be seen by nobody. */}
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

interface ConfirmByNameProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly title: string
  /** What will be gone, and that it does not come back. */
  readonly text: ReactNode
  readonly name: string
  readonly action: string
  readonly busy: boolean
  readonly onConfirm: () => void
}

/** Before something that cannot be undone: whoever types the name has read it. */
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
