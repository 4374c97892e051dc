import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useAct } from '../../questions/useAct.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { Field } from '../../ui/Field.tsx'
import { ProblemNote } from '../../ui/ProblemNote.tsx'
import { TextInput } from '../../ui/TextInput.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

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
  const { accounts, common } = useWords()
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const make = useAct('POST /operate/accounts', {
    changes: ['GET /operate/accounts', 'GET /operate/audit'],
    done: accounts.made,
    problem: 'shown-here',
    onDone: ({ id }) => {
      onClose()
      void navigate({ to: '/operate/accounts/$account', params: { account: id } })
    },
  })
  const send = (event: FormEvent) => {
    event.preventDefault()
    make.mutate({ body: { email: email.trim() } })
  }
  return (
    <form className="grid gap-4" onSubmit={send}>
      <p className="text-soft">{accounts.makeText}</p>
      <Field label={accounts.email}>
        {(control) => (
          <TextInput
            {...control}
            data-autofocus
            type="email"
            required
            maxLength={254}
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        )}
      </Field>
      {make.error !== null && <ProblemNote error={make.error} />}
      <DialogActions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button tone="primary" type="submit" busy={make.isPending}>
          {accounts.make}
        </Button>
      </DialogActions>
    </form>
  )
}
