import { type ReactNode, useState } from 'react'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { Button } from './Button.tsx'
import { Dialog, DialogActions } from './Dialog.tsx'
import { TextField } from './Field.tsx'
import { Form } from './Form.tsx'

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
