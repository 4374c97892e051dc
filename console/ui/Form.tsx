import type { ComponentProps } from 'react'
import { type ConsoleProblem, wasCancelled } from '../lib/console-problem.ts'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { Button } from './Button.tsx'
import { DialogActions } from './Dialog.tsx'
import { ProblemNote } from './ProblemNote.tsx'

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
export function FormEnd({ act: { error, isPending }, errorShownAtField = false, go, disabled = false, onCancel }: FormEndProps) {
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
