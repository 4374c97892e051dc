import { useState } from 'react'
import { now } from '../../../lib/clock.ts'
import { useApiMutation } from '../../../queries/mutations.ts'
import { useKey } from '../../../queries/keys.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { Form, FormEnd } from '../../../ui/Form.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { OwnKey } from '../own-key.ts'
import { changesOf, draftOf, readDraft, type WrongField } from './key-draft.ts'
import { NameField, TermFields } from './TermFields.tsx'

interface EditKeyProps {
  readonly keyId: string
  readonly title: string
  readonly onClose: () => void
}

/** The terms of a key that is there: all of them, which no list has. */
export function EditKeyDialog({ keyId, title, onClose }: EditKeyProps) {
  // What lies there may be from before the last change: a form is filled with what was heard since it was opened.
  const query = useKey(keyId, { anew: true })
  const heard = query.isFetchedAfterMount ? query : { ...query, data: undefined }
  return (
    <Dialog title={title} open onClose={onClose} width="wide">
      <QueryView query={heard} lines={8}>
        {(keyItem) => <EditKeyForm keyItem={keyItem} onClose={onClose} />}
      </QueryView>
    </Dialog>
  )
}

/** Only what was changed is sent: against how the key was when the form was opened, whatever is heard of it meanwhile. */
function EditKeyForm({ keyItem: newest, onClose }: { keyItem: OwnKey; onClose: () => void }) {
  const { keys, common } = useMessages()
  const { zone } = useFormats()
  const [keyItem] = useState(newest)
  const [draft, setDraft] = useState(() => draftOf(keyItem))
  const [wrong, setWrong] = useState<readonly WrongField[]>([])
  const change = useApiMutation('PATCH /keys/:key', {
    done: keys.changed,
    problem: 'shown-here',
    onDone: onClose,
  })
  const send = () => {
    const read = readDraft(draft, zone, now())
    setWrong(read.wrong)
    if (read.wrong.length > 0) return
    const body = changesOf(keyItem, read.terms)
    if (Object.keys(body).length === 0) onClose()
    else change.mutate({ params: { key: keyItem.id }, body })
  }
  return (
    <Form className="grid gap-5" onSend={send} judgedBy="send">
      <NameField draft={draft} onChange={setDraft} wrong={wrong} />
      <TermFields kind={keyItem.kind} expiresAt={keyItem.expires_at} draft={draft} onChange={setDraft} wrong={wrong} />
      <FormEnd act={change} go={common.save} onCancel={onClose} />
    </Form>
  )
}
