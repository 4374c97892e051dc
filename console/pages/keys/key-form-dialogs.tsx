import { Suspense, useState } from 'react'
import { now } from '../../lib/clock.ts'
import { lazyPart } from '../../lib/lazy-part.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useKey } from '../../queries/account.ts'
import { useApiMutation, useSecretMutation } from '../../queries/mutations.ts'
import { useMay } from '../../queries/session.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { Form, FormEnd } from '../../ui/Form.tsx'
import { QueryView, Skeleton } from '../../ui/QueryView.tsx'
import { changesOf, draftOf, NEW_DRAFT, readDraft, type WrongField } from './key-draft.ts'
import type { CreatedKey, OwnKey } from './key-facts.tsx'
import type { KeyOwners } from './OwnerPickers.tsx'
import { KindChoice, NameField, TermFields } from './TermFields.tsx'

const NO_OWNERS: KeyOwners = { person: '', team: '' }

/** Only owners and admins choose them. */
const OwnerPickers = lazyPart(async () => (await import('./OwnerPickers.tsx')).OwnerPickers)

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
  const [owners, setOwners] = useState(NO_OWNERS)
  const may = useMay()
  const create = useSecretMutation('POST /keys', onMade)
  const send = () => {
    const { terms, wrong } = readDraft(draft, zone, now())
    setWrong(wrong)
    if (wrong.length === 0) create.mutate({ body: { kind, ...terms, ...given(owners) } })
  }
  return (
    <Dialog
      title={keys.newTitle}
      open
      onClose={onClose}
      width="wide"
      closing={create.isPending ? 'by-button' : 'anyhow'}
    >
      <Form className="grid gap-5" onSend={send} validatedBy="send">
        <NameField draft={draft} onChange={setDraft} wrong={wrong} />
        <KindChoice
          kind={kind}
          onPick={(picked) => {
            setKind(picked)
            // The two kinds may offer different models.
            setDraft({ ...draft, models: draft.models === null ? null : [] })
          }}
        />
        {may('admin') && (
          <Suspense fallback={<Skeleton />}>
            <OwnerPickers owners={owners} onPick={setOwners} />
          </Suspense>
        )}
        <TermFields kind={kind} expiresAt={null} draft={draft} onChange={setDraft} wrong={wrong} />
        <FormEnd mutation={create} go={keys.make} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

const given = (owners: KeyOwners) => Object.fromEntries(Object.entries(owners).filter(([, id]) => id !== ''))

interface EditKeyProps {
  readonly keyId: string
  readonly title: string
  readonly onClose: () => void
}

export function EditKeyDialog({ keyId, title, onClose }: EditKeyProps) {
  // A cached key may be outdated, so the form waits for a fresh one.
  const query = useKey(keyId, { fresh: true })
  const freshQuery = query.isFetchedAfterMount ? query : { ...query, data: undefined }
  return (
    <Dialog title={title} open onClose={onClose} width="wide">
      <QueryView query={freshQuery} lines={8}>
        {(keyItem) => <EditKeyForm keyItem={keyItem} onClose={onClose} />}
      </QueryView>
    </Dialog>
  )
}

/** Sends only the fields that changed since the form was opened. */
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
    <Form className="grid gap-5" onSend={send} validatedBy="send">
      <NameField draft={draft} onChange={setDraft} wrong={wrong} />
      <TermFields kind={keyItem.kind} expiresAt={keyItem.expires_at} draft={draft} onChange={setDraft} wrong={wrong} />
      <FormEnd mutation={change} go={common.save} onCancel={onClose} />
    </Form>
  )
}
