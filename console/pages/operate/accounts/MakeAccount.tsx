import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAct } from '../../../questions/acts.ts'
import { Dialog } from '../../../ui/Dialog.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { Form, FormEnd } from '../../../ui/Form.tsx'
import { useWords } from '../../../words/WordsProvider.tsx'

interface MakeAccountProps {
  readonly open: boolean
  readonly onClose: () => void
}

export function MakeAccount({ open, onClose }: MakeAccountProps) {
  const { accounts } = useWords()
  return (
    <Dialog title={accounts.make} open={open} onClose={onClose}>
      <MakeForm onClose={onClose} />
    </Dialog>
  )
}

function MakeForm({ onClose }: { onClose: () => void }) {
  const { accounts } = useWords()
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const make = useAct('POST /operate/accounts', {
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
