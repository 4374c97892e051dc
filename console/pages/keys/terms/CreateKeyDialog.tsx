import { useState } from 'react'
import { now } from '../../../lib/clock.ts'
import { useSecretMutation } from '../../../queries/mutations.ts'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Form, FormEnd } from '../../../ui/Form.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { CreatedKey, OwnKey } from '../own-key.ts'
import { KindChoice } from './KindChoice.tsx'
import { NEW_DRAFT, readDraft, type WrongField } from './key-draft.ts'
import { NameField, TermFields } from './TermFields.tsx'

interface CreateKeyDialogProps {
  readonly onClose: () => void
  readonly onMade: (made: CreatedKey) => void
}

export function CreateKeyDialog({ onClose, onMade }: CreateKeyDialogProps) {
  const { keys } = useMessages()
  const { zone } = useFormats()
  const [kind, setKind] = useState<OwnKey['kind']>('wallet')
  const [draft, setDraft] = useState(NEW_DRAFT)
  const [wrong, setWrong] = useState<readonly WrongField[]>([])
  const create = useSecretMutation('POST /keys', onMade)
  const send = () => {
    const { terms, wrong } = readDraft(draft, zone, now())
    setWrong(wrong)
    if (wrong.length === 0) create.mutate({ body: { kind, ...terms } })
  }
  return (
    <Dialog
      title={keys.newTitle}
      open
      onClose={onClose}
      width="wide"
      closing={create.isPending ? 'by-button' : 'anyhow'}
    >
      <Form className="grid gap-5" onSend={send} judgedBy="send">
        <NameField draft={draft} onChange={setDraft} wrong={wrong} />
        <KindChoice
          kind={kind}
          onPick={(picked) => {
            setKind(picked)
            // The models of one kind need not be those of the other.
            setDraft({ ...draft, models: draft.models === null ? null : [] })
          }}
        />
        <TermFields kind={kind} expiresAt={null} draft={draft} onChange={setDraft} wrong={wrong} />
        <FormEnd act={create} go={keys.make} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
