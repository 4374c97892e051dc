import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useApiMutation } from '../../../queries/mutations.ts'
import { Dialog } from '../../../ui/Dialog.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { Form, FormEnd } from '../../../ui/Form.tsx'
import { useMessages } from '../../../messages/MessagesProvider.tsx'

interface CreateAccountDialogProps {
  readonly open: boolean
  readonly onClose: () => void
}

export function CreateAccountDialog({ open, onClose }: CreateAccountDialogProps) {
  const { accounts } = useMessages()
  return (
    <Dialog title={accounts.make} open={open} onClose={onClose}>
      <CreateAccountForm onClose={onClose} />
    </Dialog>
  )
}

function CreateAccountForm({ onClose }: { onClose: () => void }) {
  const { accounts } = useMessages()
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const make = useApiMutation('POST /operate/accounts', {
    done: accounts.made,
    problem: 'shown-here',
    onDone: ({ id }) => {
      onClose()
      void navigate({ to: '/operate/accounts/$account', params: { account: id } })
    },
  })
  const send = () => {
    make.mutate({ body: { email: email.trim() } })
  }
  return (
    <Form onSend={send}>
      <p className="text-soft">{accounts.makeText}</p>
      <TextField
        label={accounts.email}
        data-autofocus
        type="email"
        required
        maxLength={254}
        value={email}
        onText={setEmail}
      />
      <FormEnd act={make} go={accounts.make} onCancel={onClose} />
    </Form>
  )
}
